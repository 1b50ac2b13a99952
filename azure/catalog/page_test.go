package catalog_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// pages returns n pages full of a letter.
func pages(letter byte, n int) []byte { return bytes.Repeat([]byte{letter}, n*catalog.PageSize) }

// writePages writes pages from the page first on; no letter clears them.
func (h *harness) writePages(ref catalog.Ref, first, n int, letter byte) *catalog.Item {
	h.t.Helper()
	var u *catalog.Upload
	if letter != 0 {
		u = h.Accept(pages(letter, n))
	}
	i, err := h.PutPages(h.t.Context(), ref, int64(first)*catalog.PageSize, int64(n)*catalog.PageSize, u, catalog.Access{})
	if err != nil {
		h.t.Fatalf("PutPages(%d, %d) = %v", first, n, err)
	}
	return i
}

// pageMap shows content as a letter per page, and a dot for zeros.
func pageMap(content []byte) string {
	var s []byte
	for page := range len(content) / catalog.PageSize {
		p := content[page*catalog.PageSize : (page+1)*catalog.PageSize]
		letter := p[0]
		if !bytes.Equal(p, pages(letter, 1)) {
			letter = '?'
		}
		if letter == 0 {
			letter = '.'
		}
		s = append(s, letter)
	}
	return string(s)
}

// ranges shows page ranges as first-last, and x before those that are clear.
func (h *harness) ranges(ref catalog.Ref, from, to int64, since catalog.Snapshot) string {
	h.t.Helper()
	_, found, err := h.Pages(h.t.Context(), ref, from, to, since, catalog.Access{})
	if err != nil {
		h.t.Fatalf("Pages(%v) = %v", ref, err)
	}
	var s []string
	for _, r := range found {
		x := ""
		if r.Clear {
			x = "x"
		}
		s = append(s, fmt.Sprintf("%s%d-%d", x, r.Start/catalog.PageSize, r.End/catalog.PageSize-1))
	}
	return fmt.Sprint(s)
}

func TestPages(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "pages", Blob: "disk"}
	h.container(ref)
	last := h.empty(ref, catalog.Page, 10*catalog.PageSize).Ticks
	for _, step := range []struct {
		first, n     int
		letter       byte
		want, ranges string
	}{
		{2, 6, 0, "..........", "[]"},
		{2, 6, 'a', "..aaaaaa..", "[2-7]"},
		{4, 2, 'b', "..aabbaa..", "[2-7]"},
		{4, 2, 'c', "..aaccaa..", "[2-7]"},
		{0, 1, 'd', "d.aaccaa..", "[0-0 2-7]"},
		{3, 2, 'e', "d.aeecaa..", "[0-0 2-7]"},
		{5, 1, 0, "d.aee.aa..", "[0-0 2-4 6-7]"},
		{9, 1, 'f', "d.aee.aa.f", "[0-0 2-4 6-7 9-9]"},
		{1, 8, 0, "d........f", "[0-0 9-9]"},
		{0, 10, 'g', "gggggggggg", "[0-9]"},
		{3, 1, 0, "ggg.gggggg", "[0-2 4-9]"},
		{0, 5, 0, ".....ggggg", "[5-9]"},
		{0, 10, 0, "..........", "[]"},
		{9, 1, 'h', ".........h", "[9-9]"},
	} {
		i := h.writePages(ref, step.first, step.n, step.letter)
		if i.Ticks <= last || i.Size != 10*catalog.PageSize {
			t.Errorf("PutPages = %+v", i)
		}
		last = i.Ticks
		if got := pageMap(h.read(ref)); got != step.want {
			t.Errorf("after %+v: %s", step, got)
		}
		if got := h.ranges(ref, 0, 0, catalog.Snapshot{}); got != step.ranges {
			t.Errorf("after %+v: ranges %s", step, got)
		}
		h.checkClean()
	}
	h.reopen()
	other := ref
	other.Blob = "other"
	h.empty(other, catalog.Page, 4*catalog.PageSize)
	h.writePages(other, 0, 4, 'z') // a manifest of its own, though the other one was given up and begun anew
	if got := pageMap(h.read(ref)); got != ".........h" {
		t.Errorf("after a restart: %s", got)
	}
	h.checkClean()
}

