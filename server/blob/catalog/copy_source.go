package catalog

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/seam"
	"github.com/leasehold/leasehold/server/blob/fault"
)

// copySource returns the source, if the request may have it.
func (c *Catalog) copySource(ctx context.Context, r CopyRequest) (*Item, error) {
	source, err := c.readSource(ctx, r)
	if err == nil {
		return source, nil
	}
	var f *fault.Error
	if !r.FromURL || !errors.As(err, &f) || f.Code == fault.SourceConditionNotMet && f.Status == http.StatusPreconditionFailed {
		return nil, err
	}
	named := *f
	named.Code = fault.CannotVerifyCopySource
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
		return nil, fault.New(fault.BlobNotFound).With("The source of the copy does not exist.")
	case source.Tier == "Archive" && cmp.Or(r.Tier, "Archive") == "Archive":
		return nil, fault.New(fault.BlobArchived)
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
	return c.do(ctx, base.Resource(), func(v seam.View) (seam.Decision, error) {
		_, err := Access{Lease: r.SourceLease}.guard(v, base, machine.Read)
		return seam.Decision{}, err
	})
}

// sourceCondition renames a condition of the source's that does not hold. Read
// by URL, a source that has not changed answers with 304.
func sourceCondition(err error, fromURL bool) error {
	if !isFault(err, fault.ConditionNotMet) {
		return err
	}
	f := fault.New(fault.SourceConditionNotMet)
	if fromURL && NotModified(err) {
		f.Status = http.StatusNotModified
	}
	return f
}
