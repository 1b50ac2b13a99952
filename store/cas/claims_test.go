package cas_test

import (
	"context"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/store/internal/claimless"
)

type ownCall struct{}

// refusing is a backend that fails a test whose own calls come to it. Those of the
// store's work in the background do not count.
type refusing struct {
	keeping
	t *testing.T
}

func (b refusing) refuse(ctx context.Context, method string) error {
	if ctx.Value(ownCall{}) != nil {
		b.t.Errorf("the store calls %s", method)
	}
	return down
}

func (b refusing) Load(ctx context.Context, resource string) (cas.Item, error) {
	return cas.Item{}, b.refuse(ctx, "Load "+resource)
}

func (b refusing) Swap(ctx context.Context, _ cas.Version, w cas.Write) (cas.Item, error) {
	return cas.Item{}, b.refuse(ctx, "Swap "+w.Row.Resource)
}

func (b refusing) Scan(ctx context.Context, _, _ string, _ int) ([]cas.Item, error) {
	return nil, b.refuse(ctx, "Scan")
}

func (b refusing) Find(ctx context.Context, _ leasehold.ID) ([]cas.Item, error) {
	return nil, b.refuse(ctx, "Find")
}

// TestClaims, notes and paths are refused before the service is called.
func TestClaims(t *testing.T) {
	s := cas.New(refusing{keeping{finding{service: newService()}}, t}, nil)
	defer s.Close()
	claimless.Check(context.WithValue(t.Context(), ownCall{}, true), t, s, "test")
}
