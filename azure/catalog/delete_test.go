package catalog_test

import (
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

func TestDelete(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
	del := func(how catalog.Deletion, a catalog.Access) error { return h.Delete(t.Context(), ref, how, a) }
	for how := range catalog.DeleteSnapshots + 1 {
		wantFault(t, "Delete of nothing", del(how, catalog.Access{}), azerr.BlobNotFound)
	}
	h.stage(ref, ref.Blob)
	wantFault(t, "Delete of uncommitted blocks", del(catalog.DeleteBase, catalog.Access{}), azerr.BlobNotFound)

	made, err := h.PutBlob(t.Context(), ref, catalog.New{Tags: map[string]string{"a": "b"}}, h.Accept(bulk('1')), catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	h.stage(ref, ref.Blob)
	id := h.lease(ref)
	wantRefusal(t, "Delete without the id", del(catalog.DeleteBase, catalog.Access{If: catalog.Conditions{Match: `"0x1"`}}), leasehold.ReasonMissing)
	wantFault(t, "Delete of another version", del(catalog.DeleteBase, catalog.Access{Lease: id, If: catalog.Conditions{Match: `"0x1"`}}), azerr.ConditionNotMet)
	h.snapshot(ref, ref.Blob)
	wantRefusal(t, "Delete without the id", del(catalog.DeleteBase, catalog.Access{}), leasehold.ReasonMissing)
	wantRefusal(t, "Delete of the snapshots without the id", del(catalog.DeleteSnapshots, catalog.Access{}), leasehold.ReasonMissing)
	wantFault(t, "Delete of a blob with snapshots", del(catalog.DeleteBase, catalog.Access{Lease: id}), azerr.SnapshotsPresent)
	if err := del(catalog.DeleteSnapshots, catalog.Access{Lease: id}); err != nil {
		t.Errorf("Delete of the snapshots = %v", err)
	}
	if now, err := h.Head(t.Context(), ref, catalog.Access{}); err != nil || now.Ticks != made.Ticks {
		t.Errorf("Head after Delete of the snapshots = %+v, %v", now, err)
	}
	if err := del(catalog.DeleteBase, catalog.Access{Lease: id}); err != nil {
		t.Errorf("Delete = %v", err)
	}
	wantFault(t, "Delete of what is gone", del(catalog.DeleteBase, catalog.Access{}), azerr.BlobNotFound)
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
	h, ref := desk(t)
	h.put(ref, ref.Blob, "1")
	first, second := ref, ref
	first.Snapshot = h.snapshot(ref, ref.Blob)
	h.put(ref, ref.Blob, "2")
	second.Snapshot = h.snapshot(ref, ref.Blob)
	h.put(ref, ref.Blob, "3")
	id := h.lease(ref)
	for how := catalog.DeleteBaseOnly; how <= catalog.DeleteSnapshots; how++ {
		wantFault(t, "Delete of a snapshot and more", h.Delete(t.Context(), first, how, catalog.Access{}), azerr.InvalidQueryParameterValue)
	}
	wantRefusal(t, "Delete with another id", h.Delete(t.Context(), first, catalog.DeleteBase, catalog.Access{Lease: leasehold.NewID()}), leasehold.ReasonIDMismatch)
	if err := h.Delete(t.Context(), first, catalog.DeleteBase, catalog.Access{}); err != nil {
		t.Errorf("Delete of a snapshot of a leased blob = %v", err)
	}
	wantFault(t, "Delete of what is gone", h.Delete(t.Context(), first, catalog.DeleteBase, catalog.Access{}), azerr.BlobNotFound)
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
	h, ref := desk(t)
	h.put(ref, ref.Blob, "1")
	at := ref
	at.Snapshot = h.snapshot(ref, ref.Blob)
	h.remove(ref, ref.Blob, catalog.DeleteBaseOnly)
	h.collect()
	if got := string(h.read(at)); got != "1" {
		t.Errorf("the snapshot reads %q", got)
	}
	h.put(ref, ref.Blob, "2")
	wantFault(t, "Delete", h.Delete(t.Context(), ref, catalog.DeleteBase, catalog.Access{}), azerr.SnapshotsPresent)
	h.remove(ref, ref.Blob, catalog.DeleteBaseOnly)
	wantFault(t, "Delete of the blob that is gone", h.Delete(t.Context(), ref, catalog.DeleteBaseOnly, catalog.Access{}), azerr.BlobNotFound)
	h.checkClean()
	h.remove(ref, ref.Blob, catalog.DeleteSnapshots)
	h.put(ref, ref.Blob, "3")
	h.remove(ref, ref.Blob, catalog.DeleteBase)
	h.put(ref, ref.Blob, "4")
	h.snapshot(ref, ref.Blob)
	h.snapshot(ref, ref.Blob)
	h.remove(ref, ref.Blob, catalog.DeleteInclude)
	wantFault(t, "Delete", h.Delete(t.Context(), ref, catalog.DeleteInclude, catalog.Access{}), azerr.BlobNotFound)
	h.collect()
	h.checkClean()
	report, err := h.Check(t.Context(), false)
	if err != nil || report.Chunks != 0 {
		t.Errorf("Check = %d chunks, %v, want none", report.Chunks, err)
	}
}
