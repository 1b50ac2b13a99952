package catalog_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/store/sqlite"
)

// house is a catalog on the real engine, in a directory of its own.
type house struct {
	*catalog.Catalog
	t     testing.TB
	dir   string
	store *sqlite.Store
	bytes *content.Store
	o     *catalog.Options
}

func newHouse(t testing.TB) *house { return newHouseWith(t, nil) }

func newHouseWith(t testing.TB, o *catalog.Options) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), o: o}
	h.open()
	t.Cleanup(h.close)
	return h
}

func (h *house) open() {
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

func (h *house) close() {
	h.t.Helper()
	if err := errors.Join(h.Catalog.Close(), h.bytes.Close(), h.store.Close()); err != nil {
		h.t.Errorf("close: %v", err)
	}
}

// reopen closes all and opens it again, as a restart does.
func (h *house) reopen() { h.t.Helper(); h.close(); h.open() }

func (h *house) container(ref catalog.Ref) *catalog.Container {
	h.t.Helper()
	made, err := h.CreateContainer(h.t.Context(), ref, catalog.ContainerDetails{})
	if err != nil {
		h.t.Fatalf("CreateContainer(%v) = %v", ref, err)
	}
	return made
}

// put writes a block blob.
func (h *house) put(container catalog.Ref, name, text string) *catalog.Item {
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
func (h *house) checkClean() {
	h.t.Helper()
	report, err := h.Check(h.t.Context(), false)
	if err != nil {
		h.t.Fatalf("Check = %v", err)
	}
	for _, problem := range report.Problems {
		h.t.Errorf("Check found: %v", problem)
	}
}

func wantFault(t testing.TB, what string, err error, code string) {
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
