package catalog_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

var box = catalog.Ref{Account: "acct", Container: "box"}

func TestContainer(t *testing.T) {
	h := newHouse(t)
	want := catalog.ContainerDetails{
		Metadata: map[string]string{"Owner": "me"}, Public: "blob",
		Policies: []catalog.Policy{{ID: "p", Permissions: "r"}},
	}
	made, err := h.CreateContainer(t.Context(), box, want)
	if err != nil {
		t.Fatalf("CreateContainer = %v", err)
	}
	_, err = h.CreateContainer(t.Context(), box, catalog.ContainerDetails{})
	wantFault(t, "CreateContainer again", err, azerr.ContainerAlreadyExists)
	h.reopen()
	got, err := h.Container(t.Context(), box, catalog.Access{})
	if err != nil || got.Ticks != made.Ticks {
		t.Fatalf("Container = %+v, %v; want ticks %d", got, err, made.Ticks)
	}
	if diff := cmp.Diff(want, got.ContainerDetails); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
	if want := (catalog.LeaseView{Status: "unlocked", State: "available"}); got.Lease != want {
		t.Errorf("Lease = %+v, want %+v", got.Lease, want)
	}
}

func TestMissingContainer(t *testing.T) {
	h := newHouse(t)
	_, err := h.Container(t.Context(), box, catalog.Access{})
	wantFault(t, "Container", err, azerr.ContainerNotFound)
	_, err = h.SetContainer(t.Context(), box, catalog.Access{}, func(*catalog.ContainerDetails) {})
	wantFault(t, "SetContainer", err, azerr.ContainerNotFound)
	wantFault(t, "DeleteContainer", h.DeleteContainer(t.Context(), box, catalog.Access{}), azerr.ContainerNotFound)
	_, err = h.Lease(t.Context(), box, catalog.LeaseRequest{Action: catalog.Acquire, Duration: time.Minute})
	wantFault(t, "Lease", err, azerr.ContainerNotFound)
	_, err = h.CreateContainer(t.Context(), catalog.Ref{Account: "acct", Container: "Box"}, catalog.ContainerDetails{})
	wantFault(t, "CreateContainer(Box)", err, azerr.InvalidResourceName)
}

func TestSetContainer(t *testing.T) {
	h := newHouse(t)
	made := h.container(box)
	set, err := h.SetContainer(t.Context(), box, catalog.Access{}, func(d *catalog.ContainerDetails) { d.Public = "container" })
	if err != nil || set.Ticks <= made.Ticks || set.Public != "container" {
		t.Fatalf("SetContainer = %+v, %v; want public, and ticks after %d", set, err, made.Ticks)
	}
	old := catalog.Access{If: catalog.Conditions{Match: made.Ticks.ETag()}}
	_, err = h.SetContainer(t.Context(), box, old, func(d *catalog.ContainerDetails) { d.Public = "" })
	wantFault(t, "SetContainer of an old version", err, azerr.ConditionNotMet)
	wantFault(t, "DeleteContainer of an old version", h.DeleteContainer(t.Context(), box, old), azerr.ConditionNotMet)
	got, err := h.Container(t.Context(), box, catalog.Access{})
	if err != nil || got.Public != "container" || got.Ticks != set.Ticks {
		t.Errorf("Container = %+v, %v; want what was set", got, err)
	}
}

// TestContainerLease: the lease guards the container's deletion, is a condition
// of other calls, and does not protect blobs.
func TestContainerLease(t *testing.T) {
	h := newHouse(t)
	h.container(box)
	id, foreign := leasehold.NewID(), leasehold.NewID()
	a, err := h.Lease(t.Context(), box, catalog.LeaseRequest{Action: catalog.Acquire, Proposed: id, Duration: time.Minute, Caller: "127.0.0.1:9"})
	if err != nil || a.ID != id {
		t.Fatalf("Lease = %+v, %v", a, err)
	}
	got, err := h.Container(t.Context(), box, catalog.Access{Lease: id})
	if want := (catalog.LeaseView{Status: "locked", State: "leased", Duration: "fixed"}); err != nil || got.Lease != want {
		t.Errorf("Container = %+v, %v; want lease %+v", got, err, want)
	}
	_, err = h.Container(t.Context(), box, catalog.Access{Lease: foreign})
	wantRefusal(t, "Container with a foreign id", err, leasehold.ReasonIDMismatch)
	wantRefusal(t, "DeleteContainer without an id", h.DeleteContainer(t.Context(), box, catalog.Access{}), leasehold.ReasonMissing)
	wantRefusal(t, "DeleteContainer with a foreign id", h.DeleteContainer(t.Context(), box, catalog.Access{Lease: foreign}), leasehold.ReasonIDMismatch)
	if _, err := h.SetContainer(t.Context(), box, catalog.Access{}, func(*catalog.ContainerDetails) {}); err != nil {
		t.Errorf("SetContainer without an id = %v", err)
	}
	h.put(box, "b", "content")

	status, err := h.store.Status(t.Context(), "blob:acct/box")
	if err != nil || status.Lease == nil || status.Lease.Holder != "azure:acct" || status.Lease.Token == 0 {
		t.Errorf("Status = %+v, %v; want an ordinary lease", status, err)
	}
	page, err := h.store.History(t.Context(), leasehold.HistoryRequest{Resource: "blob:acct/box"})
	if err != nil || len(page.Records) != 1 || page.Records[0].Details["caller"] != "127.0.0.1:9" {
		t.Errorf("History = %+v, %v; want one record with the caller", page, err)
	}
	if err := h.DeleteContainer(t.Context(), box, catalog.Access{Lease: id}); err != nil {
		t.Errorf("DeleteContainer by the holder = %v", err)
	}
	if status, err := h.store.Status(t.Context(), "blob:acct/box"); err != nil || status.Lease != nil {
		t.Errorf("after the deletion: Status = %+v, %v; want no lease", status, err)
	}
}

