package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// CopyRequest is what a blob is copied from, and how.
type CopyRequest struct {
	Source      Ref    // a blob or a snapshot, of any account of this server
	SourceURL   string // as it was sent; the copy remembers it
	SourceIf    Conditions
	SourceLease leasehold.ID // zero: none; a condition, no more

	// New is what the copy gets instead of what the source has: Metadata unless
	// it is nil, headers that are not empty, Tags and Tier as they are given.
	New
	KeepHeaders bool  // the source's headers where New has none
	KeepTags    bool  // the source's tags if New has none
	AsBlock     bool  // a block blob of no particular blocks, whatever kind the source is: Put Blob From URL
	Seal        *bool // whether a copied append blob is sealed; nil: as its source is

	// FromURL: a source that is refused is answered as by the operations that
	// read it from its URL, with CannotVerifyCopySource and the refusal's status.
	FromURL bool
}

// Copy makes a blob of another blob or snapshot, or of its own snapshot. No
// byte is read: the copy has pieces of its own that share the chunks. It is
// done when Copy returns.
func (c *Catalog) Copy(ctx context.Context, ref Ref, r CopyRequest, a Access) (*Item, error) {
	if err := checkWritable(ref); err != nil {
		return nil, err
	}
	if err := c.checkSpace(); err != nil {
		return nil, err
	}
	defer c.lockBoth(ref, r.Source)()
	b, source, err := c.loadBoth(ctx, ref, r)
	if err != nil {
		return nil, err
	}

	made := b.makeCopy(source, r)
	if made.manifest, err = c.manifestFor(ctx, source); err != nil {
		return nil, err
	}
	rows := append(b.dropBlocks(), source.share(made.manifest, r.AsBlock)...)
	rows = b.replace(rows, made)
	problem := cmp.Or(b.checkCreate(a.If), b.checkCopy(source, r))

	if err := c.commit(ctx, b.change(a, problem, rows...)); err != nil {
		return nil, err
	}
	return made, nil
}

// loadBoth returns the destination and the source of a copy; the locks of both are
// held.
func (c *Catalog) loadBoth(ctx context.Context, ref Ref, r CopyRequest) (*blob, *Item, error) {
	b := &blob{Catalog: c, ref: ref}
	var err error
	if b.container, err = c.loadContainer(ctx, ref, ref.container().path()); err != nil {
		return nil, nil, err
	}
	source, err := c.copySource(ctx, r)
	if err == nil {
		b.item, err = c.loadItem(ctx, b.container, ref)
	}
	return b, source, err
}

// lockBoth locks one blob to write it and shares another one to read it, in the
// order of their names so that nobody waits in a cycle.
func (c *Catalog) lockBoth(to, from Ref) (unlock func()) {
	var held []heldLock
	for _, path := range ordered(to.container().path(), from.container().path()) {
		held = append(held, c.containerLocks.share(path))
	}
	for _, path := range ordered(to.path(), from.path()) {
		held = append(held, c.lockPath(path, path == to.path()))
	}
	return func() {
		for _, lock := range slices.Backward(held) {
			lock.unlock()
		}
	}
}

