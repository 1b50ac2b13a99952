package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// version is what a blob or a snapshot has, in memory.
type version struct {
	content []byte
	blocks  []namedBlock // what it was committed of
	note    string       // its metadata
	etag    string
}

type namedBlock struct {
	id   string
	body []byte
}

// modelBlob is a blob with its snapshots, as simple as can be.
type modelBlob struct {
	base      *version // nil: there is none
	staged    map[string][]byte
	snapshots map[catalog.Ticks]version
	last      catalog.Ticks // the latest snapshot there ever was, since the name was free
	lease     leasehold.ID
}

// world is a catalog beside its model.
type world struct {
	h         *house
	container catalog.Ref
	blobs     map[string]*modelBlob
	writes    byte
	touched   string // the blob that the last step was about
}

func (w *world) ref(name string) catalog.Ref {
	ref := w.container
	ref.Blob = name
	return ref
}

// draw picks a blob.
func (w *world) draw(t *rapid.T) (catalog.Ref, *modelBlob) {
	name := rapid.SampledFrom([]string{"a", "a/b", "ü"}).Draw(t, "blob")
	w.touched = name
	return w.ref(name), w.blobs[name]
}

// access draws what the request shows, and says why it is refused for that.
func (b *modelBlob) access(t *rapid.T) (catalog.Access, leasehold.Reason) {
	held := b.lease != leasehold.ID{}
	switch rapid.IntRange(0, 5).Draw(t, "shows") {
	case 0:
		if held {
			return catalog.Access{}, leasehold.ReasonMissing
		}
	case 1:
		if held {
			return catalog.Access{Lease: leasehold.NewID()}, leasehold.ReasonIDMismatch
		}
		return catalog.Access{Lease: leasehold.NewID()}, leasehold.ReasonNotPresent
	}
	return catalog.Access{Lease: b.lease}, ""
}

// agree compares a refusal with the one that the model expects, and reports
// whether the request went through.
func agree(t *rapid.T, what string, err error, reason leasehold.Reason, code string) bool {
	t.Helper()
	var refusal *catalog.LeaseError
	var f *azerr.Error
	switch {
	case reason != "":
		if !errors.As(err, &refusal) || refusal.Reason != reason {
			t.Fatalf("%s = %v, want a refusal by the lease: %s", what, err, reason)
		}
	case code != "":
		if !errors.As(err, &f) || f.Code != code {
			t.Fatalf("%s = %v, want %s", what, err, code)
		}
	case err != nil:
		t.Fatalf("%s = %v", what, err)
	}
	return reason == "" && code == ""
}

// body is content that was never there before, at times in a file.
func (w *world) body(t *rapid.T) []byte {
	w.writes++
	size := rapid.SampledFrom([]int{1, 3, 70_000}).Draw(t, "size")
	return bytes.Repeat([]byte{w.writes}, size)
}

func (w *world) put(t *rapid.T) {
	ref, b := w.draw(t)
	a, reason := b.access(t)
	body := w.body(t)
	if rapid.IntRange(0, 4).Draw(t, "empty") == 0 {
		body = nil
	}
	note := fmt.Sprint("put ", w.writes)
	made, err := w.h.PutBlob(w.h.t.Context(), ref, catalog.New{Metadata: map[string]string{"note": note}}, w.h.Accept(body), a)
	if agree(t, "PutBlob", err, reason, "") {
		b.base, b.staged = &version{content: body, note: note, etag: made.ETag()}, map[string][]byte{}
	}
}

func (w *world) stage(t *rapid.T) {
	ref, b := w.draw(t)
	a, reason := b.access(t)
	id, body := rapid.SampledFrom([]string{"AAAA", "BBBB", "CCCC"}).Draw(t, "id"), w.body(t)
	if agree(t, "StageBlock", w.h.StageBlock(w.h.t.Context(), ref, id, w.h.Accept(body), a), reason, "") {
		b.staged[id] = body
	}
}

