package catalog_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
)

// TestFullDisk: while the disk is full, what takes space is refused by name;
// leases, reads, and what frees space go on.
func TestFullDisk(t *testing.T) {
	var full atomic.Bool
	h := newHouse(t)
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
		wantFault(t, what+" on a full disk", try(), azerr.InsufficientStorage)
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
