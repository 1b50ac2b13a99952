package catalog_test

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold/azure/catalog"
	"pgregory.net/rapid"
)

// listModel is what a container should list, by sorting a map.
type listModel map[string]*listed

type listed struct {
	committed, staged bool
	snapshots         []catalog.Snapshot // oldest first
}

func (m listModel) at(name string) *listed {
	if m[name] == nil {
		m[name] = new(listed)
	}
	return m[name]
}

func (l *listed) entries(name string, r catalog.ListRequest) []string {
	var snapshots, base []string
	if r.Snapshots {
		for _, s := range l.snapshots {
			snapshots = append(snapshots, name+"@"+s.String())
		}
	}
	if l.committed || l.staged && r.Uncommitted {
		base = []string{name}
	}
	if r.BaseFirst {
		return append(base, snapshots...)
	}
	return append(snapshots, base...)
}

func (m listModel) list(r catalog.ListRequest) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	var all []string
	for _, name := range names {
		entries := m[name].entries(name, r)
		rest, ok := strings.CutPrefix(name, r.Prefix)
		if !ok || len(entries) == 0 {
			continue
		}
		if before, _, found := strings.Cut(rest, r.Delimiter); r.Delimiter != "" && found {
			entries = []string{r.Prefix + before + r.Delimiter + "*"}
		}
		all = append(all, entries...)
	}
	return slices.Compact(all)
}

func TestListAgreesWithASortedMap(t *testing.T) {
	h := newHouse(t)
	round := 0
	names := rapid.StringMatching(`[ab/é~]{1,5}`)
	rapid.Check(t, func(rt *rapid.T) {
		round++
		ref := catalog.Ref{Account: "acct", Container: fmt.Sprintf("model-%d", round)}
		h.container(ref)
		m := listModel{}
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			name := names.Draw(rt, "name")
			l := m.at(name)
			switch what := rapid.IntRange(0, 9).Draw(rt, "what"); {
			case what < 4:
				h.put(ref, name, name)
				l.committed, l.staged = true, false
			case what < 5 && !l.committed:
				h.stage(ref, name)
				l.staged = true
			case what < 8 && l.committed:
				l.snapshots = append(l.snapshots, h.snapshot(ref, name))
			case what < 9 && l.committed:
				h.remove(ref, name, catalog.DeleteBaseOnly)
				l.committed = false
			}
		}
		for range 5 {
			r := catalog.ListRequest{
				Prefix:    rapid.StringMatching(`[ab/é~]{0,2}`).Draw(rt, "prefix"),
				Delimiter: rapid.SampledFrom([]string{"", "/", "a", "//", "é", "ab"}).Draw(rt, "delimiter"),
				Max:       rapid.IntRange(1, 6).Draw(rt, "max"),
				Snapshots: rapid.Bool().Draw(rt, "snapshots"), Uncommitted: rapid.Bool().Draw(rt, "uncommitted"), BaseFirst: rapid.Bool().Draw(rt, "base first"),
			}
			if diff := cmp.Diff(m.list(r), h.list(ref, r)); diff != "" {
				rt.Fatalf("List(%+v) (-want +got):\n%s", r, diff)
			}
		}
	})
}
