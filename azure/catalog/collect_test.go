package catalog_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// eventually waits for what the background does in its own time, on the
// machine's clock: the engine's disk is real, so there is no bubble to wait in.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func (h *harness) files() int {
	found, _ := filepath.Glob(filepath.Join(h.dir, "blobs", "chunks", "*", "*"))
	return len(found)
}

func TestCollectorWorksByItself(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	for range 3 {
		if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('x')), catalog.Access{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the collection of overwritten content", func() bool { return h.files() == 1 })
	k, err := h.Get(t.Context(), ref, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	h.remove(ref, ref.Blob, catalog.DeleteBase)
	h.collect() // it finds out that somebody reads
	k.Close()
	eventually(t, "the collection of what was read", func() bool { return h.files() == 0 })
	h.checkClean()
}

// What was not collected when the program ended is collected when it starts,
// and so are files that no row knows.
func TestCollectorAfterAStart(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	kept := h.Accept(bulk('k'))
	if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, kept, catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	h.Accept(bulk('o')) // as if its commit had been cut short
	if h.files() != 2 {
		t.Fatalf("%d files, want 2", h.files())
	}
	h.reopen()
	eventually(t, "the sweep", func() bool { return h.files() == 1 })
	if got := h.read(ref); string(got) != string(bulk('k')) {
		t.Errorf("it reads %d bytes", len(got))
	}
	h.checkClean()
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	h.put(ref, ref.Blob, "1")
	first, second := ref, ref
	first.Snapshot = h.snapshot(ref, ref.Blob)
	h.put(ref, ref.Blob, "2")
	second.Snapshot = h.snapshot(ref, ref.Blob)
	wantCode(t, "SetExpiry of a blob", h.SetExpiry(t.Context(), ref, new(catalog.Ticks)), azerr.InvalidQueryParameterValue)
	missing := ref
	missing.Snapshot = catalog.At(77)
	wantCode(t, "SetExpiry of nothing", h.SetExpiry(t.Context(), missing, new(catalog.Ticks)), azerr.BlobNotFound)

	before, err := h.Head(t.Context(), second, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	tomorrow := catalog.TicksOf(time.Now().Add(24 * time.Hour))
	for _, at := range []*catalog.Ticks{&tomorrow, nil} {
		if err := h.SetExpiry(t.Context(), second, at); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Head(t.Context(), second, catalog.Access{}); err != nil || !cmp.Equal(got.Expires, at) || got.Ticks != before.Ticks {
			t.Errorf("Head after SetExpiry(%v) = %+v, %v", at, got, err)
		}
	}
	h.lease(ref) // keeps none
	if err := h.SetExpiry(t.Context(), first, new(catalog.TicksOf(time.Now()))); err != nil {
		t.Fatal(err)
	}
	gone := func() bool {
		_, err := h.Head(t.Context(), first, catalog.Access{})
		return err != nil
	}
	eventually(t, "the end of the snapshot", gone)
	if got := string(h.read(second)); got != "2" {
		t.Errorf("the other snapshot reads %q", got)
	}
	if _, err := h.Head(t.Context(), ref, catalog.Access{}); err != nil {
		t.Errorf("Head of the blob = %v", err)
	}
	h.checkClean()
}

// Snapshots of a catalog with a time to live go by themselves, without anybody
// asking.
func TestSnapshotTTL(t *testing.T) {
	t.Parallel()
	h := newHarnessWith(t, &catalog.Options{SnapshotTTL: 50 * time.Millisecond})
	ref := catalog.Ref{Account: "acct", Container: "ttl", Blob: "b"}
	h.container(ref)
	h.put(ref, ref.Blob, "x")
	for range 3 {
		s, err := h.Snapshot(t.Context(), ref, nil, catalog.Access{})
		if err != nil || *s.Expires != s.Snapshot.Ticks()+500_000 {
			t.Fatalf("Snapshot = %+v, %v", s, err)
		}
	}
	eventually(t, "the end of the snapshots", func() bool {
		l, err := h.Lineage(t.Context(), ref)
		return err == nil && len(l.Snapshots) == 0
	})
	h.checkClean()
}

// A file that cannot be removed troubles nobody but the next start.
func TestCollectorInTrouble(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('x')), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(h.dir, "blobs", "chunks", "*", "*"))
	if err := errors.Join(os.Remove(files[0]), os.MkdirAll(filepath.Join(files[0], "full"), 0o700)); err != nil {
		t.Fatal(err)
	}
	h.remove(ref, ref.Blob, catalog.DeleteBase)
	eventually(t, "the collection", func() bool {
		report, err := h.Check(t.Context(), false)
		return err == nil && report.Chunks == 0
	})
	if err := os.RemoveAll(files[0]); err != nil {
		t.Fatal(err)
	}
	h.put(ref, ref.Blob, "goes on")
	h.checkClean()
}

// BenchmarkOverwrite measures what the index of referrers costs a write: the same
// overwrites with it and without, taking turns. The ratio is that of the times.
func BenchmarkOverwrite(b *testing.B) {
	ref := catalog.Ref{Account: "acct", Container: "desk"}
	with, without := newHarnessWith(b, &catalog.Options{Idle: true}), newHarnessWith(b, &catalog.Options{Idle: true})
	without.sql(`DROP INDEX blob_pieces_chunk`)
	without.sql(`DROP INDEX blob_blocks_chunk`)
	const names = 500
	round := func(h *harness) time.Duration {
		begin := time.Now()
		for i := range names {
			h.put(ref, fmt.Sprintf("blob-%d", i), "content")
		}
		return time.Since(begin)
	}
	for _, h := range []*harness{with, without} {
		h.container(ref)
		round(h)
	}
	var took, bare time.Duration
	for b.Loop() {
		took += round(with)
		bare += round(without)
	}
	b.ReportMetric(float64(took)/float64(bare), "ratio")
	b.ReportMetric(float64(took.Microseconds())/float64(b.N*names), "µs/put")
}
