package catalog_test

import (
	"bytes"
	"crypto/md5"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// newContainer is a harness with one container, and a blob's name in it.
func newContainer(t testing.TB) (*harness, catalog.Ref) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "desk", Blob: "blob"}
	h.container(ref)
	return h, ref
}

// bulk is content that takes a file.
func bulk(letter byte) []byte { return bytes.Repeat([]byte{letter}, 100_000) }

func (h *harness) collect() {
	h.t.Helper()
	if err := h.Collect(h.t.Context()); err != nil {
		h.t.Fatalf("Collect = %v", err)
	}
}

func TestPutBlob(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	for _, body := range [][]byte{{}, []byte("small"), bulk('x')} {
		n := catalog.New{
			Headers:  catalog.Headers{ContentType: "text/plain"},
			Metadata: map[string]string{"who": "me"},
			Tags:     map[string]string{"k": "v"},
			Tier:     "Cool",
		}
		made, err := h.PutBlob(t.Context(), ref, n, h.Accept(body), catalog.Access{})
		if err != nil {
			t.Fatalf("PutBlob of %d bytes = %v", len(body), err)
		}
		sum := md5.Sum(body)
		n.ContentMD5 = sum[:]
		want := catalog.Details{Headers: n.Headers, Metadata: n.Metadata, Tags: n.Tags, Tier: "Cool", TierChanged: made.Ticks}
		got, err := h.Head(t.Context(), ref, catalog.Access{})
		if err != nil {
			t.Fatalf("Head = %v", err)
		}
		if diff := cmp.Diff(want, got.Details); diff != "" {
			t.Errorf("Head after PutBlob of %d bytes (-want +got):\n%s", len(body), diff)
		}
		if got.Size != int64(len(body)) || got.Ticks != made.Ticks || got.ETag() != made.ETag() || got.Kind != catalog.Block || !got.Committed {
			t.Errorf("Head after PutBlob of %d bytes = %+v", len(body), got)
		}
		if got.Lease.State != "available" || got.Lease.Status != "unlocked" {
			t.Errorf("Head shows the lease %+v", got.Lease)
		}
		if read := h.read(ref); !bytes.Equal(read, body) {
			t.Errorf("it has %d bytes, want %d", len(read), len(body))
		}
	}
	h.collect()
	h.wantFiles(1)
	h.checkClean()
}

// An MD5 that the client gives is kept, whatever the bytes have.
func TestPutBlobKeepsAGivenMD5(t *testing.T) {
	h, ref := newContainer(t)
	given := bytes.Repeat([]byte{7}, 16)
	n := catalog.New{Headers: catalog.Headers{ContentMD5: given}}
	made, err := h.PutBlob(t.Context(), ref, n, h.Accept([]byte("x")), catalog.Access{})
	if err != nil || !bytes.Equal(made.ContentMD5, given) {
		t.Errorf("PutBlob = %x, %v, want %x", made.ContentMD5, err, given)
	}
}

