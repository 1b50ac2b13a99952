package catalog_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/internal/soak"
)

func TestSnapshot(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	n := catalog.New{Headers: headers, Metadata: map[string]string{"a": "1"}, Tags: map[string]string{"t": "1"}, Tier: "Cool"}
	made, err := h.PutBlob(t.Context(), ref, n, h.Accept(bulk('1')), catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	h.lease(ref) // a snapshot needs no id
	taken, err := h.Snapshot(t.Context(), ref, nil, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	want := made.Details
	want.Of = made.Ticks
	if diff := cmp.Diff(want, taken.Details); diff != "" || taken.Ticks != made.Ticks || taken.Created != made.Created || taken.Expires != nil {
		t.Errorf("Snapshot = %+v (-want +got):\n%s", taken, diff)
	}
	if time.Since(taken.Snapshot.Ticks().Time()) > time.Minute || taken.Snapshot.Ticks() <= made.Ticks {
		t.Errorf("the snapshot's id is %v", taken.Snapshot)
	}
	other, err := h.Snapshot(t.Context(), ref, map[string]string{"b": "2"}, catalog.Access{})
	if err != nil || !cmp.Equal(other.Metadata, map[string]string{"b": "2"}) || other.Snapshot.Ticks() <= taken.Snapshot.Ticks() {
		t.Errorf("Snapshot with metadata = %+v, %v", other, err)
	}
	bare, err := h.Snapshot(t.Context(), ref, map[string]string{}, catalog.Access{})
	if err != nil || len(bare.Metadata) != 0 {
		t.Errorf("Snapshot with no metadata = %+v, %v", bare, err)
	}
	now, err := h.Head(t.Context(), ref, catalog.Access{})
	if err != nil || now.Ticks != made.Ticks {
		t.Errorf("Head of the base = %+v, %v, want the ETag of before", now, err)
	}
	h.collect()
	h.wantFiles(1) // nothing was copied
	h.checkClean()
}

func TestSnapshotRefused(t *testing.T) {
	h, ref := newContainer(t)
	snapshot := func(ref catalog.Ref, a catalog.Access) error {
		_, err := h.Snapshot(t.Context(), ref, nil, a)
		return err
	}
	wantCode(t, "Snapshot of nothing", snapshot(ref, catalog.Access{}), azerr.BlobNotFound)
	h.stage(ref, ref.Blob)
	wantCode(t, "Snapshot of uncommitted blocks", snapshot(ref, catalog.Access{}), azerr.BlobNotFound)
	made := h.put(ref, ref.Blob, "x")
	wantCode(t, "Snapshot of a known version", snapshot(ref, catalog.Access{If: catalog.Conditions{NoneMatch: made.ETag()}}), azerr.ConditionNotMet)
	wantRefusal(t, "Snapshot with an id", snapshot(ref, catalog.Access{Lease: leasehold.NewID()}), leasehold.ReasonNotPresent)
	of := ref
	of.Snapshot = h.snapshot(ref, ref.Blob)
	wantCode(t, "Snapshot of a snapshot", snapshot(of, catalog.Access{}), azerr.InvalidQueryParameterValue)
}

// Ids grow, whatever was deleted in between, and whatever was restarted.
func TestSnapshotIDsGrow(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	h.put(ref, ref.Blob, "x")
	var last catalog.Ticks
	next := func(when string) {
		t.Helper()
		s := h.snapshot(ref, ref.Blob).Ticks()
		if s <= last {
			t.Errorf("%s: the snapshot %v is not after %v", when, s, last)
		}
		last = s
	}
	ahead := catalog.TicksOf(time.Now().Add(time.Hour)) // as if the clock had been set back since
	next("first")
	h.sql(`UPDATE blob_items SET snapshot = ? WHERE snapshot = ?`, int64(ahead), int64(last))
	last = ahead
	next("after one of the future")
	h.reopen()
	next("after a restart")
	deletion := ref
	deletion.Snapshot = catalog.At(last)
	if err := h.Delete(t.Context(), deletion, catalog.DeleteBase, catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	h.reopen()
	next("after the last was deleted")
	h.remove(ref, ref.Blob, catalog.DeleteSnapshots)
	h.reopen()
	next("after all were deleted")
	h.put(ref, ref.Blob, "y")
	deletion.Snapshot = catalog.At(last)
	if err := h.SetExpiry(t.Context(), deletion, new(catalog.Ticks)); err != nil {
		t.Fatal(err)
	}
	h.collect()
	h.reopen()
	next("after it was overwritten and the last had expired")
	h.remove(ref, ref.Blob, catalog.DeleteBaseOnly)
	h.reopen()
	h.put(ref, ref.Blob, "z")
	next("after the base was deleted and made again")
	h.collect()
	h.checkClean()
}

// Thousands of snapshots at the same time have ids of their own, and those of
// each caller grow.
func TestSnapshotsAtTheSameTime(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('1')), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	callers, each := 250, soak.Rounds(4, 20)
	var mu sync.Mutex
	var all []catalog.Ticks
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			var own []catalog.Ticks
			for range each {
				s, err := h.Snapshot(t.Context(), ref, nil, catalog.Access{})
				if err != nil {
					t.Errorf("Snapshot = %v", err)
					return
				}
				own = append(own, s.Snapshot.Ticks())
			}
			if !slices.IsSorted(own) {
				t.Errorf("a caller's snapshots are not in order: %v", own)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, own...)
		})
	}
	wg.Wait()
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != callers*each {
		t.Errorf("%d different ids, want %d", n, callers*each)
	}
	l, err := h.Lineage(t.Context(), ref)
	if err != nil || len(l.Snapshots) != callers*each {
		t.Fatalf("Lineage = %d snapshots, %v, want %d", len(l.Snapshots), err, callers*each)
	}
	at := ref
	at.Snapshot = catalog.At(all[len(all)/2])
	if got := h.read(at); !bytes.Equal(got, bulk('1')) {
		t.Errorf("a snapshot has %d bytes", len(got))
	}
	h.wantFiles(1)
	h.remove(ref, ref.Blob, catalog.DeleteInclude)
	h.collect()
	h.wantFiles(0)
	h.checkClean()
}

