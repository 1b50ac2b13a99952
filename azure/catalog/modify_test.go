package catalog_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

func TestModify(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
	made := h.put(ref, ref.Blob, "x")
	changed, err := h.Modify(t.Context(), ref, catalog.Access{}, true, func(i *catalog.Item) error {
		i.Metadata = map[string]string{"a": "1"}
		i.Tags = map[string]string{"color": "red"}
		i.Size, i.Kind, i.Created, i.Blob = 99, catalog.Page, 1, "other" // not the caller's to change
		return nil
	})
	if err != nil || changed.Ticks <= made.Ticks {
		t.Fatalf("Modify = %+v, %v", changed, err)
	}
	got, err := h.Head(t.Context(), ref, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	want := *made
	want.Ticks, want.Metadata, want.Tags, want.Lease = changed.Ticks, changed.Metadata, changed.Tags, got.Lease
	if diff := cmp.Diff(want, *got, cmp.AllowUnexported(catalog.Item{}, catalog.Snapshot{})); diff != "" {
		t.Errorf("Head after Modify (-want +got):\n%s", diff)
	}
	if found := h.find(ref, `"color"='red'`, 10); len(found) != 1 {
		t.Errorf("found %v by its tag", found)
	}
	same, err := h.Modify(t.Context(), ref, catalog.Access{}, false, func(i *catalog.Item) error {
		delete(i.Tags, "color")
		i.Tier = "Cool"
		return nil
	})
	if err != nil || same.Ticks != changed.Ticks {
		t.Errorf("Modify without a touch = %+v, %v", same, err)
	}
	if found := h.find(ref, `"color"='red'`, 10); len(found) != 0 {
		t.Errorf("found %v by a tag that it no longer has", found)
	}
	h.checkClean()
}

func TestModifyRefused(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
	none := func(*catalog.Item) error { return nil }
	_, err := h.Modify(t.Context(), ref, catalog.Access{}, true, none)
	wantFault(t, "Modify of nothing", err, azerr.BlobNotFound)
	h.stage(ref, ref.Blob)
	_, err = h.Modify(t.Context(), ref, catalog.Access{}, true, none)
	wantFault(t, "Modify of uncommitted blocks", err, azerr.BlobNotFound)
	made := h.put(ref, ref.Blob, "x")
	no := errors.New("no")
	if _, err := h.Modify(t.Context(), ref, catalog.Access{}, true, func(*catalog.Item) error { return no }); !errors.Is(err, no) {
		t.Errorf("Modify = %v, want %v", err, no)
	}
	_, err = h.Modify(t.Context(), ref, catalog.Access{If: catalog.Conditions{NoneMatch: made.ETag()}}, true, none)
	wantFault(t, "Modify of a known version", err, azerr.ConditionNotMet)
	h.lease(ref)
	_, err = h.Modify(t.Context(), ref, catalog.Access{}, true, func(*catalog.Item) error { return no })
	wantRefusal(t, "Modify without the id", err, leasehold.ReasonMissing)
	if now, err := h.Head(t.Context(), ref, catalog.Access{}); err != nil || now.Ticks != made.Ticks {
		t.Errorf("Head = %+v, %v, want nothing changed", now, err)
	}
}

// Of a snapshot only the tier can be changed, and a lease of its base does not
// matter.
func TestModifySnapshot(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
	h.put(ref, ref.Blob, "x")
	snapshot := ref
	snapshot.Snapshot = h.snapshot(ref, ref.Blob)
	h.lease(ref)
	changed, err := h.Modify(t.Context(), snapshot, catalog.Access{}, false, func(i *catalog.Item) error { i.Tier = "Archive"; return nil })
	if err != nil || changed.Tier != "Archive" || changed.Snapshot != snapshot.Snapshot {
		t.Errorf("Modify of the tier = %+v, %v", changed, err)
	}
	for name, change := range map[string]func(*catalog.Item){
		"metadata": func(i *catalog.Item) { i.Metadata = map[string]string{"a": "b"} },
		"tags":     func(i *catalog.Item) { i.Tags = map[string]string{"a": "b"} },
		"headers":  func(i *catalog.Item) { i.ContentType = "text/plain" },
	} {
		_, err := h.Modify(t.Context(), snapshot, catalog.Access{}, false, func(i *catalog.Item) error { change(i); return nil })
		wantFault(t, "Modify of "+name, err, azerr.InvalidQueryParameterValue)
	}
	h.checkClean()
}