// ordered returns two names in order, or one if they are the same.
func ordered(names ...string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// AbortCopy refuses: no copy is pending, each is complete when Copy returns.
func (c *Catalog) AbortCopy(ctx context.Context, ref Ref, a Access) error {
	if err := c.checkWrite(ref); err != nil {
		return err
	}
	b, err := c.lockExisting(ctx, ref)
	if err != nil {
		return err
	}
	defer b.unlock()
	return c.commit(ctx, b.change(a, azerr.New(azerr.NoPendingCopyOperation)))
}

// manifestFor returns a new manifest for the pieces of an item; zero if it has no
// piece, since a number is in use only if a piece has it.
func (c *Catalog) manifestFor(ctx context.Context, i *Item) (int64, error) {
	some, err := c.queryOne(ctx, sqlAnyPiece, []any{i.manifest, i.Size}, func(engine.Columns) {})
	if err != nil || !some {
		return 0, err
	}
	return c.nextManifest(), nil
}

// share adds the item's pieces to another manifest, however many they are. Plain
// ones are no blocks any more.
func (i *Item) share(manifest int64, plain bool) []engine.Statement {
	if manifest == 0 {
		return nil
	}
	return []engine.Statement{
		statement(sqlSharePieces, manifest, plain, i.manifest, i.Size),
		statement(sqlRefManifest, manifest),
	}
}

// makeCopy returns the item that the copy will be.
func (b *blob) makeCopy(source *Item, r CopyRequest) *Item {
	n, kind := r.New, source.Kind
	if r.AsBlock {
		kind = Block
	}
	if n.Metadata == nil {
		n.Metadata = source.Metadata
	}
	if r.KeepTags && len(n.Tags) == 0 {
		n.Tags = source.Tags
	}
	if r.KeepHeaders {
		n.Headers = n.Headers.or(source.Headers)
	}
	if n.ContentMD5 == nil {
		n.ContentMD5 = source.ContentMD5 // the content is the same
	}
	i := b.make(kind, n)
	i.Size = source.Size
	if kind == source.Kind {
		i.Sequence, i.Blocks = source.Sequence, source.Blocks
	}
	i.Sealed = kind == Append && source.Sealed
	if kind == Append && r.Seal != nil {
		i.Sealed = *r.Seal
	}
	i.Sparse = kind == Block && (source.Kind == Page || source.Sparse)
	if !r.AsBlock {
		i.Copy = &Copied{
			ID:     leasehold.NewID().Reveal(), // a random UUID, not a lease's
			Source: r.SourceURL, Status: "success", Progress: fmt.Sprintf("%d/%d", i.Size, i.Size), Completed: i.Ticks,
		}
	}
	return i
}

// or returns the headers, and those of others where they are empty.
func (h Headers) or(others Headers) Headers {
	if h.ContentMD5 == nil {
		h.ContentMD5 = others.ContentMD5
	}
	h.Untyped = h.ContentType == "" && others.Untyped
	h.ContentType = cmp.Or(h.ContentType, others.ContentType)
	h.ContentEncoding = cmp.Or(h.ContentEncoding, others.ContentEncoding)
	h.ContentLanguage = cmp.Or(h.ContentLanguage, others.ContentLanguage)
	h.ContentDisposition = cmp.Or(h.ContentDisposition, others.ContentDisposition)
	h.CacheControl = cmp.Or(h.CacheControl, others.CacheControl)
	return h
}

// checkCopy refuses what the destination cannot become.
func (b *blob) checkCopy(source *Item, r CopyRequest) error {
	if !r.AsBlock && b.exists() && b.item.Kind != source.Kind {
		return azerr.New(azerr.InvalidBlobType).With("a %v cannot be copied onto a %v", source.Kind, b.item.Kind)
	}
	return nil
}

// copySource returns the source, if the request may have it.
func (c *Catalog) copySource(ctx context.Context, r CopyRequest) (*Item, error) {
	source, err := c.loadSource(ctx, r)
	if err == nil {
		return source, nil
	}
	var e *azerr.Error
	if !r.FromURL || !errors.As(err, &e) || e.Code == azerr.SourceConditionNotMet && e.Status == http.StatusPreconditionFailed {
		return nil, err
	}
	named := *e
	named.Code = azerr.CannotVerifyCopySource
	return nil, &named
}

func (c *Catalog) loadSource(ctx context.Context, r CopyRequest) (*Item, error) {
	row, err := c.loadContainer(ctx, r.Source, r.Source.container().path())
	if err != nil {
		return nil, err
	}
	source, err := c.loadItem(ctx, row, r.Source)
	switch {
	case err != nil:
		return nil, err
	case source == nil || !source.Committed:
		return nil, azerr.New(azerr.BlobNotFound).With("The source of the copy does not exist.")
	case source.Tier == "Archive" && cmp.Or(r.Tier, "Archive") == "Archive":
		return nil, azerr.New(azerr.BlobArchived)
	}
	if !r.SourceLease.IsZero() {
		base := r.Source.base()
		rule := guard(base, Access{Lease: r.SourceLease}, machine.Read)
		if err := c.commit(ctx, change{resource: base.Resource(), lease: rule}); err != nil {
			return nil, err
		}
	}
	return source, sourceCondition(r.SourceIf.checkItem(source), r.FromURL)
}

// sourceCondition renames a condition of the source's that does not hold. Read
// by URL, a source that has not changed answers with 304.
func sourceCondition(err error, fromURL bool) error {
	if !azerr.HasCode(err, azerr.ConditionNotMet) {
		return err
	}
	e := azerr.New(azerr.SourceConditionNotMet)
	if fromURL && NotModified(err) {
		e.Status = http.StatusNotModified
	}
	return e
}