// lineage shows sizes and bytes of their own, oldest first, the base last.
func (h *harness) lineage(ref catalog.Ref) string {
	h.t.Helper()
	l, err := h.Lineage(h.t.Context(), ref)
	if err != nil {
		h.t.Fatalf("Lineage(%v) = %v", ref, err)
	}
	var s []string
	for _, e := range append(l.Snapshots, l.Base) {
		if e == nil {
			s = append(s, "-")
			continue
		}
		s = append(s, fmt.Sprintf("%d/%d", e.Own, e.Size))
	}
	return strings.Join(s, " ")
}

func TestLineage(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	_, err := h.Lineage(t.Context(), ref)
	wantCode(t, "Lineage of nothing", err, azerr.BlobNotFound)
	h.stage(ref, ref.Blob)
	_, err = h.Lineage(t.Context(), ref)
	wantCode(t, "Lineage of uncommitted blocks", err, azerr.BlobNotFound)

	h.stageAs(ref, "AAAA", []byte("aaa"))
	h.stageAs(ref, "BBBB", []byte("bb"))
	first := h.commit(ref, catalog.BlockRef{ID: "AAAA"}, catalog.BlockRef{ID: "BBBB"}, catalog.BlockRef{ID: "AAAA"})
	want := func(want string) {
		t.Helper()
		if got := h.lineage(ref); got != want {
			t.Errorf("Lineage = %s, want %s", got, want)
		}
	}
	want("5/8")
	at := ref
	at.Snapshot = h.snapshot(ref, ref.Blob)
	want("0/8 0/8")
	h.stageAs(ref, "CCCC", []byte("cccccc"))
	h.commit(ref, catalog.BlockRef{ID: "AAAA"}, catalog.BlockRef{ID: "CCCC"})
	want("2/8 6/9")
	other := ref
	other.Blob = "copy"
	h.copy(other, catalog.CopyRequest{Source: at})
	want("0/8 6/9") // the copy has the bytes too
	h.remove(other, other.Blob, catalog.DeleteBase)
	h.collect()
	want("2/8 6/9")
	h.snapshot(ref, ref.Blob)
	h.remove(ref, ref.Blob, catalog.DeleteBaseOnly)
	want("2/8 6/9 -")

	url := fmt.Sprintf("http://127.0.0.1:10000/acct/desk/blob?snapshot=%v", at.Snapshot)
	h.copy(ref, catalog.CopyRequest{Source: at, SourceURL: url})
	want("0/8 6/9 0/8")
	l, err := h.Lineage(t.Context(), at)
	if err != nil || l.Base.RestoredFrom != at.Snapshot || l.Base.Lease.State != "available" {
		t.Errorf("Lineage = %+v, %v, want the base restored from %v", l.Base, err, at.Snapshot)
	}
	if s := l.Snapshots[0]; s.Of != first.Ticks || s.RestoredFrom != (catalog.Snapshot{}) || s.Snapshot != at.Snapshot {
		t.Errorf("Lineage = %+v, want a snapshot of %v", s, first.Ticks)
	}
	h.copy(ref, catalog.CopyRequest{Source: at, SourceURL: "http://127.0.0.1:10000/acct/desk/other?snapshot=" + at.Snapshot.String()})
	if l, err := h.Lineage(t.Context(), ref); err != nil || l.Base.RestoredFrom != (catalog.Snapshot{}) {
		t.Errorf("Lineage = %+v, %v, want a copy of another blob", l.Base, err)
	}
	h.checkClean()
}

