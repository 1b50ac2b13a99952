package catalog_test

import (
	"fmt"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/catalog/tagquery"
	"pgregory.net/rapid"
)

func (h *harness) tagged(ref catalog.Ref, tags map[string]string) {
	h.t.Helper()
	if _, err := h.PutBlob(h.t.Context(), ref, catalog.New{Tags: tags}, h.Accept(nil), catalog.Access{}); err != nil {
		h.t.Fatalf("PutBlob(%v) = %v", ref, err)
	}
}

// find pages through what is found, as container/name.
func (h *harness) find(ref catalog.Ref, where string, n int) []string {
	h.t.Helper()
	var all []string
	for marker := ""; ; {
		page, err := h.FindByTags(h.t.Context(), ref, where, marker, n)
		if err != nil {
			h.t.Fatalf("FindByTags(%s) = %v", where, err)
		}
		if n > 0 && len(page.Blobs) > n {
			h.t.Fatalf("FindByTags(%s) has %d blobs on a page of %d", where, len(page.Blobs), n)
		}
		for _, i := range page.Blobs {
			all = append(all, i.Container+"/"+i.Blob)
		}
		if marker = page.Next; marker == "" {
			return all
		}
	}
}

func TestFindByTags(t *testing.T) {
	h := newHarness(t)
	in := func(container, blob string) catalog.Ref {
		return catalog.Ref{Account: "acct", Container: container, Blob: blob}
	}
	for _, container := range []string{"aaa", "bbb", "ccc"} {
		h.container(in(container, ""))
		for i := range 4 {
			h.tagged(in(container, fmt.Sprintf("n%d", i)), map[string]string{"rank": fmt.Sprintf("%03d", i), "in": container, "all": "yes"})
		}
		h.put(in(container, ""), "untagged", "")
	}
	other := catalog.Ref{Account: "other", Container: "aaa", Blob: "n1"}
	h.container(other)
	h.tagged(other, map[string]string{"all": "yes"})
	h.snapshot(in("aaa", ""), "n1") // is not found
	h.tagged(in("aaa", "n3"), map[string]string{"all": "no"})
	h.remove(in("aaa", ""), "n2", catalog.DeleteBase)
	if err := h.DeleteContainer(t.Context(), in("ccc", ""), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		container, where string
		want             []string
	}{
		{"", `"all" = 'yes'`, []string{"aaa/n0", "aaa/n1", "bbb/n0", "bbb/n1", "bbb/n2", "bbb/n3"}},
		{"bbb", `"all" = 'yes'`, []string{"bbb/n0", "bbb/n1", "bbb/n2", "bbb/n3"}},
		{"", `@container = 'bbb' AND "all" = 'yes'`, []string{"bbb/n0", "bbb/n1", "bbb/n2", "bbb/n3"}},
		{"aaa", `@container = 'bbb' AND "all" = 'yes'`, nil},
		{"", `@container = 'none' AND "all" = 'yes'`, nil},
		{"", `rank > '000' AND "all" = 'yes'`, []string{"aaa/n1", "bbb/n1", "bbb/n2", "bbb/n3"}},
		{"", `rank > '000' AND rank <= '002'`, []string{"aaa/n1", "bbb/n1", "bbb/n2"}},
		{"", `rank >= '001'`, []string{"aaa/n1", "bbb/n1", "bbb/n2", "bbb/n3"}},
		{"", `rank < '001'`, []string{"aaa/n0", "bbb/n0"}},
		{"", `rank <= '001'`, []string{"aaa/n0", "aaa/n1", "bbb/n0", "bbb/n1"}},
		{"", `"all" = 'no'`, []string{"aaa/n3"}},
		{"", `"in" = 'aaa' and "in" = 'bbb'`, nil},
		{"", `nothing = 'x'`, nil},
	} {
		for n := 0; n < 6; n++ {
			if diff := cmp.Diff(test.want, h.find(in(test.container, ""), test.where, n)); diff != "" {
				t.Errorf("FindByTags(%q, %s), %d a page (-want +got):\n%s", test.container, test.where, n, diff)
			}
		}
	}
	for _, where := range []string{``, `a`, `a = 'b' OR a = 'c'`, `a <> 'b'`, `@container = 'aaa'`, `@container > 'aaa' AND a = 'b'`} {
		_, err := h.FindByTags(t.Context(), in("", ""), where, "", 0)
		wantCode(t, "FindByTags("+where+")", err, azerr.InvalidQueryParameterValue)
	}
	_, err := h.FindByTags(t.Context(), in("none", ""), "a = 'b'", "", 0)
	wantCode(t, "FindByTags in no container", err, azerr.ContainerNotFound)
	h.checkClean()
}

func TestFindAgreesWithMatch(t *testing.T) {
	h := newHarness(t)
	round := 0
	tags := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c d"}), rapid.StringMatching(`[xyz]{0,2}`), 0, 3)
	rapid.Check(t, func(rt *rapid.T) {
		round++
		account := fmt.Sprintf("acct%d", round)
		blobs := map[string]map[string]string{}
		for c := range 2 {
			container := catalog.Ref{Account: account, Container: fmt.Sprintf("tags-%d", c)}
			h.container(container)
			for i := range rapid.IntRange(0, 6).Draw(rt, "blobs") {
				ref := container
				ref.Blob = fmt.Sprintf("b%d", i)
				for range rapid.IntRange(1, 2).Draw(rt, "times") {
					blobs[container.Container+"/"+ref.Blob] = tags.Draw(rt, "tags")
					h.tagged(ref, blobs[container.Container+"/"+ref.Blob])
				}
			}
		}
		for range 5 {
			where := ""
			for i := range rapid.IntRange(1, 3).Draw(rt, "terms") {
				if i > 0 {
					where += " AND "
				}
				where += fmt.Sprintf("\"%s\" %s '%s'", rapid.SampledFrom([]string{"a", "b", "c d"}).Draw(rt, "key"),
					rapid.SampledFrom([]string{"=", ">", ">=", "<", "<="}).Draw(rt, "op"), rapid.StringMatching(`[xyz]{0,2}`).Draw(rt, "value"))
			}
			w, err := tagquery.Parse(where)
			if err != nil {
				rt.Fatalf("Parse(%s) = %v", where, err)
			}
			var want []string
			for name, has := range blobs {
				if w.Match(has) {
					want = append(want, name)
				}
			}
			got := h.find(catalog.Ref{Account: account}, where, rapid.IntRange(1, 4).Draw(rt, "max"))
			sort.Strings(want)
			sort.Strings(got)
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("FindByTags(%s) (-want +got):\n%s", where, diff)
			}
		}
	})
}
