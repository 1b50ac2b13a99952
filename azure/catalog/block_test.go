package catalog_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// blockID is the id of a block, in base64.
func blockID(n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "block-%06d", n))
}

func (h *harness) stageAs(ref catalog.Ref, id string, body []byte) {
	h.t.Helper()
	if err := h.StageBlock(h.t.Context(), ref, id, h.Accept(body), catalog.Access{}); err != nil {
		h.t.Fatalf("StageBlock(%q) = %v", id, err)
	}
}

func (h *harness) commit(ref catalog.Ref, list ...catalog.BlockRef) *catalog.Item {
	h.t.Helper()
	made, err := h.CommitBlocks(h.t.Context(), ref, list, catalog.New{}, catalog.Access{})
	if err != nil {
		h.t.Fatalf("CommitBlocks(%v) = %v", list, err)
	}
	return made
}

// blocks shows the block lists: committed, then uncommitted.
func (h *harness) blocks(ref catalog.Ref) string {
	h.t.Helper()
	lists, err := h.Blocks(h.t.Context(), ref, catalog.Access{})
	if err != nil {
		h.t.Fatalf("Blocks(%v) = %v", ref, err)
	}
	show := func(list []catalog.BlockInfo) string {
		var s []string
		for _, b := range list {
			s = append(s, fmt.Sprintf("%s:%d", b.ID, b.Size))
		}
		return strings.Join(s, " ")
	}
	return show(lists.Committed) + " | " + show(lists.Uncommitted)
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	h.stageAs(ref, "AAAA", []byte("one"))
	h.stageAs(ref, "CCCC", []byte("three"))
	h.stageAs(ref, "BBBB", bulk('2'))
	h.stageAs(ref, "CCCC", []byte("3"))
	if got := h.blocks(ref); got != " | AAAA:3 BBBB:100000 CCCC:1" {
		t.Errorf("Blocks before the commit = %q", got)
	}
	_, err := h.Head(t.Context(), ref, catalog.Access{})
	wantCode(t, "Head of uncommitted blocks", err, azerr.BlobNotFound)

	made := h.commit(ref, catalog.BlockRef{ID: "CCCC"}, catalog.BlockRef{ID: "AAAA", From: catalog.Uncommitted}, catalog.BlockRef{ID: "CCCC"})
	if made.Size != 5 || made.ContentMD5 != nil {
		t.Errorf("CommitBlocks = %+v", made)
	}
	if got := string(h.read(ref)); got != "3one3" {
		t.Errorf("it reads %q", got)
	}
	if got := h.blocks(ref); got != "CCCC:1 AAAA:3 CCCC:1 | " {
		t.Errorf("Blocks after the commit = %q", got)
	}
	h.collect()
	h.wantFiles(0) // B was not committed

	h.stageAs(ref, "AAAA", []byte("new"))
	if got := h.blocks(ref); got != "CCCC:1 AAAA:3 CCCC:1 | AAAA:3" {
		t.Errorf("Blocks with one staged = %q", got)
	}
	snapshot := ref
	snapshot.Snapshot = h.snapshot(ref, ref.Blob)
	h.commit(ref, catalog.BlockRef{ID: "AAAA", From: catalog.Committed}, catalog.BlockRef{ID: "AAAA", From: catalog.Latest}, catalog.BlockRef{ID: "CCCC", From: catalog.Latest})
	if got := string(h.read(ref)); got != "onenew3" {
		t.Errorf("it reads %q", got)
	}
	if got := h.blocks(snapshot); got != "CCCC:1 AAAA:3 CCCC:1 | " {
		t.Errorf("Blocks of the snapshot = %q", got)
	}
	h.checkClean()
	h.stageAs(ref, "DDDD", []byte("left"))
	h.put(ref, ref.Blob, "whole")
	if got := h.blocks(ref); got != " | " {
		t.Errorf("Blocks after PutBlob = %q", got)
	}
	if got := string(h.read(snapshot)); got != "3one3" {
		t.Errorf("the snapshot reads %q", got)
	}
	h.collect()
	h.checkClean()
}

func TestCommitOfNothing(t *testing.T) {
	h, ref := newContainer(t)
	if made := h.commit(ref); made.Size != 0 || !made.Committed {
		t.Errorf("CommitBlocks() = %+v", made)
	}
	h.stageAs(ref, "AAAA", []byte("x"))
	h.commit(ref)
	if got := h.blocks(ref); got != " | " || len(h.read(ref)) != 0 {
		t.Errorf("Blocks = %q", got)
	}
	h.checkClean()
}

