package catalog_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/store/sqlite"
)

// harness is a catalog on the real engine, in a directory of its own.
type harness struct {
	*catalog.Catalog
	t     testing.TB
	dir   string
	store *sqlite.Store
	bytes *content.Store
	o     *catalog.Options
}

func newHarness(t testing.TB) *harness { return newHarnessWith(t, nil) }

func newHarnessWith(t testing.TB, o *catalog.Options) *harness {
	t.Helper()
	h := &harness{t: t, dir: t.TempDir(), o: o}
	h.open()
	t.Cleanup(h.close)
	return h
}

func (h *harness) open() {
	h.t.Helper()
	var err error
	modules := []engine.Module{catalog.Module()}
	if h.store, err = sqlite.Open(h.t.Context(), filepath.Join(h.dir, "leases.db"), &sqlite.Options{Modules: modules}); err != nil {
		h.t.Fatal(err)
	}
	if h.bytes, err = content.Open(filepath.Join(h.dir, "blobs"), nil); err != nil {
		h.t.Fatal(err)
	}
	if h.Catalog, err = catalog.Open(h.t.Context(), h.store, h.bytes, h.o); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) close() {
	h.t.Helper()
	if err := errors.Join(h.Catalog.Close(), h.bytes.Close(), h.store.Close()); err != nil {
		h.t.Errorf("close: %v", err)
	}
}

// reopen closes all and opens it again, as a restart does.
func (h *harness) reopen() { h.t.Helper(); h.close(); h.open() }

func (h *harness) container(ref catalog.Ref) *catalog.Container {
	h.t.Helper()
	made, err := h.CreateContainer(h.t.Context(), ref, catalog.ContainerDetails{})
	if err != nil {
		h.t.Fatalf("CreateContainer(%v) = %v", ref, err)
	}
	return made
}

// put writes a block blob.
func (h *harness) put(container catalog.Ref, name, text string) *catalog.Item {
	h.t.Helper()
	ref := container
	ref.Blob = name
	item, err := h.PutBlob(h.t.Context(), ref, catalog.New{}, h.Accept([]byte(text)), catalog.Access{})
	if err != nil {
		h.t.Fatalf("PutBlob(%q) = %v", name, err)
	}
	return item
}

// checkClean says what a check of everything finds.
func (h *harness) checkClean() {
	h.t.Helper()
	report, err := h.Check(h.t.Context(), false)
	if err != nil {
		h.t.Fatalf("Check = %v", err)
	}
	for _, problem := range report.Problems {
		h.t.Errorf("Check found: %v", problem)
	}
}

func wantCode(t testing.TB, what string, err error, code string) {
	t.Helper()
	var f *azerr.Error
	if !errors.As(err, &f) || f.Code != code {
		t.Errorf("%s = %v, want %s", what, err, code)
	}
}

func wantRefusal(t testing.TB, what string, err error, reason leasehold.Reason) {
	t.Helper()
	var e *catalog.LeaseError
	if !errors.As(err, &e) || e.Reason != reason {
		t.Errorf("%s = %v, want a refusal by the lease: %s", what, err, reason)
	}
}

