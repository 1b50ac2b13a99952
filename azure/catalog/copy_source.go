package catalog

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// copySource returns the source, if the request may have it.
func (c *Catalog) copySource(ctx context.Context, r CopyRequest) (*Item, error) {
	source, err := c.readSource(ctx, r)
	if err == nil {
		return source, nil
	}
	var f *azerr.Error
	if !r.FromURL || !errors.As(err, &f) || f.Code == azerr.SourceConditionNotMet && f.Status == http.StatusPreconditionFailed {
		return nil, err
	}
	named := *f
	named.Code = azerr.CannotVerifyCopySource
	return nil, &named
}

func (c *Catalog) readSource(ctx context.Context, r CopyRequest) (*Item, error) {
	row, err := c.container(ctx, r.Source)
	if err != nil {
		return nil, err
	}
	source, err := c.item(ctx, row, r.Source)
	switch {
	case err != nil:
		return nil, err
	case source == nil || !source.Committed:
		return nil, azerr.New(azerr.BlobNotFound).With("The source of the copy does not exist.")
	case source.Tier == "Archive" && cmp.Or(r.Tier, "Archive") == "Archive":
		return nil, azerr.New(azerr.BlobArchived)
	}
	if err := c.passSource(ctx, r); err != nil {
		return nil, err
	}
	return source, sourceCondition(r.SourceIf.judgeItem(source), r.FromURL)
}

// passSource asks the source's lease, if the request shows an id for it.
func (c *Catalog) passSource(ctx context.Context, r CopyRequest) error {
	if r.SourceLease.IsZero() {
		return nil
	}
	base := r.Source.base()
	return c.do(ctx, base.Resource(), func(v engine.View) (engine.Decision, error) {
		_, err := Access{Lease: r.SourceLease}.guard(v, base, machine.Read)
		return engine.Decision{}, err
	})
}

// sourceCondition renames a condition of the source's that does not hold. Read
// by URL, a source that has not changed answers with 304.
func sourceCondition(err error, fromURL bool) error {
	if !isFault(err, azerr.ConditionNotMet) {
		return err
	}
	f := azerr.New(azerr.SourceConditionNotMet)
	if fromURL && NotModified(err) {
		f.Status = http.StatusNotModified
	}
	return f
}