func TestBlocksRefused(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	stage := func(id string, body string) error {
		return h.StageBlock(t.Context(), ref, id, h.Accept([]byte(body)), catalog.Access{})
	}
	long := base64.StdEncoding.EncodeToString(make([]byte, 65))
	wantCode(t, "StageBlock of no base64", stage("a b", "x"), azerr.InvalidBlockId)
	wantCode(t, "StageBlock without an id", stage("", "x"), azerr.InvalidBlockId)
	wantCode(t, "StageBlock of a long id", stage(long, "x"), azerr.InvalidBlockId)
	wantCode(t, "StageBlock of nothing", stage("AAAA", ""), azerr.InvalidHeaderValue)
	_, err := h.Blocks(t.Context(), ref, catalog.Access{})
	wantCode(t, "Blocks of nothing", err, azerr.BlobNotFound)
	if err := stage("AAAA", "x"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "StageBlock of another length", stage("AAAAAAAA", "x"), azerr.InvalidBlobOrBlock)
	h.commit(ref, catalog.BlockRef{ID: "AAAA"})
	if err := stage("AAAAAAAA", "x"); err != nil {
		t.Errorf("StageBlock of another length than in the version before = %v", err)
	}
	for _, list := range [][]catalog.BlockRef{
		{{ID: "AAAA"}, {ID: "BBBB"}},
		{{ID: "AAAA", From: catalog.Uncommitted}},
		{{ID: "AAAAAAAA", From: catalog.Committed}},
	} {
		_, err := h.CommitBlocks(t.Context(), ref, list, catalog.New{}, catalog.Access{})
		wantCode(t, fmt.Sprint("CommitBlocks ", list), err, azerr.InvalidBlockList)
	}
	_, err = h.CommitBlocks(t.Context(), ref, make([]catalog.BlockRef, catalog.MaxCommitted+1), catalog.New{}, catalog.Access{})
	wantCode(t, "CommitBlocks of too many", err, azerr.BlockListTooLong)
	for _, kind := range []catalog.Kind{catalog.Append, catalog.Page} {
		h.empty(ref, kind, 0)
		wantCode(t, "StageBlock", stage("AAAA", "x"), azerr.InvalidBlobType)
		_, err = h.CommitBlocks(t.Context(), ref, nil, catalog.New{}, catalog.Access{})
		wantCode(t, "CommitBlocks", err, azerr.InvalidBlobType)
		_, err = h.Blocks(t.Context(), ref, catalog.Access{})
		wantCode(t, "Blocks", err, azerr.InvalidBlobType)
	}
	h.collect()
	h.checkClean()
}

// A blob takes so many uncommitted blocks, and not one more; that holds for
// what was staged before a restart, too.
func TestTooManyUncommittedBlocks(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	const limit = 10
	for i := range limit - 1 {
		h.stageAs(ref, blockID(i), []byte("x"))
	}
	h.reopen()
	h.LimitUncommitted(limit)
	h.stageAs(ref, blockID(limit), []byte("y"))
	err := h.StageBlock(t.Context(), ref, blockID(limit+1), h.Accept([]byte("y")), catalog.Access{})
	wantCode(t, "StageBlock", err, azerr.BlockCountExceedsLimit)
	h.commit(ref, catalog.BlockRef{ID: blockID(0)})
	for range 2 * limit { // one and the same
		h.stageAs(ref, blockID(2), []byte("y"))
	}
	h.checkClean()
}

// A long list: its pieces are written at once, and collected in several bites.
func TestLongBlockList(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	h.stageAs(ref, "AAAA", []byte("ab"))
	h.stageAs(ref, "BBBB", bulk('2'))
	const n = 2*catalog.PieceBatch - 1
	list := make([]catalog.BlockRef, n)
	for i := range list {
		list[i] = catalog.BlockRef{ID: "AAAA"}
	}
	list[catalog.PieceBatch+7].ID = "BBBB"
	made := h.commit(ref, list...)
	if want := int64(n-1)*2 + 100_000; made.Size != want {
		t.Errorf("CommitBlocks = %d bytes, want %d", made.Size, want)
	}
	want := bytes.Join([][]byte{bytes.Repeat([]byte("ab"), catalog.PieceBatch+7), bulk('2'), bytes.Repeat([]byte("ab"), n-catalog.PieceBatch-8)}, nil)
	if got := h.read(ref); !bytes.Equal(got, want) {
		t.Errorf("it has %d bytes that are not those of the blocks", len(got))
	}
	h.checkClean()
	h.remove(ref, ref.Blob, catalog.DeleteBase)
	h.collect()
	h.checkClean()
	h.wantFiles(0)
}