func TestServiceProperties(t *testing.T) {
	h := newHarness(t)
	if got, err := h.ServiceProperties(t.Context(), "acct"); err != nil || got != nil {
		t.Errorf("ServiceProperties, never set = %q, %v", got, err)
	}
	for _, want := range []string{`{"a":1}`, `{"a":2}`} {
		if err := h.SetServiceProperties(t.Context(), "acct", []byte(want)); err != nil {
			t.Fatal(err)
		}
		h.reopen()
		if got, err := h.ServiceProperties(t.Context(), "acct"); err != nil || string(got) != want {
			t.Errorf("ServiceProperties = %q, %v, want %q", got, err, want)
		}
	}
	if got, err := h.ServiceProperties(t.Context(), "other"); err != nil || got != nil {
		t.Errorf("ServiceProperties of another account = %q, %v", got, err)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
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
	wantCode(t, "Head", err, azerr.ContainerNotFound)
	h.container(ref)
	h.put(ref, ref.Blob, "new")
	h.checkClean()
}

// A container whose deletion failed half-way does not keep its name.
func TestCreateFinishesADeletion(t *testing.T) {
	h, ref := newContainer(t)
	other := catalog.Ref{Account: "acct", Container: "other"}
	id := h.containerID(ref)
	const rows = `INSERT INTO blob_containers (id, account, name, ticks, details, deleting) SELECT id + 1, account, ?, ticks, details, 1 FROM blob_containers WHERE id = ?`
	h.sql(rows, other.Container, id)
	h.sql(`INSERT INTO blob_items SELECT ?, name, snapshot, kind, committed, ticks, created, size, manifest, details, expires FROM blob_items`, id+1)
	h.container(other)
	other.Blob = ref.Blob
	_, err := h.Head(t.Context(), other, catalog.Access{})
	wantCode(t, "Head", err, azerr.BlobNotFound)
	h.put(other, "b", "x")
	h.checkClean()
}

var box = catalog.Ref{Account: "acct", Container: "box"}

func TestContainer(t *testing.T) {
	h := newHarness(t)
	want := catalog.ContainerDetails{
		Metadata: map[string]string{"Owner": "me"}, Public: "blob",
		Policies: []catalog.Policy{{ID: "p", Permissions: "r"}},
	}
	made, err := h.CreateContainer(t.Context(), box, want)
	if err != nil {
		t.Fatalf("CreateContainer = %v", err)
	}
	_, err = h.CreateContainer(t.Context(), box, catalog.ContainerDetails{})
	wantCode(t, "CreateContainer again", err, azerr.ContainerAlreadyExists)
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
	h := newHarness(t)
	_, err := h.Container(t.Context(), box, catalog.Access{})
	wantCode(t, "Container", err, azerr.ContainerNotFound)
	_, err = h.SetContainer(t.Context(), box, catalog.Access{}, func(*catalog.ContainerDetails) {})
	wantCode(t, "SetContainer", err, azerr.ContainerNotFound)
	wantCode(t, "DeleteContainer", h.DeleteContainer(t.Context(), box, catalog.Access{}), azerr.ContainerNotFound)
	_, err = h.Lease(t.Context(), box, catalog.LeaseRequest{Action: catalog.Acquire, Duration: time.Minute})
	wantCode(t, "Lease", err, azerr.ContainerNotFound)
	_, err = h.CreateContainer(t.Context(), catalog.Ref{Account: "acct", Container: "Box"}, catalog.ContainerDetails{})
	wantCode(t, "CreateContainer(Box)", err, azerr.InvalidResourceName)
}

func TestSetContainer(t *testing.T) {
	h := newHarness(t)
	made := h.container(box)
	set, err := h.SetContainer(t.Context(), box, catalog.Access{}, func(d *catalog.ContainerDetails) { d.Public = "container" })
	if err != nil || set.Ticks <= made.Ticks || set.Public != "container" {
		t.Fatalf("SetContainer = %+v, %v; want public, and ticks after %d", set, err, made.Ticks)
	}
	old := catalog.Access{If: catalog.Conditions{Match: made.Ticks.ETag()}}
	_, err = h.SetContainer(t.Context(), box, old, func(d *catalog.ContainerDetails) { d.Public = "" })
	wantCode(t, "SetContainer of an old version", err, azerr.ConditionNotMet)
	wantCode(t, "DeleteContainer of an old version", h.DeleteContainer(t.Context(), box, old), azerr.ConditionNotMet)
	got, err := h.Container(t.Context(), box, catalog.Access{})
	if err != nil || got.Public != "container" || got.Ticks != set.Ticks {
		t.Errorf("Container = %+v, %v; want what was set", got, err)
	}
}

// TestContainerLease: the lease guards the container's deletion, is a condition
// of other calls, and does not protect blobs.
func TestContainerLease(t *testing.T) {
	h := newHarness(t)
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
	h := newHarness(t)
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
	wantCode(t, "Head of a blob that went", err, azerr.BlobNotFound)
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
	h := newHarness(t)
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
	h := newHarness(t)
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
	wantCode(t, "Head", err, azerr.BlobNotFound)
	_, err = h.Get(t.Context(), ref, catalog.Access{})
	wantCode(t, "Get", err, azerr.BlobNotFound)
	_, err = h.Lease(t.Context(), ref, catalog.LeaseRequest{Action: catalog.Acquire, Duration: leasehold.Infinite})
	wantCode(t, "Lease", err, azerr.BlobNotFound)
	h.put(box, "b", "new")
	h.checkClean()
}