func TestPageRangesOfAWindow(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "pages", Blob: "disk"}
	h.container(ref)
	h.empty(ref, catalog.Page, 10*catalog.PageSize)
	h.writePages(ref, 1, 3, 'a')
	h.writePages(ref, 4, 1, 'b')
	h.writePages(ref, 7, 2, 'c')
	for _, test := range []struct {
		from, to int64
		want     string
	}{
		{0, math.MaxInt64, "[1-4 7-8]"},
		{0, -1, "[1-4 7-8]"},
		{1024, 0, "[2-4 7-8]"},
		{1025, 0, "[2-4 7-8]"},
		{0, 1025, "[1-2]"},
		{2560, 3584, "[]"},
		{4000, 4001, "[7-7]"},
		{5120, 0, "[]"},
		{99999, 0, "[]"},
		{-5, 513, "[1-1]"},
	} {
		if got := h.ranges(ref, test.from, test.to, catalog.Snapshot{}); got != test.want {
			t.Errorf("Pages(%d, %d) = %s, want %s", test.from, test.to, got, test.want)
		}
	}
}

func TestPageSnapshotsAndDifferences(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "pages", Blob: "disk"}
	h.container(ref)
	h.empty(ref, catalog.Page, 10*catalog.PageSize)
	h.writePages(ref, 0, 6, 'a')
	first := h.snapshot(ref, ref.Blob)
	h.writePages(ref, 2, 1, 'b')
	h.writePages(ref, 4, 1, 0)
	h.writePages(ref, 8, 1, 'c')
	second := h.snapshot(ref, ref.Blob)
	h.writePages(ref, 2, 1, 0)
	h.writePages(ref, 3, 2, 'd')
	at := func(s catalog.Snapshot) catalog.Ref { r := ref; r.Snapshot = s; return r }
	for _, test := range []struct {
		ref  catalog.Ref
		want string
	}{{at(first), "aaaaaa...."}, {at(second), "aaba.a..c."}, {ref, "aa.dda..c."}} {
		if got := pageMap(h.read(test.ref)); got != test.want {
			t.Errorf("%v: %s, want %s", test.ref, got, test.want)
		}
	}
	for _, test := range []struct {
		what  string
		ref   catalog.Ref
		since catalog.Snapshot
		want  string
	}{
		{"base since the first", ref, first, "[x2-2 3-4 8-8]"},
		{"base since the second", ref, second, "[x2-2 3-4]"},
		{"second since the first", at(second), first, "[2-2 x4-4 8-8]"},
		{"first since itself", at(first), first, "[]"},
	} {
		if got := h.ranges(test.ref, 0, 0, test.since); got != test.want {
			t.Errorf("%s: %s, want %s", test.what, got, test.want)
		}
	}
	if got := h.ranges(ref, 3*catalog.PageSize, 4*catalog.PageSize, first); got != "[3-3]" {
		t.Errorf("a window of the difference: %s", got)
	}
	_, _, err := h.Pages(t.Context(), at(first), 0, 0, second, catalog.Access{})
	wantCode(t, "Pages of the first since the second", err, azerr.PreviousSnapshotCannotBeNewer)
	_, _, err = h.Pages(t.Context(), ref, 0, 0, catalog.At(first.Ticks()+1), catalog.Access{})
	wantCode(t, "Pages since no snapshot", err, azerr.PreviousSnapshotNotFound)
	_, _, err = h.Pages(t.Context(), ref, 0, 0, catalog.At(0), catalog.Access{})
	wantCode(t, "Pages since the year 1", err, azerr.PreviousSnapshotNotFound)
	h.put(ref, ref.Blob, "a block blob")
	_, _, err = h.Pages(t.Context(), ref, 0, 0, first, catalog.Access{})
	wantCode(t, "Pages of a block blob", err, azerr.InvalidBlobType)
	block := h.snapshot(ref, ref.Blob)
	h.empty(ref, catalog.Page, 10*catalog.PageSize)
	_, _, err = h.Pages(t.Context(), ref, 0, 0, block, catalog.Access{})
	wantCode(t, "Pages since a block blob", err, azerr.BlobOverwritten)
	if got := h.ranges(ref, 0, 0, first); got != "[x0-5]" {
		t.Errorf("of a new blob since the old one's snapshot: %s", got)
	}
	h.checkClean()
}

