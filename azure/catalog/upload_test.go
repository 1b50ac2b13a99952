package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
)

func TestReceive(t *testing.T) {
	h, ref := newContainer(t)
	for _, size := range []int64{0, 3, 100_000} {
		for _, announced := range []int64{size, -1} {
			body := bytes.Repeat([]byte("."), int(size))
			u, err := h.Receive(t.Context(), ref, catalog.Access{}, bytes.NewReader(body), announced, 1<<20)
			if err != nil {
				t.Fatalf("Receive of %d bytes, announced %d = %v", size, announced, err)
			}
			if u.Size != size || u.CRC != content.UpdateCRC(0, body) {
				t.Errorf("Receive of %d bytes = %d with CRC %x", size, u.Size, u.CRC)
			}
			u.Discard()
		}
	}
	h.wantFiles(0)
	var nobody *catalog.Upload
	nobody.Discard()
}

func TestReceiveRefusesBodies(t *testing.T) {
	h, ref := newContainer(t)
	const limit = 1000
	body := func(n int) io.Reader { return strings.NewReader(strings.Repeat(".", n)) }
	for _, c := range []struct {
		name string
		body io.Reader
		size int64
		code string
	}{
		{"announced too large", body(0), limit + 1, azerr.RequestBodyTooLarge},
		{"too large", body(limit + 1), -1, azerr.RequestBodyTooLarge},
		{"more than announced", body(20), 10, azerr.InvalidInput},
		{"short", body(10), 20, azerr.InvalidInput},
		{"cut off", io.MultiReader(body(5), iotest.ErrReader(io.ErrUnexpectedEOF)), 10, azerr.InvalidInput},
	} {
		_, err := h.Receive(t.Context(), ref, catalog.Access{}, c.body, c.size, limit)
		wantCode(t, c.name, err, c.code)
	}
	broken := errors.New("the line is dead")
	if _, err := h.Receive(t.Context(), ref, catalog.Access{}, iotest.ErrReader(broken), -1, limit); !errors.Is(err, broken) {
		t.Errorf("Receive of a broken body = %v, want %v", err, broken)
	}
	gone := errors.New("the client has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	endless := readerFunc(func(p []byte) (int, error) { cancel(gone); return len(p), nil })
	if _, err := h.Receive(ctx, ref, catalog.Access{}, endless, 1<<30, 1<<30); !errors.Is(err, gone) {
		t.Errorf("Receive for nobody = %v, want %v", err, gone)
	}
	h.wantFiles(0)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// What would be refused anyhow is refused before a byte of much is read.
func TestReceiveLooksAhead(t *testing.T) {
	h, ref := newContainer(t)
	container := catalog.Ref{Account: ref.Account, Container: ref.Container}
	h.put(container, ref.Blob, "x")
	unread := iotest.ErrReader(errors.New("it was read"))
	receive := func(ref catalog.Ref, a catalog.Access) error {
		_, err := h.Receive(t.Context(), ref, a, unread, content.InlineLimit+1, 1<<30)
		return err
	}
	wantCode(t, "Receive for no container", receive(catalog.Ref{Account: "acct", Container: "none", Blob: "b"}, catalog.Access{}), azerr.ContainerNotFound)
	wantCode(t, "Receive to create", receive(ref, catalog.Access{If: catalog.Conditions{NoneMatch: "*"}}), azerr.BlobAlreadyExists)
	wantCode(t, "Receive for another version", receive(ref, catalog.Access{If: catalog.Conditions{Match: `"0x1"`}}), azerr.ConditionNotMet)
	wantRefusal(t, "Receive with an id", receive(ref, catalog.Access{Lease: leasehold.NewID()}), leasehold.ReasonNotPresent)
	h.lease(ref)
	wantRefusal(t, "Receive without the id", receive(ref, catalog.Access{If: catalog.Conditions{NoneMatch: "*"}}), leasehold.ReasonMissing)

	// Whether an append to a blob that exists may be conditional on there being
	// none is for the operation to say.
	log := ref
	log.Blob = "log"
	h.empty(log, catalog.Append, 0)
	u, err := h.Receive(t.Context(), log, catalog.Access{If: catalog.Conditions{NoneMatch: "*"}}, strings.NewReader("x"), 1, 1)
	if err != nil {
		t.Errorf("Receive for an append blob = %v", err)
	}
	u.Discard()
}

// TestFullDisk: while the disk is full, what takes space is refused by name;
// leases, reads, and what frees space go on.
func TestFullDisk(t *testing.T) {
	var full atomic.Bool
	h := newHarness(t)
	h.Catalog.Close()
	h.bytes.Close()
	var err error
	if h.bytes, err = content.Open(h.dir+"/blobs", &content.Options{Full: full.Load}); err != nil {
		t.Fatal(err)
	}
	if h.Catalog, err = catalog.Open(t.Context(), h.store, h.bytes, nil); err != nil {
		t.Fatal(err)
	}
	box := catalog.Ref{Account: "acct", Container: "box"}
	at := func(name string) catalog.Ref { return catalog.Ref{Account: "acct", Container: "box", Blob: name} }
	h.container(box)
	h.put(box, "block", "content")
	h.put(box, "gone", "content")
	h.empty(at("append"), catalog.Append, 0)
	h.empty(at("page"), catalog.Page, 4*catalog.PageSize)
	h.writePages(at("page"), 0, 4, 'a')
	h.stageAs(at("block"), "AAAA", []byte("staged"))
	upload := h.Accept([]byte("taken in before the disk was full"))

	ctx, none := t.Context(), catalog.Access{}
	full.Store(true)
	for what, try := range map[string]func() error{
		"Receive": func() error { _, err := h.Receive(ctx, at("new"), none, bytes.NewReader(nil), 0, 10); return err },
		"PutBlob": func() error { _, err := h.PutBlob(ctx, at("new"), catalog.New{}, upload, none); return err },
		"Accept": func() error {
			_, err := h.PutBlob(ctx, at("new"), catalog.New{}, h.Accept([]byte("x")), none)
			return err
		},
		"PutEmpty": func() error {
			_, err := h.PutEmpty(ctx, at("new"), catalog.Append, 0, 0, catalog.New{}, none)
			return err
		},
		"AppendBlock": func() error { _, _, err := h.AppendBlock(ctx, at("append"), h.Accept([]byte("x")), none); return err },
		"StageBlock":  func() error { return h.StageBlock(ctx, at("block"), "BBBB", h.Accept([]byte("x")), none) },
		"CommitBlocks": func() error {
			_, err := h.CommitBlocks(ctx, at("block"), []catalog.BlockRef{{ID: "AAAA"}}, catalog.New{}, none)
			return err
		},
		"PutPages": func() error {
			_, err := h.PutPages(ctx, at("page"), 0, catalog.PageSize, h.Accept(pages('b', 1)), none)
			return err
		},
		"Copy": func() error {
			_, err := h.Copy(ctx, at("new"), catalog.CopyRequest{Source: at("block")}, none)
			return err
		},
		"Snapshot": func() error { _, err := h.Snapshot(ctx, at("block"), nil, none); return err },
		"Modify": func() error {
			_, err := h.Modify(ctx, at("block"), none, true, func(*catalog.Item) error { return nil })
			return err
		},
		"CreateContainer": func() error {
			_, err := h.CreateContainer(ctx, catalog.Ref{Account: "acct", Container: "more"}, catalog.ContainerDetails{})
			return err
		},
	} {
		wantCode(t, what+" on a full disk", try(), azerr.InsufficientStorage)
	}
	id := h.lease(at("block"))
	for what, err := range map[string]error{
		"clearing pages": func() error { _, err := h.PutPages(ctx, at("page"), 0, catalog.PageSize, nil, none); return err }(),
		"Delete":         h.Delete(ctx, at("gone"), catalog.DeleteBase, none),
		"Release": func() error {
			_, err := h.Lease(ctx, at("block"), catalog.LeaseRequest{Action: catalog.Release, ID: id, Duration: time.Minute})
			return err
		}(),
	} {
		if err != nil {
			t.Errorf("%s on a full disk = %v, want success", what, err)
		}
	}
	if got := string(h.read(at("block"))) + pageMap(h.read(at("page"))); got != "content.aaa" {
		t.Errorf("content on a full disk = %q", got)
	}
	full.Store(false)
	h.put(box, "new", "content")
	h.checkClean()
	if _, err := h.Get(ctx, at("gone"), none); err == nil || errors.Is(err, content.ErrFull) {
		t.Errorf("Get of what was deleted = %v, want BlobNotFound", err)
	}
}