// Whatever there is may be overwritten by a blob of any kind. The blob was
// created once; its tags are those of the last version.
func TestOverwrite(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	container := catalog.Ref{Account: ref.Account, Container: ref.Container}
	first := h.put(container, ref.Blob, "one")
	if first.Created != first.Ticks {
		t.Errorf("created at %v, written at %v", first.Created, first.Ticks)
	}
	last := first
	for _, kind := range []catalog.Kind{catalog.Append, catalog.Page, catalog.Append} {
		made := h.empty(ref, kind, 0)
		if made.Kind != kind || made.Size != 0 || made.Created != first.Created || made.Ticks <= last.Ticks {
			t.Errorf("PutEmpty(%v) over %v = %+v", kind, last.Kind, made)
		}
		last = made
	}
	tagged := catalog.New{Tags: map[string]string{"color": "red"}}
	if _, err := h.PutBlob(t.Context(), ref, tagged, h.Accept([]byte("two")), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	if got := h.find(ref, `"color"='red'`, 10); len(got) != 1 {
		t.Errorf("found %v by its tag", got)
	}
	h.put(container, ref.Blob, "three")
	if got := h.find(ref, `"color"='red'`, 10); len(got) != 0 {
		t.Errorf("found %v by a tag that it no longer has", got)
	}
	h.remove(container, ref.Blob, catalog.DeleteBase)
	if again := h.put(container, ref.Blob, "four"); again.Created <= first.Created {
		t.Errorf("created at %v, deleted, and created again at %v", first.Created, again.Created)
	}
	h.checkClean()
}

func TestPutEmpty(t *testing.T) {
	h, ref := newContainer(t)
	for _, c := range []struct {
		kind           catalog.Kind
		size, sequence int64
		code           string
	}{
		{catalog.Page, 1024, 7, ""},
		{catalog.Page, catalog.MaxPageBlob, 0, ""},
		{catalog.Append, 0, 0, ""},
		{catalog.Block, 0, 0, azerr.InvalidHeaderValue},
		{catalog.Append, 512, 0, azerr.InvalidHeaderValue},
		{catalog.Append, 0, 1, azerr.InvalidHeaderValue},
		{catalog.Page, 513, 0, azerr.InvalidHeaderValue},
		{catalog.Page, -512, 0, azerr.InvalidHeaderValue},
		{catalog.Page, catalog.MaxPageBlob + 512, 0, azerr.InvalidHeaderValue},
		{catalog.Page, 512, -1, azerr.InvalidInput},
	} {
		made, err := h.PutEmpty(t.Context(), ref, c.kind, c.size, c.sequence, catalog.New{}, catalog.Access{})
		switch {
		case c.code != "":
			wantCode(t, "PutEmpty", err, c.code)
		case err != nil || made.Size != c.size || made.Sequence != c.sequence || made.Kind != c.kind:
			t.Errorf("PutEmpty(%v, %d, %d) = %+v, %v", c.kind, c.size, c.sequence, made, err)
		}
	}
	h.checkClean()
}

// A write is refused by the lease first, then by the conditions, then for what
// it is.
func TestOrderOfRefusals(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	container := catalog.Ref{Account: ref.Account, Container: ref.Container}
	h.put(container, ref.Blob, "one")
	id := h.lease(ref)
	create := catalog.Conditions{NoneMatch: "*"}
	put := func(a catalog.Access) error {
		_, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('y')), a)
		return err
	}
	wantRefusal(t, "PutBlob without the id", put(catalog.Access{If: create}), leasehold.ReasonMissing)
	wantRefusal(t, "PutBlob with another id", put(catalog.Access{Lease: leasehold.NewID(), If: create}), leasehold.ReasonIDMismatch)
	wantCode(t, "PutBlob that must create", put(catalog.Access{Lease: id, If: create}), azerr.BlobAlreadyExists)
	wantCode(t, "PutBlob over another version", put(catalog.Access{Lease: id, If: catalog.Conditions{Match: `"0x1"`}}), azerr.ConditionNotMet)
	_, err := h.PutEmpty(t.Context(), ref, catalog.Page, 1, 0, catalog.New{}, catalog.Access{})
	wantRefusal(t, "PutEmpty of a bad size", err, leasehold.ReasonMissing)
	_, err = h.CommitBlocks(t.Context(), ref, []catalog.BlockRef{{ID: "none"}}, catalog.New{}, catalog.Access{})
	wantRefusal(t, "CommitBlocks of no block", err, leasehold.ReasonMissing)
	_, err = h.CommitBlocks(t.Context(), ref, []catalog.BlockRef{{ID: "none"}}, catalog.New{}, catalog.Access{Lease: id, If: create})
	wantCode(t, "CommitBlocks that must create", err, azerr.BlobAlreadyExists)
	wantRefusal(t, "StageBlock", h.StageBlock(t.Context(), ref, "!", h.Accept([]byte("x")), catalog.Access{}), leasehold.ReasonMissing)
	if err := put(catalog.Access{Lease: id}); err != nil {
		t.Errorf("PutBlob with the id = %v", err)
	}
	other := ref
	other.Blob = "other"
	_, err = h.PutBlob(t.Context(), other, catalog.New{}, h.Accept(nil), catalog.Access{Lease: id})
	wantRefusal(t, "PutBlob of a new blob with an id", err, leasehold.ReasonNotPresent)
	h.collect()
	h.wantFiles(1) // what was refused left nothing
	h.checkClean()
}