func TestResize(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "pages", Blob: "disk"}
	h.container(ref)
	h.empty(ref, catalog.Page, 4*catalog.PageSize)
	h.writePages(ref, 0, 4, 'a')
	snapshot := ref
	snapshot.Snapshot = h.snapshot(ref, ref.Blob)
	for _, step := range []struct {
		pages int64
		want  string
	}{{6, "aaaa.."}, {3, "aaa"}, {5, "aaa.."}, {1, "a"}, {0, ""}, {2, ".."}, {2, ".."}} {
		i, err := h.Resize(t.Context(), ref, step.pages*catalog.PageSize, catalog.Access{})
		if err != nil || i.Size != step.pages*catalog.PageSize {
			t.Fatalf("Resize(%d) = %+v, %v", step.pages, i, err)
		}
		if got := pageMap(h.read(ref)); got != step.want {
			t.Errorf("Resize(%d): %s, want %s", step.pages, got, step.want)
		}
	}
	if got := pageMap(h.read(snapshot)); got != "aaaa" {
		t.Errorf("the snapshot: %s", got)
	}
	for _, size := range []int64{-512, 100, catalog.MaxPageBlob + 512} {
		_, err := h.Resize(t.Context(), ref, size, catalog.Access{})
		wantCode(t, fmt.Sprintf("Resize to %d bytes", size), err, azerr.InvalidHeaderValue)
	}
	h.put(ref, "block", "")
	block := ref
	block.Blob = "block"
	_, err := h.Resize(t.Context(), block, 512, catalog.Access{})
	wantCode(t, "Resize of a block blob", err, azerr.InvalidBlobType)
	h.checkClean()
}

func TestPagesRefuse(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "pages", Blob: "disk"}
	h.container(ref)
	if _, err := h.PutEmpty(t.Context(), ref, catalog.Page, 2048, 7, catalog.New{}, catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	h.put(ref, "block", "")
	block, none := ref, ref
	block.Blob, none.Blob = "block", "none"
	number := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		what      string
		ref       catalog.Ref
		offset, n int64
		body      int
		c         catalog.Conditions
		code      string
	}{
		{"no blob", none, 0, 512, 512, catalog.Conditions{}, azerr.BlobNotFound},
		{"a block blob", block, 0, 512, 512, catalog.Conditions{}, azerr.InvalidBlobType},
		{"half a page", ref, 0, 100, 100, catalog.Conditions{}, azerr.InvalidPageRange},
		{"between pages", ref, 100, 512, 512, catalog.Conditions{}, azerr.InvalidPageRange},
		{"before the beginning", ref, -512, 512, 512, catalog.Conditions{}, azerr.InvalidPageRange},
		{"past the end", ref, 1536, 1024, 1024, catalog.Conditions{}, azerr.InvalidPageRange},
		{"beyond the end", ref, 4096, 512, 512, catalog.Conditions{}, azerr.InvalidPageRange},
		{"past all numbers", ref, 512, math.MaxInt64 / 512 * 512, 512, catalog.Conditions{}, azerr.InvalidPageRange},
		{"nothing", ref, 0, 0, 0, catalog.Conditions{}, azerr.InvalidPageRange},
		{"fewer bytes", ref, 0, 1024, 512, catalog.Conditions{}, azerr.InvalidHeaderValue},
		{"another version", ref, 0, 512, 512, catalog.Conditions{Match: `"0x1"`}, azerr.ConditionNotMet},
		{"sequence <= 6", ref, 0, 512, 512, catalog.Conditions{SequenceLE: number(6)}, azerr.SequenceNumberConditionNotMet},
		{"sequence < 7", ref, 0, 512, 512, catalog.Conditions{SequenceLT: number(7)}, azerr.SequenceNumberConditionNotMet},
		{"sequence = 8", ref, 0, 512, 512, catalog.Conditions{SequenceEQ: number(8)}, azerr.SequenceNumberConditionNotMet},
	} {
		_, err := h.PutPages(t.Context(), test.ref, test.offset, test.n, h.Accept(make([]byte, test.body)), catalog.Access{If: test.c})
		wantCode(t, test.what, err, test.code)
	}
	good := catalog.Conditions{SequenceLE: number(7), SequenceLT: number(8), SequenceEQ: number(7)}
	if _, err := h.PutPages(t.Context(), ref, 0, 512, h.Accept(pages('a', 1)), catalog.Access{If: good}); err != nil {
		t.Errorf("PutPages with good conditions = %v", err)
	}
	id := h.lease(ref)
	_, err := h.PutPages(t.Context(), ref, 0, 512, nil, catalog.Access{})
	wantRefusal(t, "PutPages of a leased blob", err, leasehold.ReasonMissing)
	if _, err := h.PutPages(t.Context(), ref, 0, 512, nil, catalog.Access{Lease: id}); err != nil {
		t.Errorf("PutPages with the lease = %v", err)
	}
	_, _, err = h.Pages(t.Context(), none, 0, 0, catalog.Snapshot{}, catalog.Access{})
	wantCode(t, "Pages of no blob", err, azerr.BlobNotFound)
	_, _, err = h.Pages(t.Context(), ref, 0, 0, catalog.Snapshot{}, catalog.Access{If: catalog.Conditions{Match: `"0x1"`}})
	wantCode(t, "Pages of another version", err, azerr.ConditionNotMet)
	h.checkClean()
}

