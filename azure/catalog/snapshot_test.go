package catalog_test

import (
	"bytes"
	"slices"
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
	h, ref := desk(t)
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
	h, ref := desk(t)
	snapshot := func(ref catalog.Ref, a catalog.Access) error {
		_, err := h.Snapshot(t.Context(), ref, nil, a)
		return err
	}
	wantFault(t, "Snapshot of nothing", snapshot(ref, catalog.Access{}), azerr.BlobNotFound)
	h.stage(ref, ref.Blob)
	wantFault(t, "Snapshot of uncommitted blocks", snapshot(ref, catalog.Access{}), azerr.BlobNotFound)
	made := h.put(ref, ref.Blob, "x")
	wantFault(t, "Snapshot of a known version", snapshot(ref, catalog.Access{If: catalog.Conditions{NoneMatch: made.ETag()}}), azerr.ConditionNotMet)
	wantRefusal(t, "Snapshot with an id", snapshot(ref, catalog.Access{Lease: leasehold.NewID()}), leasehold.ReasonNotPresent)
	of := ref
	of.Snapshot = h.snapshot(ref, ref.Blob)
	wantFault(t, "Snapshot of a snapshot", snapshot(of, catalog.Access{}), azerr.InvalidQueryParameterValue)
}

// Ids grow, whatever was deleted in between, and whatever was restarted.
func TestSnapshotIDsGrow(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
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
	h, ref := desk(t)
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