// Snapshots of an append blob share what the blob had, and the blob has the rest
// for itself.
func TestLineageOfAppends(t *testing.T) {
	h, ref := newContainer(t)
	h.empty(ref, catalog.Append, 0)
	for i := range 3 {
		if i > 0 {
			h.snapshot(ref, ref.Blob)
		}
		if _, _, err := h.AppendBlock(t.Context(), ref, h.Accept([]byte("12345")), catalog.Access{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.lineage(ref); got != "0/5 0/10 5/15" {
		t.Errorf("Lineage = %s", got)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	del := func(how catalog.Deletion, a catalog.Access) error { return h.Delete(t.Context(), ref, how, a) }
	for how := range catalog.DeleteSnapshots + 1 {
		wantCode(t, "Delete of nothing", del(how, catalog.Access{}), azerr.BlobNotFound)
	}
	h.stage(ref, ref.Blob)
	wantCode(t, "Delete of uncommitted blocks", del(catalog.DeleteBase, catalog.Access{}), azerr.BlobNotFound)

	made, err := h.PutBlob(t.Context(), ref, catalog.New{Tags: map[string]string{"a": "b"}}, h.Accept(bulk('1')), catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	h.stage(ref, ref.Blob)
	id := h.lease(ref)
	wantRefusal(t, "Delete without the id", del(catalog.DeleteBase, catalog.Access{If: catalog.Conditions{Match: `"0x1"`}}), leasehold.ReasonMissing)
	wantCode(t, "Delete of another version", del(catalog.DeleteBase, catalog.Access{Lease: id, If: catalog.Conditions{Match: `"0x1"`}}), azerr.ConditionNotMet)
	h.snapshot(ref, ref.Blob)
	wantRefusal(t, "Delete without the id", del(catalog.DeleteBase, catalog.Access{}), leasehold.ReasonMissing)
	wantRefusal(t, "Delete of the snapshots without the id", del(catalog.DeleteSnapshots, catalog.Access{}), leasehold.ReasonMissing)
	wantCode(t, "Delete of a blob with snapshots", del(catalog.DeleteBase, catalog.Access{Lease: id}), azerr.SnapshotsPresent)
	if err := del(catalog.DeleteSnapshots, catalog.Access{Lease: id}); err != nil {
		t.Errorf("Delete of the snapshots = %v", err)
	}
	if now, err := h.Head(t.Context(), ref, catalog.Access{}); err != nil || now.Ticks != made.Ticks {
		t.Errorf("Head after Delete of the snapshots = %+v, %v", now, err)
	}
	if err := del(catalog.DeleteBase, catalog.Access{Lease: id}); err != nil {
		t.Errorf("Delete = %v", err)
	}
	wantCode(t, "Delete of what is gone", del(catalog.DeleteBase, catalog.Access{}), azerr.BlobNotFound)
	h.put(ref, ref.Blob, "new")
	if shown, err := h.Head(t.Context(), ref, catalog.Access{}); err != nil || shown.Lease.State != "available" || len(shown.Tags) != 0 {
		t.Errorf("Head of a new blob of that name = %+v, %v", shown, err)
	}
	if got := h.blocks(ref); got != " | " {
		t.Errorf("Blocks = %q", got)
	}
	h.collect()
	h.wantFiles(0)
	h.checkClean()
}

func TestDeleteSnapshot(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	h.put(ref, ref.Blob, "1")
	first, second := ref, ref
	first.Snapshot = h.snapshot(ref, ref.Blob)
	h.put(ref, ref.Blob, "2")
	second.Snapshot = h.snapshot(ref, ref.Blob)
	h.put(ref, ref.Blob, "3")
	id := h.lease(ref)
	for how := catalog.DeleteBaseOnly; how <= catalog.DeleteSnapshots; how++ {
		wantCode(t, "Delete of a snapshot and more", h.Delete(t.Context(), first, how, catalog.Access{}), azerr.InvalidQueryParameterValue)
	}
	wantRefusal(t, "Delete with another id", h.Delete(t.Context(), first, catalog.DeleteBase, catalog.Access{Lease: leasehold.NewID()}), leasehold.ReasonIDMismatch)
	if err := h.Delete(t.Context(), first, catalog.DeleteBase, catalog.Access{}); err != nil {
		t.Errorf("Delete of a snapshot of a leased blob = %v", err)
	}
	wantCode(t, "Delete of what is gone", h.Delete(t.Context(), first, catalog.DeleteBase, catalog.Access{}), azerr.BlobNotFound)
	h.collect()
	if got := string(h.read(second)); got != "2" {
		t.Errorf("the other snapshot reads %q", got)
	}
	if err := h.Delete(t.Context(), second, catalog.DeleteBase, catalog.Access{Lease: id}); err != nil {
		t.Errorf("Delete of a snapshot with the id = %v", err)
	}
	if got := string(h.read(ref)); got != "3" {
		t.Errorf("the blob reads %q", got)
	}
	h.collect()
	h.checkClean()
}

// Snapshots can stay without their blob, and belong to the next one of that
// name.
func TestDeleteBaseOnly(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	h.put(ref, ref.Blob, "1")
	at := ref
	at.Snapshot = h.snapshot(ref, ref.Blob)
	h.remove(ref, ref.Blob, catalog.DeleteBaseOnly)
	h.collect()
	if got := string(h.read(at)); got != "1" {
		t.Errorf("the snapshot reads %q", got)
	}
	h.put(ref, ref.Blob, "2")
	wantCode(t, "Delete", h.Delete(t.Context(), ref, catalog.DeleteBase, catalog.Access{}), azerr.SnapshotsPresent)
	h.remove(ref, ref.Blob, catalog.DeleteBaseOnly)
	wantCode(t, "Delete of the blob that is gone", h.Delete(t.Context(), ref, catalog.DeleteBaseOnly, catalog.Access{}), azerr.BlobNotFound)
	h.checkClean()
	h.remove(ref, ref.Blob, catalog.DeleteSnapshots)
	h.put(ref, ref.Blob, "3")
	h.remove(ref, ref.Blob, catalog.DeleteBase)
	h.put(ref, ref.Blob, "4")
	h.snapshot(ref, ref.Blob)
	h.snapshot(ref, ref.Blob)
	h.remove(ref, ref.Blob, catalog.DeleteInclude)
	wantCode(t, "Delete", h.Delete(t.Context(), ref, catalog.DeleteInclude, catalog.Access{}), azerr.BlobNotFound)
	h.collect()
	h.checkClean()
	report, err := h.Check(t.Context(), false)
	if err != nil || report.Chunks != 0 {
		t.Errorf("Check = %d chunks, %v, want none", report.Chunks, err)
	}
}