func (w *world) commit(t *rapid.T) {
	ref, b := w.draw(t)
	a, reason := b.access(t)
	committed := map[string][]byte{}
	if b.base != nil {
		for _, k := range b.base.blocks {
			committed[k.id] = k.body
		}
	}
	var list []catalog.BlockRef
	code := ""
	made := &version{note: fmt.Sprint("commit ", w.writes)}
	for range rapid.IntRange(0, 4).Draw(t, "blocks") {
		block := catalog.BlockRef{
			ID:   rapid.SampledFrom([]string{"AAAA", "BBBB", "CCCC"}).Draw(t, "id"),
			From: catalog.BlockSource(rapid.IntRange(0, 2).Draw(t, "from")),
		}
		body, ok := b.staged[block.ID]
		if block.From == catalog.Committed || !ok && block.From == catalog.Latest {
			body, ok = committed[block.ID]
		}
		if !ok {
			code = azerr.InvalidBlockList
		}
		list = append(list, block)
		made.blocks = append(made.blocks, namedBlock{block.ID, body})
		made.content = append(made.content, body...)
	}
	i, err := w.h.CommitBlocks(w.h.t.Context(), ref, list, catalog.New{Metadata: map[string]string{"note": made.note}}, a)
	if agree(t, "CommitBlocks", err, reason, code) {
		made.etag = i.ETag()
		b.base, b.staged = made, map[string][]byte{}
	}
}

func (w *world) modify(t *rapid.T) {
	ref, b := w.draw(t)
	a, reason := b.access(t)
	code := ""
	if b.base == nil {
		reason, code = "", azerr.BlobNotFound
	}
	w.writes++
	note := fmt.Sprint("modify ", w.writes)
	i, err := w.h.Modify(w.h.t.Context(), ref, a, true, func(i *catalog.Item) error { i.Metadata["note"] = note; return nil })
	if agree(t, "Modify", err, reason, code) {
		changed := *b.base
		changed.note, changed.etag = note, i.ETag()
		b.base = &changed
	}
}

func (w *world) snapshot(t *rapid.T) {
	ref, b := w.draw(t)
	if b.base == nil {
		_, err := w.h.Snapshot(w.h.t.Context(), ref, nil, catalog.Access{})
		agree(t, "Snapshot", err, "", azerr.BlobNotFound)
		return
	}
	i, err := w.h.Snapshot(w.h.t.Context(), ref, nil, catalog.Access{}) // whatever the lease
	if agree(t, "Snapshot", err, "", "") {
		if i.Snapshot.Ticks() <= b.last {
			t.Fatalf("the snapshot %v is not after %v", i.Snapshot, b.last)
		}
		b.last = i.Snapshot.Ticks()
		b.snapshots[i.Snapshot.Ticks()] = *b.base
	}
}

// drawSnapshot picks a snapshot, if there is one.
func (b *modelBlob) drawSnapshot(t *rapid.T) catalog.Snapshot {
	if len(b.snapshots) == 0 {
		return catalog.Snapshot{}
	}
	return catalog.At(rapid.SampledFrom(slices.Sorted(maps.Keys(b.snapshots))).Draw(t, "snapshot"))
}

func (w *world) restore(t *rapid.T) {
	ref, b := w.draw(t)
	from := ref
	if from.Snapshot = b.drawSnapshot(t); !from.IsSnapshot() {
		return
	}
	a, reason := b.access(t)
	i, err := w.h.Copy(w.h.t.Context(), ref, catalog.CopyRequest{Source: from}, a)
	if agree(t, "Copy", err, reason, "") {
		restored := b.snapshots[from.Snapshot.Ticks()]
		restored.etag = i.ETag()
		b.base, b.staged = &restored, map[string][]byte{}
	}
}

func (w *world) deleteOne(t *rapid.T) {
	ref, b := w.draw(t)
	if ref.Snapshot = b.drawSnapshot(t); !ref.IsSnapshot() {
		return
	}
	if rapid.Bool().Draw(t, "by itself") {
		if err := w.h.SetExpiry(w.h.t.Context(), ref, new(catalog.Ticks)); err != nil {
			t.Fatalf("SetExpiry = %v", err)
		}
		w.h.collect()
	} else if err := w.h.Delete(w.h.t.Context(), ref, catalog.DeleteBase, catalog.Access{}); err != nil {
		t.Fatalf("Delete(%v) = %v", ref, err)
	}
	delete(b.snapshots, ref.Snapshot.Ticks())
}

func (w *world) delete(t *rapid.T) {
	ref, b := w.draw(t)
	a, reason := b.access(t)
	how := catalog.Deletion(rapid.IntRange(0, 3).Draw(t, "how"))
	deep, code := how == catalog.DeleteInclude || how == catalog.DeleteSnapshots, ""
	switch {
	case b.base == nil && !(deep && len(b.snapshots) > 0):
		reason, code = "", azerr.BlobNotFound
	case how == catalog.DeleteBase && len(b.snapshots) > 0:
		code = azerr.SnapshotsPresent
	}
	if !agree(t, fmt.Sprint("Delete ", how), w.h.Delete(w.h.t.Context(), ref, how, a), reason, code) {
		return
	}
	if deep {
		b.snapshots = map[catalog.Ticks]version{}
	}
	if how != catalog.DeleteSnapshots && b.base != nil {
		b.base, b.staged, b.lease = nil, map[string][]byte{}, leasehold.ID{}
	}
}

