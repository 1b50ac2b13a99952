package catalog_test

import (
	"testing"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

func TestReset(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
	if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('x')), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	h.snapshot(ref, ref.Blob)
	h.stage(ref, "staged")
	h.lease(ref)
	h.lease(catalog.Ref{Account: ref.Account, Container: ref.Container})
	other := catalog.Ref{Account: "other", Container: "desk"}
	h.container(other)
	h.put(other, "b", "x")
	half := catalog.Ref{Account: "acct", Container: "half"}
	h.container(half)
	h.put(half, "b", "x")
	h.sql(`UPDATE blob_containers SET deleting = 1 WHERE name = ?`, "half") // its deletion failed half-way
	if err := h.SetServiceProperties(t.Context(), "acct", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := h.Reset(t.Context(), "acct"); err != nil {
		t.Fatalf("Reset of one account = %v", err)
	}
	if report, err := h.Check(t.Context(), false); err != nil || report.Containers != 1 || report.Blobs != 1 || report.Chunks != 1 {
		t.Errorf("Check after Reset of one account = %+v, %v", report, err)
	}
	if err := h.Reset(t.Context(), ""); err != nil {
		t.Fatalf("Reset = %v", err)
	}
	report, err := h.Check(t.Context(), false)
	if err != nil || report.Containers+report.Blobs+report.Snapshots+report.Blocks+report.Chunks != 0 || len(report.Problems) != 0 {
		t.Errorf("Check after Reset = %+v, %v", report, err)
	}
	if got, err := h.ServiceProperties(t.Context(), "acct"); err != nil || got != nil {
		t.Errorf("ServiceProperties = %s, %v, want none", got, err)
	}
	if names, err := h.store.Names(t.Context(), "blob:"); err != nil || len(names) != 0 {
		t.Errorf("leases after Reset: %v, %v", names, err)
	}
	h.wantFiles(0)
	_, err = h.Head(t.Context(), ref, catalog.Access{})
	wantFault(t, "Head", err, azerr.ContainerNotFound)
	h.container(ref)
	h.put(ref, ref.Blob, "new")
	h.checkClean()
}

// A container whose deletion failed half-way does not keep its name.
func TestCreateFinishesADeletion(t *testing.T) {
	h, ref := desk(t)
	other := catalog.Ref{Account: "acct", Container: "other"}
	id := h.containerID(ref)
	const rows = `INSERT INTO blob_containers (id, account, name, ticks, details, deleting) SELECT id + 1, account, ?, ticks, details, 1 FROM blob_containers WHERE id = ?`
	h.sql(rows, other.Container, id)
	h.sql(`INSERT INTO blob_items SELECT ?, name, snapshot, kind, committed, ticks, created, size, manifest, details, expires FROM blob_items`, id+1)
	h.container(other)
	other.Blob = ref.Blob
	_, err := h.Head(t.Context(), other, catalog.Access{})
	wantFault(t, "Head", err, azerr.BlobNotFound)
	h.put(other, "b", "x")
	h.checkClean()
}