// A reader sees the blob as it was when it started, and the bytes that it
// reads are not collected meanwhile.
func TestPagesAreWrittenBesideReaders(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "pages", Blob: "disk"}
	h.container(ref)
	h.empty(ref, catalog.Page, 1000*catalog.PageSize)
	h.writePages(ref, 0, 1000, 'a') // in a file
	k, err := h.Get(t.Context(), ref, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	h.writePages(ref, 0, 1000, 'b')
	h.writePages(ref, 10, 1, 'c')
	var got bytes.Buffer
	if err := k.WriteTo(t.Context(), &got, 0, k.Size); err != nil || !bytes.Equal(got.Bytes(), pages('a', 1000)) {
		t.Errorf("the reader got %d bytes, %v", got.Len(), err)
	}
	h.checkClean()
}

func TestSetSequence(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		kind   catalog.Kind
		has    int64
		action string
		number *int64
		want   int64
		code   string
	}{
		{catalog.Page, 5, "max", number(3), 5, ""},
		{catalog.Page, 5, "max", number(9), 9, ""},
		{catalog.Page, 5, "update", number(3), 3, ""},
		{catalog.Page, 5, "increment", nil, 6, ""},
		{catalog.Page, math.MaxInt64, "increment", nil, math.MaxInt64, azerr.SequenceNumberIncrementTooLarge},
		{catalog.Page, 5, "increment", number(1), 5, azerr.InvalidHeaderValue},
		{catalog.Page, 5, "update", nil, 5, azerr.MissingRequiredHeader},
		{catalog.Page, 5, "update", number(-1), 5, azerr.InvalidInput},
		{catalog.Page, 5, "double", number(1), 5, azerr.InvalidHeaderValue},
		{catalog.Block, 0, "update", number(1), 0, azerr.InvalidBlobType},
	} {
		i := &catalog.Item{Kind: test.kind}
		i.Sequence = test.has
		err := i.SetSequence(test.action, test.number)
		if test.code != "" {
			wantCode(t, "SetSequence "+test.action, err, test.code)
		} else if err != nil {
			t.Errorf("SetSequence(%s) = %v", test.action, err)
		}
		if diff := cmp.Diff(test.want, i.Sequence); diff != "" {
			t.Errorf("SetSequence(%s) (-want +got):\n%s", test.action, diff)
		}
	}
}

// A blob that has no piece left has no manifest either: its number could be
// given out again after a restart.
func TestClearedPagesGiveUpTheManifest(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "pages", Blob: "cleared"}
	h.container(ref)
	other := ref
	other.Blob = "other"
	for _, r := range []catalog.Ref{ref, other} {
		h.empty(r, catalog.Page, 4*catalog.PageSize)
	}
	h.writePages(ref, 1, 2, 'a')
	h.writePages(ref, 0, 4, 0)
	h.reopen()
	h.writePages(other, 1, 1, 'b')
	h.writePages(ref, 2, 1, 'c')
	if got := pageMap(h.read(ref)) + pageMap(h.read(other)); got != "..c..b.." {
		t.Errorf("the two blobs: %s", got)
	}
	h.checkClean()
}
