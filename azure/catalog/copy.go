package catalog

import (
	"context"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// CopyRequest is what a blob is copied from, and how.
type CopyRequest struct {
	Source      Ref    // a blob or a snapshot, of any account of this door
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

	// FromURL names what is wrong with the source as the operations do that
	// read it while the caller waits: CannotVerifyCopySource, with the status
	// that the source was refused with.
	FromURL bool
}

// Copy makes a blob of another blob or snapshot, or of its own snapshot. No
// byte is read: the copy has pieces of its own that share the chunks. It is
// done when Copy returns.
func (c *Catalog) Copy(ctx context.Context, ref Ref, r CopyRequest, a Access) (*Item, error) {
	if err := checkWritable(ref); err != nil {
		return nil, err
	}
	if err := c.room(); err != nil {
		return nil, err
	}
	defer c.lockBoth(ref, r.Source)()
	row, err := c.container(ctx, ref)
	if err != nil {
		return nil, err
	}
	source, err := c.copySource(ctx, r)
	if err != nil {
		return nil, err
	}
	old, err := c.item(ctx, row, ref)
	if err != nil {
		return nil, err
	}
	e := &edit{Catalog: c, ref: ref, container: row, item: old}
	made := e.makeCopy(source, r)
	if made.manifest, err = c.manifestFor(ctx, source); err != nil {
		return nil, err
	}
	statements := append(e.dropBlocks(), source.share(made.manifest, r.AsBlock)...)
	if err := e.replace(ctx, a, made, e.refuseCopy(source, r), statements...); err != nil {
		return nil, err
	}
	return made, nil
}

// lockBoth takes the locks that writing to one blob and reading another one
// takes, all in the order of their names so that nobody waits in a circle.
func (c *Catalog) lockBoth(to, from Ref) (unlock func()) {
	var unlocks []func()
	for _, path := range ordered(to.container().path(), from.container().path()) {
		unlocks = append(unlocks, c.containerLocks.share(path))
	}
	for _, path := range ordered(to.path(), from.path()) {
		if path == to.path() {
			unlocks = append(unlocks, c.lockBlob(path))
		} else {
			unlocks = append(unlocks, c.blobLocks.share(path))
		}
	}
	return func() {
		for _, unlock := range slices.Backward(unlocks) {
			unlock()
		}
	}
}

// ordered returns two names in order, or one if they are the same.
func ordered(names ...string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// AbortCopy refuses: every copy has ended before it was answered for.
func (c *Catalog) AbortCopy(ctx context.Context, ref Ref, a Access) error {
	return c.write(ctx, ref, func(e *edit) error {
		if !e.exists() {
			return azerr.New(azerr.BlobNotFound)
		}
		refuse := func() error { return azerr.New(azerr.NoPendingCopyOperation) }
		return e.decideIf(ctx, a, refuse, engine.Decision{})
	})
}

// manifestFor returns the number of a manifest that is to have the pieces of an
// item. None stands for no pieces: a number is in use only if a piece has it.
func (c *Catalog) manifestFor(ctx context.Context, i *Item) (int64, error) {
	const sql = `SELECT 1 FROM blob_pieces WHERE manifest = ? AND start < ? LIMIT 1`
	some, err := c.one(ctx, sql, []any{i.manifest, i.Size}, func(engine.Columns) {})
	if err != nil || !some {
		return 0, err
	}
	return c.nextManifest(), nil
}

// share gives the item's pieces to another manifest too, however many they are.
// Plain ones are no blocks any more.
func (i *Item) share(manifest int64, plain bool) []engine.Statement {
	if manifest == 0 {
		return nil
	}
	return []engine.Statement{
		do(`INSERT INTO blob_pieces (manifest, start, size, chunk, at, block)
			SELECT ?, start, size, chunk, at, iif(?, NULL, block) FROM blob_pieces WHERE manifest = ? AND start < ?`,
			manifest, plain, i.manifest, i.Size),
		do(`UPDATE blob_chunks SET refs = refs + more.n
			FROM (SELECT chunk, count(*) AS n FROM blob_pieces WHERE manifest = ? GROUP BY chunk) AS more
			WHERE id = more.chunk`, manifest),
	}
}
