package catalog_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/leasehold/leasehold/azure/catalog"
	"pgregory.net/rapid"
)

// disk is a page blob as a letter per page. A zero letter is a page that was
// never written, or cleared; a dot is one that was written with zeros.
type disk struct {
	ref  catalog.Ref
	want []byte
}

func (d disk) bytes() []byte {
	var b []byte
	for _, letter := range d.want {
		if letter == '.' {
			letter = 0
		}
		b = append(b, pages(letter, 1)...)
	}
	return b
}

func (d disk) ranges() string {
	var s []string
	for at := 0; at < len(d.want); at++ {
		first := at
		for at < len(d.want) && d.want[at] != 0 {
			at++
		}
		if at > first {
			s = append(s, fmt.Sprintf("%d-%d", first, at-1))
		}
	}
	return fmt.Sprint(s)
}

// Writes, clears, sizes, snapshots and restores against an array.
func TestPagesAgreeWithAnArray(t *testing.T) {
	h := newHarness(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		ref := catalog.Ref{Account: "acct", Container: fmt.Sprintf("pages-%d", round), Blob: "disk"}
		h.container(ref)
		base := disk{ref, make([]byte, 8)}
		h.empty(ref, catalog.Page, 8*catalog.PageSize)
		var snapshots []disk
		var letter byte = 'a' - 1
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			what := rapid.IntRange(0, 9).Draw(rt, "what")
			if what < 6 && len(base.want) == 0 {
				continue
			}
			switch {
			case what < 6:
				first := rapid.IntRange(0, len(base.want)-1).Draw(rt, "first")
				n := rapid.IntRange(1, len(base.want)-first).Draw(rt, "n")
				put := byte(0)
				if what < 4 {
					letter++
					put = letter
				}
				h.writePages(ref, first, n, put)
				copy(base.want[first:], bytes.Repeat([]byte{put}, n))
			case what < 7:
				n := rapid.IntRange(0, 12).Draw(rt, "pages")
				if _, err := h.Resize(t.Context(), ref, int64(n)*catalog.PageSize, catalog.Access{}); err != nil {
					rt.Fatalf("Resize(%d) = %v", n, err)
				}
				base.want = append(base.want[:min(n, len(base.want))], make([]byte, max(0, n-len(base.want)))...)
			case what < 9:
				at := ref
				at.Snapshot = h.snapshot(ref, ref.Blob)
				snapshots = append(snapshots, disk{at, bytes.Clone(base.want)})
			case len(snapshots) > 0:
				from := rapid.SampledFrom(snapshots).Draw(rt, "from")
				if _, err := h.Copy(t.Context(), ref, catalog.CopyRequest{Source: from.ref}, catalog.Access{}); err != nil {
					rt.Fatalf("Copy = %v", err)
				}
				base.want = bytes.Clone(from.want)
			}
		}
		all := append(snapshots, base)
		for i, d := range all {
			if got := h.read(d.ref); !bytes.Equal(got, d.bytes()) {
				rt.Fatalf("%v has %s, want %s", d.ref, pageMap(got), pageMap(d.bytes()))
			}
			if got := h.ranges(d.ref, 0, 0, catalog.Snapshot{}); got != d.ranges() {
				rt.Fatalf("%v has the ranges %s, want %s", d.ref, got, d.ranges())
			}
			if i > 0 {
				checkDifference(rt, h, all[i-1], d)
			}
		}
	})
	h.checkClean()
}

// checkDifference compares page by page: each write had a letter of its own, so
// the same letter is the same write.
func checkDifference(rt *rapid.T, h *harness, before, now disk) {
	want := make([]byte, len(now.want))
	for i := range want {
		was := byte(0)
		if i < len(before.want) {
			was = before.want[i]
		}
		switch {
		case was == now.want[i]:
			want[i] = '='
		case now.want[i] == 0:
			want[i] = 'x'
		default:
			want[i] = 'w'
		}
	}
	_, found, err := h.Pages(h.t.Context(), now.ref, 0, 0, before.ref.Snapshot, catalog.Access{})
	if err != nil {
		rt.Fatalf("Pages since %v = %v", before.ref, err)
	}
	got := bytes.Repeat([]byte{'='}, len(want))
	for i, r := range found {
		letter := byte('w')
		if r.Clear {
			letter = 'x'
		}
		for at := r.Start / catalog.PageSize; at < r.End/catalog.PageSize; at++ {
			got[at] = letter
		}
		if i > 0 && found[i-1].End == r.Start && found[i-1].Clear == r.Clear {
			rt.Fatalf("ranges %v touch", found)
		}
	}
	if !bytes.Equal(got, want) {
		rt.Fatalf("the difference is %s, want %s", got, want)
	}
}