func (w *world) lease(t *rapid.T) {
	ref, b := w.draw(t)
	held, code := b.lease != leasehold.ID{}, ""
	if b.base == nil {
		code = azerr.BlobNotFound
	}
	r := catalog.LeaseRequest{Action: catalog.Acquire, Duration: leasehold.Infinite}
	if held {
		r = catalog.LeaseRequest{Action: catalog.Release, ID: b.lease}
		if rapid.Bool().Draw(t, "break") {
			r = catalog.LeaseRequest{Action: catalog.Break, Period: new(time.Duration)}
		}
	}
	answer, err := w.h.Lease(w.h.t.Context(), ref, r)
	if agree(t, string(r.Action), err, "", code) {
		if b.lease = (leasehold.ID{}); !held {
			b.lease = answer.ID
		}
	}
}

// compare looks at one blob with all that it has.
func (w *world) compare(t *rapid.T, name string) {
	ref, b := w.ref(name), w.blobs[name]
	got := map[catalog.Ticks]version{}
	l, err := w.h.Lineage(w.h.t.Context(), ref)
	if b.base == nil && len(b.snapshots) == 0 {
		agree(t, "Lineage", err, "", azerr.BlobNotFound)
		return
	}
	if err != nil || (l.Base != nil) != (b.base != nil) {
		t.Fatalf("Lineage(%q) = %+v, %v", name, l, err)
	}
	want := maps.Clone(b.snapshots)
	entries := l.Snapshots
	if b.base != nil {
		want[catalog.Base] = *b.base
		entries = append(entries, l.Base)
	}
	for _, e := range entries {
		at := ref
		at.Snapshot = e.Snapshot
		lists, err := w.h.Blocks(w.h.t.Context(), at, catalog.Access{})
		if err != nil {
			t.Fatalf("Blocks(%v) = %v", at, err)
		}
		v := version{content: w.h.read(at), note: e.Metadata["note"], etag: e.ETag()}
		for _, k := range lists.Committed {
			v.blocks = append(v.blocks, namedBlock{k.ID, nil})
		}
		got[e.Snapshot.Ticks()] = v
		if e.IsSnapshot() {
			continue
		}
		if len(lists.Uncommitted) != len(b.staged) {
			t.Fatalf("Blocks(%q) = %v, want %d uncommitted", name, lists.Uncommitted, len(b.staged))
		}
		if locked := e.Lease.Status == "locked"; locked != (b.lease != leasehold.ID{}) {
			t.Fatalf("the lease of %q is %+v", name, e.Lease)
		}
	}
	same := cmp.Comparer(func(a, b version) bool {
		ids := func(k namedBlock, l namedBlock) bool { return k.id == l.id }
		return bytes.Equal(a.content, b.content) && a.note == b.note && a.etag == b.etag && slices.EqualFunc(a.blocks, b.blocks, ids)
	})
	if !cmp.Equal(want, got, same) {
		t.Fatalf("%q has %d versions that are not the %d of the model", name, len(got), len(want))
	}
}

// The catalog does what a few maps do, whatever is asked of it in whatever
// order, and leaves nothing behind.
func TestCatalogAgreesWithAModel(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		w := &world{h: h, container: catalog.Ref{Account: "acct", Container: fmt.Sprintf("model-%d", round)}, blobs: map[string]*modelBlob{}}
		for _, name := range []string{"a", "a/b", "ü"} {
			w.blobs[name] = &modelBlob{staged: map[string][]byte{}, snapshots: map[catalog.Ticks]version{}}
		}
		h.container(w.container)
		actions := []func(*rapid.T){
			w.put, w.put, w.stage, w.stage, w.commit, w.commit, w.modify, w.snapshot, w.snapshot, w.snapshot,
			w.restore, w.deleteOne, w.delete, w.lease, func(*rapid.T) { h.collect() },
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			rapid.SampledFrom(actions).Draw(rt, "action")(rt)
			if w.touched != "" {
				w.compare(rt, w.touched)
			}
		}
		for name := range w.blobs {
			w.compare(rt, name)
		}
	})
	h.collect()
	h.checkClean()
	if err := h.Reset(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	report, err := h.Check(t.Context(), false)
	if err != nil || report.Chunks != 0 {
		t.Errorf("after all was deleted, Check = %+v, %v", report, err)
	}
	h.wantFiles(0)
}
