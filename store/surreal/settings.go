package surreal

import (
	"context"
	"time"

	"github.com/leasehold/leasehold/store/cas"
)

// LoadSettings implements cas.Configurer.
func (b *backend) LoadSettings(ctx context.Context) (string, time.Time, error) {
	var found seen
	err := b.read(ctx, settingsText, nil, &found)
	return found.settings(), found.Time.Time, err
}

// SwapSettings implements cas.Configurer.
func (b *backend) SwapSettings(ctx context.Context, old, text string, r cas.Record) error {
	_, err := b.commit(ctx, swapSettingsText, vars{"old": old, "text": text, "records": encodeRecords([]cas.Record{r})})
	return err
}