func TestWritesNeedABlob(t *testing.T) {
	h, ref := newContainer(t)
	snapshot := ref
	snapshot.Snapshot = catalog.At(0)
	unnamed := catalog.Ref{Account: ref.Account, Container: ref.Container}
	astray := catalog.Ref{Account: ref.Account, Container: "nowhere", Blob: "b"}
	for _, c := range []struct {
		ref  catalog.Ref
		code string
	}{
		{snapshot, azerr.InvalidQueryParameterValue},
		{unnamed, azerr.InvalidUri},
		{astray, azerr.ContainerNotFound},
	} {
		_, err := h.PutBlob(t.Context(), c.ref, catalog.New{}, h.Accept(bulk('z')), catalog.Access{})
		wantCode(t, "PutBlob", err, c.code)
		wantCode(t, "StageBlock", h.StageBlock(t.Context(), c.ref, "AAAA", h.Accept(bulk('z')), catalog.Access{}), c.code)
		_, err = h.PutEmpty(t.Context(), c.ref, catalog.Append, 0, 0, catalog.New{}, catalog.Access{})
		wantCode(t, "PutEmpty", err, c.code)
		_, err = h.CommitBlocks(t.Context(), c.ref, nil, catalog.New{}, catalog.Access{})
		wantCode(t, "CommitBlocks", err, c.code)
	}
	h.wantFiles(0)
}

// Content that could not be written is nobody's.
func TestAcceptOnAFullDisk(t *testing.T) {
	h, ref := newContainer(t)
	if err := h.bytes.Close(); err != nil {
		t.Fatal(err)
	}
	var f *azerr.Error
	_, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('x')), catalog.Access{})
	if err == nil || errors.As(err, &f) {
		t.Errorf("PutBlob = %v, want the disk's own error", err)
	}
	err = h.StageBlock(t.Context(), ref, "AAAA", h.Accept(bulk('x')), catalog.Access{})
	if err == nil || errors.As(err, &f) {
		t.Errorf("StageBlock = %v, want the disk's own error", err)
	}
}

func TestModify(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
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
	h, ref := newContainer(t)
	none := func(*catalog.Item) error { return nil }
	_, err := h.Modify(t.Context(), ref, catalog.Access{}, true, none)
	wantCode(t, "Modify of nothing", err, azerr.BlobNotFound)
	h.stage(ref, ref.Blob)
	_, err = h.Modify(t.Context(), ref, catalog.Access{}, true, none)
	wantCode(t, "Modify of uncommitted blocks", err, azerr.BlobNotFound)
	made := h.put(ref, ref.Blob, "x")
	no := errors.New("no")
	if _, err := h.Modify(t.Context(), ref, catalog.Access{}, true, func(*catalog.Item) error { return no }); !errors.Is(err, no) {
		t.Errorf("Modify = %v, want %v", err, no)
	}
	_, err = h.Modify(t.Context(), ref, catalog.Access{If: catalog.Conditions{NoneMatch: made.ETag()}}, true, none)
	wantCode(t, "Modify of a known version", err, azerr.ConditionNotMet)
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
	h, ref := newContainer(t)
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
		wantCode(t, "Modify of "+name, err, azerr.InvalidQueryParameterValue)
	}
	h.checkClean()
}
