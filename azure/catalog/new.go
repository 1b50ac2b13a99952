package catalog

import (
	"context"
	"slices"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// New is what a new version of a blob is made with, beside its content.
type New struct {
	Headers
	Metadata, Tags map[string]string
	Tier           string // empty: inferred, Hot
}

// make returns the item that takes the place of the one there is. It has a time
// of its own, and that of creation from the blob that it overwrites: as in
// Azure, a blob is created once, however often it is written.
func (e *edit) make(kind Kind, n New) *Item {
	i := &Item{Ref: e.ref.base(), Kind: kind, Committed: true, Ticks: e.now()}
	i.Created = i.Ticks
	i.Details = Details{Headers: n.Headers, Metadata: n.Metadata, Tags: n.Tags, Tier: n.Tier}
	if n.Tier != "" {
		i.TierChanged = i.Ticks
	}
	if e.item != nil {
		i.LastSnapshot = e.item.LastSnapshot
	}
	if e.exists() {
		i.Created = e.item.Created
	}
	return i
}

// replace writes a new version of the blob over the one there is, if any, and
// lets go of what that one had: its manifest and all uncommitted blocks.
// Problem is what else speaks against it, to be told after the lease and the
// conditions were asked.
func (e *edit) replace(ctx context.Context, a Access, i *Item, problem error, statements ...engine.Statement) error {
	statements = append(statements, i.put(e.container.id))
	statements = append(statements, e.item.drop(e.container.id)...)
	statements = append(statements, e.retag(i.Tags)...)
	judge := func() error {
		if err := e.create(a); err != nil {
			return err
		}
		return problem
	}
	return e.decideIf(ctx, a, judge, engine.Decision{Extras: statements})
}

// judge asks the conditions.
func (e *edit) judge(a Access) error { return a.If.judgeItem(e.item) }

// create asks the conditions of what makes a blob.
func (e *edit) create(a Access) error {
	err := e.judge(a)
	if err == errExists { //nolint:errorlint // one value, compared as NotModified does
		return azerr.New(azerr.BlobAlreadyExists)
	}
	return err
}

// retag keeps the tags by which a base blob is found in step with its own.
func (e *edit) retag(tags map[string]string) []engine.Statement {
	var statements []engine.Statement
	if e.item != nil && len(e.item.Tags) > 0 {
		statements = append(statements, untag(e.container.id, e.ref.Blob))
	}
	keys := make([]string, 0, len(tags))
	for key := range tags {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		statements = append(statements, do(`INSERT OR IGNORE INTO blob_tags (container, key, value, name) VALUES (?, ?, ?, ?)`,
			e.container.id, key, tags[key], e.ref.Blob))
	}
	return statements
}

// untag forgets the tags of a blob.
func untag(container int64, name string) engine.Statement {
	return do(`DELETE FROM blob_tags WHERE container = ? AND name = ?`, container, name)
}