// TestDeletedContainerTakesAllWithIt: what comes under its name afterwards
// meets neither old blobs nor old leases.
func TestDeletedContainerTakesAllWithIt(t *testing.T) {
	h := newHouse(t)
	h.container(box)
	other := catalog.Ref{Account: "acct", Container: "box2"}
	h.container(other)
	h.put(other, "b", "stays")
	for i := range 25 {
		h.put(box, fmt.Sprint("b", i), "goes")
	}
	leased := box
	leased.Blob = "b7"
	for _, ref := range []catalog.Ref{leased, {Account: "acct", Container: "box2", Blob: "b"}} {
		if _, err := h.Lease(t.Context(), ref, catalog.LeaseRequest{Action: catalog.Acquire, Duration: leasehold.Infinite}); err != nil {
			t.Fatalf("Lease(%v) = %v", ref, err)
		}
	}
	if err := h.DeleteContainer(t.Context(), box, catalog.Access{}); err != nil {
		t.Fatalf("DeleteContainer = %v", err)
	}
	h.container(box)
	_, err := h.Head(t.Context(), leased, catalog.Access{})
	wantFault(t, "Head of a blob that went", err, azerr.BlobNotFound)
	h.put(box, "b7", "new") // no lease stands in the way
	head, err := h.Head(t.Context(), catalog.Ref{Account: "acct", Container: "box2", Blob: "b"}, catalog.Access{})
	if err != nil || head.Lease.State != "leased" {
		t.Errorf("the other container's blob: %+v, %v; want it leased", head, err)
	}
	h.checkClean()
}

// TestContainerRace: many who create and delete one container; each creation
// that succeeds is followed by exactly one deletion that does.
func TestContainerRace(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	var created, deleted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if _, err := h.CreateContainer(ctx, box, catalog.ContainerDetails{}); err == nil {
					created.Add(1)
				}
				if err := h.DeleteContainer(ctx, box, catalog.Access{}); err == nil {
					deleted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if err := h.DeleteContainer(ctx, box, catalog.Access{}); err == nil {
		deleted.Add(1)
	}
	if created.Load() != deleted.Load() || created.Load() == 0 {
		t.Errorf("created %d times, deleted %d times", created.Load(), deleted.Load())
	}
	h.checkClean()
}

// TestContainerOfTheSameName: nothing of a deleted container is met in a new
// one, whatever was remembered of it.
func TestContainerOfTheSameName(t *testing.T) {
	h := newHouse(t)
	h.container(box)
	h.put(box, "b", "secret")
	ref := box
	ref.Blob = "b"
	if _, err := h.Head(t.Context(), ref, catalog.Access{}); err != nil { // it is remembered now
		t.Fatal(err)
	}
	if err := h.DeleteContainer(t.Context(), box, catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	h.container(box)
	_, err := h.Head(t.Context(), ref, catalog.Access{})
	wantFault(t, "Head", err, azerr.BlobNotFound)
	_, err = h.Get(t.Context(), ref, catalog.Access{})
	wantFault(t, "Get", err, azerr.BlobNotFound)
	_, err = h.Lease(t.Context(), ref, catalog.LeaseRequest{Action: catalog.Acquire, Duration: leasehold.Infinite})
	wantFault(t, "Lease", err, azerr.BlobNotFound)
	h.put(box, "b", "new")
	h.checkClean()
}