// Blocks of one blob are staged in parallel.
func TestStageInParallel(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	const workers, each = 8, 25
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				id := blockID(w*each + i)
				for range 2 { // the second takes the place of the first
					if err := h.StageBlock(t.Context(), ref, id, h.Accept([]byte(id)), catalog.Access{}); err != nil {
						t.Errorf("StageBlock = %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	var list []catalog.BlockRef
	var want []byte
	for i := range workers * each {
		list = append(list, catalog.BlockRef{ID: blockID(i)})
		want = append(want, blockID(i)...)
	}
	h.commit(ref, list...)
	if diff := cmp.Diff(want, h.read(ref)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	h.collect()
	h.checkClean()
}

// Of blocks with ids of two lengths that are staged at once, those of one length
// are kept.
func TestStageLengthsInParallel(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	for round := range 25 {
		ref.Blob = fmt.Sprint("blob", round)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for w := range 8 {
			id := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune('a'+w)), 3*(1+w%2))))
			body := h.Accept([]byte("x"))
			wg.Go(func() {
				<-start
				if err := h.StageBlock(t.Context(), ref, id, body, catalog.Access{}); err != nil {
					wantCode(t, "StageBlock", err, azerr.InvalidBlobOrBlock)
				}
			})
		}
		close(start)
		wg.Wait()
		lists, err := h.Blocks(t.Context(), ref, catalog.Access{})
		if err != nil || len(lists.Uncommitted) != 4 {
			t.Errorf("round %d: %d blocks, %v, want the four of one length", round, len(lists.Uncommitted), err)
		}
		for _, b := range lists.Uncommitted {
			if len(b.ID) != len(lists.Uncommitted[0].ID) {
				t.Errorf("round %d: ids of two lengths: %v", round, lists.Uncommitted)
			}
		}
	}
}

func FuzzBlockID(f *testing.F) {
	for _, seed := range []string{"", "AAAA", "AA==", "AA", "A\nAA", "!!!!", strings.Repeat("A", 88)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		raw, bad := base64.StdEncoding.DecodeString(id)
		want := bad == nil && len(raw) > 0 && len(raw) <= catalog.MaxBlockID
		if got := catalog.CheckBlockID(id) == nil; got != want {
			t.Errorf("CheckBlockID(%q) = %t, want %t", id, got, want)
		}
	})
}

const week = 7 * 24 * time.Hour

// TestUncommittedBlocksExpire: a week after the last of them came, the
// uncommitted blocks of a blob are gone, with their bytes; what is committed
// stays.
func TestUncommittedBlocksExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, ref := newContainer(t)
		both := ref
		both.Blob = "both"
		h.stageAs(both, "AAAA", bulk('1'))
		h.commit(both, catalog.BlockRef{ID: "AAAA"})
		h.stageAs(both, "BBBB", bulk('2'))
		h.stageAs(ref, "AAAA", bulk('3'))
		h.wantFiles(3)

		time.Sleep(week - time.Hour)
		h.stageAs(ref, "BBBB", bulk('4')) // the list changes: the week begins anew
		h.wantFiles(4)
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		h.wantFiles(3)
		if lists, err := h.Blocks(t.Context(), both, catalog.Access{}); err != nil || len(lists.Committed) != 1 || len(lists.Uncommitted) != 0 {
			t.Errorf("after a week: %+v, %v, want the committed block alone", lists, err)
		}
		if lists, err := h.Blocks(t.Context(), ref, catalog.Access{}); err != nil || len(lists.Uncommitted) != 2 {
			t.Errorf("a week after the first block of two: %+v, %v, want both", lists, err)
		}
		h.reopen()
		time.Sleep(week - 2*time.Hour)
		h.wantFiles(3)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		h.wantFiles(1)
		_, err := h.Blocks(t.Context(), ref, catalog.Access{})
		wantCode(t, "Blocks of a blob that was never committed", err, azerr.BlobNotFound)
		_, err = h.CommitBlocks(t.Context(), ref, []catalog.BlockRef{{ID: "AAAA"}}, catalog.New{}, catalog.Access{})
		wantCode(t, "CommitBlocks", err, azerr.InvalidBlockList)
		page, err := h.List(t.Context(), ref, catalog.ListRequest{Uncommitted: true, Max: 10})
		if err != nil || len(page.Entries) != 1 || page.Entries[0].Item.Blob != "both" {
			t.Errorf("List = %+v, %v, want the committed blob alone", page.Entries, err)
		}
		h.stageAs(ref, "AAAAAAAA", []byte("x")) // nothing is left to agree with
		h.checkClean()
	})
}
