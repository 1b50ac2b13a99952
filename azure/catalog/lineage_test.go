package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// lineage shows sizes and bytes of their own, oldest first, the base last.
func (h *house) lineage(ref catalog.Ref) string {
	h.t.Helper()
	l, err := h.Lineage(h.t.Context(), ref)
	if err != nil {
		h.t.Fatalf("Lineage(%v) = %v", ref, err)
	}
	var s []string
	for _, e := range append(l.Snapshots, l.Base) {
		if e == nil {
			s = append(s, "-")
			continue
		}
		s = append(s, fmt.Sprintf("%d/%d", e.Own, e.Size))
	}
	return strings.Join(s, " ")
}

func TestLineage(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
	_, err := h.Lineage(t.Context(), ref)
	wantFault(t, "Lineage of nothing", err, azerr.BlobNotFound)
	h.stage(ref, ref.Blob)
	_, err = h.Lineage(t.Context(), ref)
	wantFault(t, "Lineage of uncommitted blocks", err, azerr.BlobNotFound)

	h.stageAs(ref, "AAAA", []byte("aaa"))
	h.stageAs(ref, "BBBB", []byte("bb"))
	first := h.commit(ref, catalog.BlockRef{ID: "AAAA"}, catalog.BlockRef{ID: "BBBB"}, catalog.BlockRef{ID: "AAAA"})
	want := func(want string) {
		t.Helper()
		if got := h.lineage(ref); got != want {
			t.Errorf("Lineage = %s, want %s", got, want)
		}
	}
	want("5/8")
	at := ref
	at.Snapshot = h.snapshot(ref, ref.Blob)
	want("0/8 0/8")
	h.stageAs(ref, "CCCC", []byte("cccccc"))
	h.commit(ref, catalog.BlockRef{ID: "AAAA"}, catalog.BlockRef{ID: "CCCC"})
	want("2/8 6/9")
	other := ref
	other.Blob = "copy"
	h.copy(other, catalog.CopyRequest{Source: at})
	want("0/8 6/9") // the copy has the bytes too
	h.remove(other, other.Blob, catalog.DeleteBase)
	h.collect()
	want("2/8 6/9")
	h.snapshot(ref, ref.Blob)
	h.remove(ref, ref.Blob, catalog.DeleteBaseOnly)
	want("2/8 6/9 -")

	url := fmt.Sprintf("http://127.0.0.1:10000/acct/desk/blob?snapshot=%v", at.Snapshot)
	h.copy(ref, catalog.CopyRequest{Source: at, SourceURL: url})
	want("0/8 6/9 0/8")
	l, err := h.Lineage(t.Context(), at)
	if err != nil || l.Base.RestoredFrom != at.Snapshot || l.Base.Lease.State != "available" {
		t.Errorf("Lineage = %+v, %v, want the base restored from %v", l.Base, err, at.Snapshot)
	}
	if s := l.Snapshots[0]; s.Of != first.Ticks || s.RestoredFrom != (catalog.Snapshot{}) || s.Snapshot != at.Snapshot {
		t.Errorf("Lineage = %+v, want a snapshot of %v", s, first.Ticks)
	}
	h.copy(ref, catalog.CopyRequest{Source: at, SourceURL: "http://127.0.0.1:10000/acct/desk/other?snapshot=" + at.Snapshot.String()})
	if l, err := h.Lineage(t.Context(), ref); err != nil || l.Base.RestoredFrom != (catalog.Snapshot{}) {
		t.Errorf("Lineage = %+v, %v, want a copy of another blob", l.Base, err)
	}
	h.checkClean()
}

// Snapshots of an append blob share what the blob had, and the blob has the rest
// for itself.
func TestLineageOfAppends(t *testing.T) {
	h, ref := desk(t)
	h.empty(ref, catalog.Append, 0)
	for i := range 3 {
		if i > 0 {
			h.snapshot(ref, ref.Blob)
		}
		if _, _, err := h.AppendBlock(t.Context(), ref, h.Accept([]byte("12345")), catalog.Access{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.lineage(ref); got != "0/5 0/10 5/15" {
		t.Errorf("Lineage = %s", got)
	}
}
