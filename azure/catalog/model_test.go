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

// model is a catalog with what it should hold.
type model struct {
	h         *harness
	container catalog.Ref
	blobs     map[string]*modelBlob
	writes    byte
	touched   string // the blob that the last step was about
}

func (m *model) ref(name string) catalog.Ref {
	ref := m.container
	ref.Blob = name
	return ref
}

// draw picks a blob.
func (m *model) draw(t *rapid.T) (catalog.Ref, *modelBlob) {
	name := rapid.SampledFrom([]string{"a", "a/b", "ü"}).Draw(t, "blob")
	m.touched = name
	return m.ref(name), m.blobs[name]
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
func (m *model) body(t *rapid.T) []byte {
	m.writes++
	size := rapid.SampledFrom([]int{1, 3, 70_000}).Draw(t, "size")
	return bytes.Repeat([]byte{m.writes}, size)
}

func (m *model) put(t *rapid.T) {
	ref, b := m.draw(t)
	a, reason := b.access(t)
	body := m.body(t)
	if rapid.IntRange(0, 4).Draw(t, "empty") == 0 {
		body = nil
	}
	note := fmt.Sprint("put ", m.writes)
	made, err := m.h.PutBlob(m.h.t.Context(), ref, catalog.New{Metadata: map[string]string{"note": note}}, m.h.Accept(body), a)
	if agree(t, "PutBlob", err, reason, "") {
		b.base, b.staged = &version{content: body, note: note, etag: made.ETag()}, map[string][]byte{}
	}
}

func (m *model) stage(t *rapid.T) {
	ref, b := m.draw(t)
	a, reason := b.access(t)
	id, body := rapid.SampledFrom([]string{"AAAA", "BBBB", "CCCC"}).Draw(t, "id"), m.body(t)
	if agree(t, "StageBlock", m.h.StageBlock(m.h.t.Context(), ref, id, m.h.Accept(body), a), reason, "") {
		b.staged[id] = body
	}
}

func (m *model) commit(t *rapid.T) {
	ref, b := m.draw(t)
	a, reason := b.access(t)
	committed := map[string][]byte{}
	if b.base != nil {
		for _, k := range b.base.blocks {
			committed[k.id] = k.body
		}
	}
	var list []catalog.BlockRef
	code := ""
	made := &version{note: fmt.Sprint("commit ", m.writes)}
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
	i, err := m.h.CommitBlocks(m.h.t.Context(), ref, list, catalog.New{Metadata: map[string]string{"note": made.note}}, a)
	if agree(t, "CommitBlocks", err, reason, code) {
		made.etag = i.ETag()
		b.base, b.staged = made, map[string][]byte{}
	}
}

func (m *model) modify(t *rapid.T) {
	ref, b := m.draw(t)
	a, reason := b.access(t)
	code := ""
	if b.base == nil {
		reason, code = "", azerr.BlobNotFound
	}
	m.writes++
	note := fmt.Sprint("modify ", m.writes)
	i, err := m.h.Modify(m.h.t.Context(), ref, a, true, func(i *catalog.Item) error { i.Metadata["note"] = note; return nil })
	if agree(t, "Modify", err, reason, code) {
		changed := *b.base
		changed.note, changed.etag = note, i.ETag()
		b.base = &changed
	}
}

func (m *model) snapshot(t *rapid.T) {
	ref, b := m.draw(t)
	if b.base == nil {
		_, err := m.h.Snapshot(m.h.t.Context(), ref, nil, catalog.Access{})
		agree(t, "Snapshot", err, "", azerr.BlobNotFound)
		return
	}
	i, err := m.h.Snapshot(m.h.t.Context(), ref, nil, catalog.Access{}) // whatever the lease
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

func (m *model) restore(t *rapid.T) {
	ref, b := m.draw(t)
	from := ref
	if from.Snapshot = b.drawSnapshot(t); !from.IsSnapshot() {
		return
	}
	a, reason := b.access(t)
	i, err := m.h.Copy(m.h.t.Context(), ref, catalog.CopyRequest{Source: from}, a)
	if agree(t, "Copy", err, reason, "") {
		restored := b.snapshots[from.Snapshot.Ticks()]
		restored.etag = i.ETag()
		b.base, b.staged = &restored, map[string][]byte{}
	}
}

func (m *model) deleteOne(t *rapid.T) {
	ref, b := m.draw(t)
	if ref.Snapshot = b.drawSnapshot(t); !ref.IsSnapshot() {
		return
	}
	if rapid.Bool().Draw(t, "by itself") {
		if err := m.h.SetExpiry(m.h.t.Context(), ref, new(catalog.Ticks)); err != nil {
			t.Fatalf("SetExpiry = %v", err)
		}
		m.h.collect()
	} else if err := m.h.Delete(m.h.t.Context(), ref, catalog.DeleteBase, catalog.Access{}); err != nil {
		t.Fatalf("Delete(%v) = %v", ref, err)
	}
	delete(b.snapshots, ref.Snapshot.Ticks())
}

func (m *model) delete(t *rapid.T) {
	ref, b := m.draw(t)
	a, reason := b.access(t)
	how := catalog.Deletion(rapid.IntRange(0, 3).Draw(t, "how"))
	deep, code := how == catalog.DeleteInclude || how == catalog.DeleteSnapshots, ""
	switch {
	case b.base == nil && !(deep && len(b.snapshots) > 0):
		reason, code = "", azerr.BlobNotFound
	case how == catalog.DeleteBase && len(b.snapshots) > 0:
		code = azerr.SnapshotsPresent
	}
	if !agree(t, fmt.Sprint("Delete ", how), m.h.Delete(m.h.t.Context(), ref, how, a), reason, code) {
		return
	}
	if deep {
		b.snapshots = map[catalog.Ticks]version{}
	}
	if how != catalog.DeleteSnapshots && b.base != nil {
		b.base, b.staged, b.lease = nil, map[string][]byte{}, leasehold.ID{}
	}
}

func (m *model) lease(t *rapid.T) {
	ref, b := m.draw(t)
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
	answer, err := m.h.Lease(m.h.t.Context(), ref, r)
	if agree(t, string(r.Action), err, "", code) {
		if b.lease = (leasehold.ID{}); !held {
			b.lease = answer.ID
		}
	}
}

// compare looks at one blob with all that it has.
func (m *model) compare(t *rapid.T, name string) {
	ref, b := m.ref(name), m.blobs[name]
	got := map[catalog.Ticks]version{}
	l, err := m.h.Lineage(m.h.t.Context(), ref)
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
		lists, err := m.h.Blocks(m.h.t.Context(), at, catalog.Access{})
		if err != nil {
			t.Fatalf("Blocks(%v) = %v", at, err)
		}
		v := version{content: m.h.read(at), note: e.Metadata["note"], etag: e.ETag()}
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
	h := newHarness(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		m := &model{h: h, container: catalog.Ref{Account: "acct", Container: fmt.Sprintf("model-%d", round)}, blobs: map[string]*modelBlob{}}
		for _, name := range []string{"a", "a/b", "ü"} {
			m.blobs[name] = &modelBlob{staged: map[string][]byte{}, snapshots: map[catalog.Ticks]version{}}
		}
		h.container(m.container)
		actions := []func(*rapid.T){
			m.put, m.put, m.stage, m.stage, m.commit, m.commit, m.modify, m.snapshot, m.snapshot, m.snapshot,
			m.restore, m.deleteOne, m.delete, m.lease, func(*rapid.T) { h.collect() },
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			rapid.SampledFrom(actions).Draw(rt, "action")(rt)
			if m.touched != "" {
				m.compare(rt, m.touched)
			}
		}
		for name := range m.blobs {
			m.compare(rt, name)
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
