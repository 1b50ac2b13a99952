package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// shown writes an entry as name, name@number of the snapshot, or prefix*.
func shown(e catalog.ListEntry) string {
	switch {
	case e.Item == nil:
		return e.Prefix + "*"
	case e.IsSnapshot():
		return e.Blob + "@" + e.Snapshot.String()
	}
	return e.Blob
}

// list pages through a list to its end.
func (h *harness) list(ref catalog.Ref, r catalog.ListRequest) []string {
	h.t.Helper()
	var all []string
	for {
		page, err := h.List(h.t.Context(), ref, r)
		if err != nil {
			h.t.Fatalf("List(%+v) = %v", r, err)
		}
		if r.Max > 0 && len(page.Entries) > r.Max {
			h.t.Fatalf("List(%+v) has %d entries on a page", r, len(page.Entries))
		}
		if page.Next != "" && len(page.Entries) < r.Max {
			h.t.Fatalf("List(%+v) has %d entries on a page that is not the last", r, len(page.Entries))
		}
		for _, e := range page.Entries {
			all = append(all, shown(e))
		}
		if page.Next == "" {
			return all
		}
		r.Marker = page.Next
	}
}

func (h *harness) snapshot(container catalog.Ref, name string) catalog.Snapshot {
	h.t.Helper()
	container.Blob = name
	s, err := h.Snapshot(h.t.Context(), container, nil, catalog.Access{})
	if err != nil {
		h.t.Fatalf("Snapshot(%q) = %v", name, err)
	}
	return s.Snapshot
}

func (h *harness) stage(container catalog.Ref, name string) {
	h.t.Helper()
	container.Blob = name
	if err := h.StageBlock(h.t.Context(), container, "AAAA", h.Accept([]byte("x")), catalog.Access{}); err != nil {
		h.t.Fatalf("StageBlock(%q) = %v", name, err)
	}
}

func (h *harness) remove(container catalog.Ref, name string, how catalog.Deletion) {
	h.t.Helper()
	container.Blob = name
	if err := h.Delete(h.t.Context(), container, how, catalog.Access{}); err != nil {
		h.t.Fatalf("Delete(%q) = %v", name, err)
	}
}

func TestListFoldsAndOrders(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "list"}
	h.container(ref)
	for _, name := range []string{"b", "a", "a/1", "a/2/x", "a/2/y", "a0", "A", "é", "z//q", "日/本", "a/", "/lead", "\ufffd", "\ufffdx"} {
		h.put(ref, name, name)
	}
	h.stage(ref, "c/draft")
	for _, test := range []struct {
		what string
		r    catalog.ListRequest
		want []string
	}{
		{"all", catalog.ListRequest{}, []string{"/lead", "A", "a", "a/", "a/1", "a/2/x", "a/2/y", "a0", "b", "z//q", "é", "日/本", "\ufffd", "\ufffdx"}},
		{"a prefix", catalog.ListRequest{Prefix: "a/"}, []string{"a/", "a/1", "a/2/x", "a/2/y"}},
		{"folded", catalog.ListRequest{Delimiter: "/"}, []string{"/*", "A", "a", "a/*", "a0", "b", "z/*", "é", "日/*", "\ufffd", "\ufffdx"}},
		{"folded below a prefix", catalog.ListRequest{Prefix: "a/", Delimiter: "/"}, []string{"a/", "a/1", "a/2/*"}},
		{"folded at half a name", catalog.ListRequest{Prefix: "a/2", Delimiter: "/"}, []string{"a/2/*"}},
		{"a long delimiter", catalog.ListRequest{Delimiter: "//"}, []string{"/lead", "A", "a", "a/", "a/1", "a/2/x", "a/2/y", "a0", "b", "z//*", "é", "日/本", "\ufffd", "\ufffdx"}},
		{"a prefix that looks like no character", catalog.ListRequest{Prefix: "\ufffd", Delimiter: "/"}, []string{"\ufffd", "\ufffdx"}},
		{"a prefix of half a character", catalog.ListRequest{Prefix: "\xc3", Delimiter: "/"}, []string{"é"}},
		{"a prefix of no character", catalog.ListRequest{Prefix: "\xff", Delimiter: "/"}, nil},
		{"a delimiter of no character", catalog.ListRequest{Prefix: "\xe6", Delimiter: "\xff"}, []string{"日/本"}},
		{"a prefix of nothing", catalog.ListRequest{Prefix: "nothing", Delimiter: "/"}, nil},
		{"uncommitted too", catalog.ListRequest{Prefix: "c", Uncommitted: true}, []string{"c/draft"}},
		{"uncommitted, folded", catalog.ListRequest{Prefix: "c", Delimiter: "/", Uncommitted: true}, []string{"c/*"}},
		{"uncommitted, not asked for", catalog.ListRequest{Prefix: "c", Delimiter: "/"}, nil},
	} {
		for _, n := range []int{0, 1, 2, 3, 5000, 5001} {
			test.r.Max = n
			if diff := cmp.Diff(test.want, h.list(ref, test.r)); diff != "" {
				t.Errorf("%s, %d a page (-want +got):\n%s", test.what, n, diff)
			}
		}
	}
}

