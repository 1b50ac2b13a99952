package catalog_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

const week = 7 * 24 * time.Hour

// TestUncommittedBlocksExpire: a week after the last of them came, the
// uncommitted blocks of a blob are gone, with their bytes; what is committed
// stays.
func TestUncommittedBlocksExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, ref := desk(t)
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
		wantFault(t, "Blocks of a blob that was never committed", err, azerr.BlobNotFound)
		_, err = h.CommitBlocks(t.Context(), ref, []catalog.BlockRef{{ID: "AAAA"}}, catalog.New{}, catalog.Access{})
		wantFault(t, "CommitBlocks", err, azerr.InvalidBlockList)
		page, err := h.List(t.Context(), ref, catalog.ListRequest{Uncommitted: true, Max: 10})
		if err != nil || len(page.Entries) != 1 || page.Entries[0].Item.Blob != "both" {
			t.Errorf("List = %+v, %v, want the committed blob alone", page.Entries, err)
		}
		h.stageAs(ref, "AAAAAAAA", []byte("x")) // nothing is left to agree with
		h.checkClean()
	})
}
