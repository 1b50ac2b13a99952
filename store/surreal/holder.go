package surreal

import (
	"context"

	"github.com/leasehold/leasehold/store/cas"
)

// LoadHolder implements cas.HolderSwapper.
func (b *backend) LoadHolder(ctx context.Context, holder string) ([]cas.Item, error) {
	var found seen
	if err := b.read(ctx, holderText, vars{"holder": holder}, &found); err != nil {
		return nil, err
	}
	return found.items()
}

// SwapHolder implements cas.HolderSwapper.
func (b *backend) SwapHolder(ctx context.Context, holder string, writes []cas.VersionedWrite) error {
	all := make([]any, len(writes))
	settings := ""
	var records []cas.Record
	for i, w := range writes {
		settings = w.Settings
		records = append(records, w.Records...)
		all[i] = map[string]any{"record": leaseRecord(w.Row.Resource), "version": string(w.Version), "w": encode(w.Write)}
	}
	_, err := b.commit(ctx, swapHolderText, vars{
		"holder": holder, "settings": settings, "writes": all, "records": encodeRecords(records),
	})
	return err
}