func TestListSnapshots(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "list"}
	h.container(ref)
	ids := map[string][]string{}
	for _, name := range []string{"a", "gone", "m"} {
		h.put(ref, name, name)
		for range 3 {
			ids[name] = append(ids[name], name+"@"+h.snapshot(ref, name).String())
		}
	}
	h.put(ref, "plain", "")
	h.remove(ref, "gone", catalog.DeleteBaseOnly)
	last := slices.Concat(ids["a"], []string{"a"}, ids["gone"], ids["m"], []string{"m", "plain"})
	first := slices.Concat([]string{"a"}, ids["a"], ids["gone"], []string{"m"}, ids["m"], []string{"plain"})
	for n := 1; n <= 13; n++ {
		got := h.list(ref, catalog.ListRequest{Snapshots: true, Max: n})
		if diff := cmp.Diff(last, got); diff != "" {
			t.Errorf("snapshots, %d a page (-want +got):\n%s", n, diff)
		}
		got = h.list(ref, catalog.ListRequest{Snapshots: true, BaseFirst: true, Max: n})
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("bases first, %d a page (-want +got):\n%s", n, diff)
		}
		got = h.list(ref, catalog.ListRequest{BaseFirst: true, Max: n})
		if diff := cmp.Diff([]string{"a", "m", "plain"}, got); diff != "" {
			t.Errorf("no snapshots, %d a page (-want +got):\n%s", n, diff)
		}
	}
}

func TestListSkipsLongRuns(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "list"}
	h.fill(ref, "big/%06d", 3000)
	h.fill(ref, "bigger/%06d", 1000)
	h.put(ref, "many", "x")
	h.copies(ref, "many", 2000)
	h.put(ref, "z", "z")
	for _, n := range []int{1, 2, 50} {
		want := []string{"big/*", "bigger/*", "many", "z"}
		if diff := cmp.Diff(want, h.list(ref, catalog.ListRequest{Delimiter: "/", Max: n})); diff != "" {
			t.Errorf("%d a page (-want +got):\n%s", n, diff)
		}
	}
	if got := len(h.list(ref, catalog.ListRequest{Snapshots: true, Max: 999})); got != 6002 {
		t.Errorf("%d entries with snapshots, want 6002", got)
	}
}

func TestListWhileBlobsComeAndGo(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "list"}
	h.container(ref)
	var stay []string
	for i := range 20 {
		stay = append(stay, fmt.Sprintf("s%02d", i))
		h.put(ref, stay[i], "")
		h.put(ref, stay[i]+"-goes", "")
	}
	var got []string
	r := catalog.ListRequest{Max: 3}
	for page := 0; ; page++ {
		p, err := h.List(t.Context(), ref, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Entries {
			if !strings.Contains(e.Blob, "-") {
				got = append(got, e.Blob)
			} else if strings.HasSuffix(e.Blob, "-goes") {
				h.remove(ref, e.Blob, catalog.DeleteBase) // perhaps the one that the marker names
			}
		}
		h.put(ref, fmt.Sprintf("s%02d-comes", page), "")
		if r.Marker = p.Next; r.Marker == "" {
			break
		}
	}
	if diff := cmp.Diff(stay, got); diff != "" {
		t.Errorf("blobs that stayed all the time (-want +got):\n%s", diff)
	}
}

func TestListShowsLeases(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "list"}
	h.container(ref)
	held := ref
	held.Blob = "held"
	h.put(ref, "free", "")
	h.put(ref, "held", "")
	h.snapshot(ref, "held")
	_, err := h.Lease(t.Context(), held, catalog.LeaseRequest{Action: catalog.Acquire, Duration: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	page, err := h.List(t.Context(), ref, catalog.ListRequest{Snapshots: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range page.Entries {
		got = append(got, e.Lease.State+" "+e.Lease.Duration)
	}
	if diff := cmp.Diff([]string{"available ", " ", "leased fixed"}, got); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
}

func TestListRefusesForeignMarkers(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "list"}
	h.container(ref)
	h.put(ref, "a", "")
	h.put(ref, "b", "")
	page, err := h.List(t.Context(), ref, catalog.ListRequest{Max: 1})
	if err != nil || page.Next == "" {
		t.Fatalf("List = %+v, %v", page, err)
	}
	for _, marker := range []string{"a", "2!88!MDAwMDAz", page.Next + "A", page.Next[:len(page.Next)-2], strings.ToUpper(page.Next), "====", "AAAAAAAAAAAA"} {
		_, err := h.List(t.Context(), ref, catalog.ListRequest{Marker: marker})
		wantCode(t, fmt.Sprintf("List(marker %q)", marker), err, azerr.InvalidQueryParameterValue)
	}
	_, err = h.ListContainers(t.Context(), "acct", "", page.Next, 0)
	wantCode(t, "ListContainers with a marker of List", err, azerr.InvalidQueryParameterValue)
	_, err = h.FindByTags(t.Context(), ref, "a = 'b'", page.Next, 0)
	wantCode(t, "FindByTags with a marker of List", err, azerr.InvalidQueryParameterValue)
	_, err = h.List(t.Context(), catalog.Ref{Account: "acct", Container: "none"}, catalog.ListRequest{})
	wantCode(t, "List(none)", err, azerr.ContainerNotFound)
	// A marker of a list with another prefix is a place all the same.
	if got := h.list(ref, catalog.ListRequest{Prefix: "b", Marker: page.Next}); len(got) != 1 || got[0] != "b" {
		t.Errorf("List(b) from before it = %q", got)
	}
}

func TestListContainers(t *testing.T) {
	h := newHarness(t)
	names := []string{"$logs", "$root", "abc", "abd", "abd-1", "b00"}
	for _, name := range slices.Backward(names) {
		h.container(catalog.Ref{Account: "acct", Container: name})
	}
	h.container(catalog.Ref{Account: "other", Container: "abe"})
	_, err := h.Lease(t.Context(), catalog.Ref{Account: "acct", Container: "abd"}, catalog.LeaseRequest{Action: catalog.Acquire, Duration: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.SetContainer(t.Context(), catalog.Ref{Account: "acct", Container: "abd"}, catalog.Access{}, func(d *catalog.ContainerDetails) {
		d.Metadata = map[string]string{"k": "v"}
	}); err != nil {
		t.Fatal(err)
	}
	if err := h.DeleteContainer(t.Context(), catalog.Ref{Account: "acct", Container: "b00"}, catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		prefix string
		want   []string
	}{
		{"", names[:5]}, {"ab", names[2:5]}, {"abd", names[3:5]}, {"$", names[:2]}, {"b", nil}, {"zzz", nil},
	} {
		for n := 0; n < 7; n++ {
			var got []string
			for marker := ""; ; {
				page, err := h.ListContainers(t.Context(), "acct", test.prefix, marker, n)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range page.Containers {
					got = append(got, k.Container)
					if held := k.Container == "abd"; held != (k.Lease.State == "leased") || held != (k.Metadata["k"] == "v") {
						t.Errorf("container %+v", k)
					}
				}
				if marker = page.Next; marker == "" {
					break
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ListContainers(%q), %d a page (-want +got):\n%s", test.prefix, n, diff)
			}
		}
	}
}

// A prefix stands for what the list would show: snapshots alone, whose blobs are
// gone, make one only where snapshots are asked for.
func TestListPrefixOfSnapshotsAlone(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	for _, name := range []string{"d/x", "e/a", "e/b", "e/c", "f"} {
		h.put(ref, name, name)
		h.snapshot(ref, name)
		h.snapshot(ref, name)
	}
	for _, name := range []string{"d/x", "e/a", "e/c"} {
		h.remove(ref, name, catalog.DeleteBaseOnly)
	}
	for _, max := range []int{1, 2, 100} {
		if got, want := h.list(ref, catalog.ListRequest{Delimiter: "/", Max: max}), []string{"e/*", "f"}; !slices.Equal(got, want) {
			t.Errorf("a list in pages of %d = %q, want %q", max, got, want)
		}
	}
	got := h.list(ref, catalog.ListRequest{Delimiter: "/", Max: 100, Snapshots: true})
	if len(got) != 5 || !slices.Equal(got[:2], []string{"d/*", "e/*"}) {
		t.Errorf("a list with snapshots = %q, want d/*, e/* and three of f", got)
	}
}

// An error of the engine is returned as it is: it is not one of Azure's.
func TestTroubleIsNoRefusal(t *testing.T) {
	h := newHarness(t)
	ref := catalog.Ref{Account: "acct", Container: "trouble", Blob: "blob"}
	h.container(ref)
	h.empty(ref, catalog.Page, 1024)
	snapshot := h.snapshot(ref, ref.Blob)
	other := ref
	other.Blob = "append"
	h.empty(other, catalog.Append, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, call := range map[string]func() error{
		"List":           func() error { _, err := h.List(ended, ref, catalog.ListRequest{}); return err },
		"List, folded":   func() error { _, err := h.List(ended, ref, catalog.ListRequest{Delimiter: "/"}); return err },
		"ListContainers": func() error { _, err := h.ListContainers(ended, "acct", "", "", 0); return err },
		"FindByTags":     func() error { _, err := h.FindByTags(ended, ref, "a = 'b'", "", 0); return err },
		"Copy": func() error {
			_, err := h.Copy(ended, ref, catalog.CopyRequest{Source: ref}, catalog.Access{})
			return err
		},
		"AppendBlock": func() error {
			_, _, err := h.AppendBlock(ended, other, h.Accept([]byte("x")), catalog.Access{})
			return err
		},
		"Seal":                 func() error { _, err := h.Seal(ended, other, catalog.Access{}); return err },
		"PutPages":             func() error { _, err := h.PutPages(ended, ref, 0, 512, nil, catalog.Access{}); return err },
		"Resize":               func() error { _, err := h.Resize(ended, ref, 512, catalog.Access{}); return err },
		"Pages":                func() error { _, _, err := h.Pages(ended, ref, 0, 0, snapshot, catalog.Access{}); return err },
		"ServiceProperties":    func() error { _, err := h.ServiceProperties(ended, "acct"); return err },
		"SetServiceProperties": func() error { return h.SetServiceProperties(ended, "acct", nil) },
	} {
		err := call()
		if f := new(azerr.Error); err == nil || errors.As(err, &f) {
			t.Errorf("%s after the caller has gone = %v, want an error that is no answer", what, err)
		}
	}
	h.checkClean()
}
