package gitguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/repo"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
)

// counted counts the calls of a list.
type counted struct {
	leasehold.Lister
	calls int
}

func (c *counted) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	c.calls++
	return c.Lister.List(ctx, r)
}

// openMemory opens an empty store.
func openMemory(t *testing.T) *local.Engine {
	t.Helper()
	s := memory.Open(nil)
	t.Cleanup(func() { s.Close() })
	return s
}

func hold(t *testing.T, s leasehold.Store, holder string, claims ...leasehold.Claim) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Claims: claims, Holder: holder, TTL: leasehold.Infinite})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCheck(t *testing.T) {
	s := openMemory(t)
	hold(t, s, "anna", leasehold.Paths("shop", "src/**", "go.mod")...)
	hold(t, s, "reader", leasehold.Claim{Namespace: "shop", Pattern: "docs/*.md", Mode: leasehold.Shared})
	hold(t, s, "star", leasehold.Paths("shop", "odd/a*b")...)
	hold(t, s, "elsewhere", leasehold.Paths("other", "**")...)
	hold(t, s, "me", leasehold.Paths("shop", "mine")...)
	hold(t, s, "claude:7/review", leasehold.Paths("shop", "sub")...)
	env := hold(t, s, "shell", leasehold.Paths("shop", "env")...)
	ended := hold(t, s, "gone", leasehold.Paths("shop", "ended")...)
	if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: ended.ID}); err != nil {
		t.Fatal(err)
	}
	own := Owner{Holders: []string{"me", "claude:7"}, Resource: env.Resource, Token: env.Token}

	deep := strings.Repeat("d/", 80) + "file"
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{nil, ""},
		{[]string{"README.md"}, ""},
		{[]string{"mine", "sub", "env", "ended"}, ""},
		{[]string{"src/a\nb/c.go"}, `"src/a\nb/c.go" by anna`},
		{[]string{"src"}, `"src" by anna`},
		{[]string{"z", "src/b", "go.mod", "src/a"}, `"go.mod" by anna, "src/a" by anna, "src/b" by anna`},
		{[]string{"docs/x.md", "docs/deep/x.md"}, `"docs/x.md" by reader`},
		{[]string{"odd/a*b"}, `"odd/a*b" by star`},
		{[]string{"odd/axb", "odd/*"}, `"odd/axb" by star`},
		{[]string{"odd/*/x", "odd/**"}, ""},
		{[]string{"src/\xff"}, `"src/\xff" by anna`},
		{[]string{"src/" + deep, "src/" + deep + "2"}, fmt.Sprintf("%q by anna, %q by anna", "src/"+deep, "src/"+deep+"2")},
		{[]string{deep}, ""},
	} {
		lister := &counted{Lister: s}
		found, err := Check(t.Context(), lister, "shop", c.paths, own)
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%q by %s", f.Path, f.Lease.Holder))
		}
		if text := strings.Join(got, ", "); err != nil || text != c.want || lister.calls > 1 {
			t.Errorf("Check(%.200q) = %s, %v in %d calls, want %s in one", c.paths, text, err, lister.calls, c.want)
		}
	}
	stranger, err := Check(t.Context(), s, "shop", []string{"mine", "sub", "env"}, Owner{Holders: []string{"claude"}})
	if err != nil || len(stranger) != 3 {
		t.Errorf("Check for a stranger = %v, %v, want three", stranger, err)
	}
}

// More leases than a page has.
func TestCheckPages(t *testing.T) {
	s := openMemory(t)
	for i := range leasehold.MaxPage + 1 {
		hold(t, s, "anna", leasehold.Paths("shop", fmt.Sprintf("f/%d", i))...)
	}
	lister := &counted{Lister: s}
	found, err := Check(t.Context(), lister, "shop", []string{"f/0", fmt.Sprint("f/", leasehold.MaxPage)}, Owner{})
	if err != nil || len(found) != 2 || lister.calls != 2 {
		t.Errorf("Check = %v, %v in %d calls, want both paths in two", found, err, lister.calls)
	}
}

// claimless is a store without path sets: hooks acquire plain names there.
type claimless struct{ leases []leasehold.Lease }

func (c claimless) List(_ context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	if r.Namespace != "" {
		return leasehold.LeasePage{}, &leasehold.Error{Reason: leasehold.ReasonUnsupported}
	}
	return leasehold.LeasePage{Leases: slices.DeleteFunc(slices.Clone(c.leases), func(l leasehold.Lease) bool { return !strings.HasPrefix(l.Resource, r.Prefix) })}, nil
}

func TestCheckWithoutPathSets(t *testing.T) {
	store := claimless{[]leasehold.Lease{
		{Resource: "shop/a.go", Holder: "anna", State: leasehold.StateActive},
		{Resource: "shop/b.go", Holder: "anna", State: leasehold.StateReleased},
		{Resource: "other/c.go", Holder: "anna", State: leasehold.StateActive},
	}}
	found, err := Check(t.Context(), store, "shop", []string{"a.go", "b.go", "c.go"}, Owner{})
	if err != nil || len(found) != 1 || found[0].Path != "a.go" {
		t.Errorf("Check = %v, %v, want a.go", found, err)
	}
	// A name too long for a resource is a shorter one, for the hooks and for the guard.
	team, long := strings.Repeat("t", 100), strings.Repeat(strings.Repeat("d", 200)+"/", 4)+strings.Repeat("x", 200)
	name := repo.PlainName(repo.Name{Namespace: team, Path: long}.Claim())
	store = claimless{[]leasehold.Lease{{Resource: name, Holder: "anna", State: leasehold.StateActive}}}
	if found, err = Check(t.Context(), store, team, []string{"a.go", long, long + "y"}, Owner{}); err != nil || len(found) != 1 || found[0].Path != long {
		t.Errorf("Check of a long name = %v, %v, want it found", found, err)
	}
}

type failing struct{}

func (failing) List(context.Context, leasehold.ListRequest) (leasehold.LeasePage, error) {
	return leasehold.LeasePage{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable}
}

// A commit of very many files beside very many leases is checked at once: each pair would
// take an hour.
func TestCheckOfAHugeCommit(t *testing.T) {
	const files, leases = 100_000, 20_000
	paths := make([]string, files)
	for i := range paths {
		paths[i] = fmt.Sprintf("src/%d.go", i)
	}
	var page leasehold.LeasePage
	for i := range leases {
		page.Leases = append(page.Leases, leasehold.Lease{Holder: "anna", State: leasehold.StateActive, Claims: leasehold.Paths("shop", fmt.Sprintf("src/%d.go", files-1-i), fmt.Sprintf("docs/%d.md", i))})
	}
	found, err := Check(t.Context(), listed{page}, "shop", paths, Owner{})
	if err != nil || len(found) != leases || found[0].Pattern != found[0].Path {
		t.Errorf("Check = %d conflicts, %v, want %d", len(found), err, leases)
	}
}

// listed is a store with one page of leases.
type listed struct{ page leasehold.LeasePage }

func (l listed) List(context.Context, leasehold.ListRequest) (leasehold.LeasePage, error) {
	return l.page, nil
}

func TestCheckFails(t *testing.T) {
	if _, err := Check(t.Context(), failing{}, "shop", []string{"a"}, Owner{}); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Check = %v, want ErrUnavailable", err)
	}
}

func TestEnvironmentOwner(t *testing.T) {
	env := map[string]string{
		"LEASEHOLD_HOLDER": "anna", "LEASEHOLD_TOKEN": "7", "LEASEHOLD_RESOURCE": "__set__1",
		"CLAUDE_CODE_SESSION_ID": "c", "CODEX_THREAD_ID": "x", "CURSOR_CONVERSATION_ID": "u",
	}
	own := EnvironmentOwner(func(name string) string { return env[name] })
	for holder, want := range map[string]bool{
		"anna": true, "anna/1": true, "annabel": false, "claude:c": true, "claude:c/review": true, "claude:cc": false,
		"codex:x": true, "cursor:u": true, "claude:x": false,
	} {
		if got := own.Owns(leasehold.Lease{Holder: holder}); got != want {
			t.Errorf("Owns(%q) = %v, want %v", holder, got, want)
		}
	}
	if !own.Owns(leasehold.Lease{Holder: "x", Resource: "__set__1", Token: 7}) || own.Owns(leasehold.Lease{Holder: "x", Resource: "__set__2", Token: 7}) {
		t.Error("the lease of the environment is not owned, or another is")
	}
	if nobody := EnvironmentOwner(func(string) string { return "" }); nobody.Owns(leasehold.Lease{}) {
		t.Error("an empty environment owns a lease without a holder")
	}
}

func FuzzConflicts(f *testing.F) {
	f.Add("src/a.go", "src/**")
	f.Add("a*b", "a*b")
	f.Fuzz(func(t *testing.T, path, pattern string) {
		claim := leasehold.Claim{Namespace: "n", Pattern: pattern}
		if leasehold.CheckClaims([]leasehold.Claim{claim}) != nil {
			return
		}
		l := leasehold.Lease{Claims: []leasehold.Claim{claim}}
		if pattern == "**" && len(newTouched("n", []string{path}).conflicts(l)) == 0 {
			t.Fatalf("%q does not cover %q", pattern, path)
		}
		if pattern == path && len(newTouched("n", []string{path}).conflicts(l)) == 0 {
			t.Fatalf("%q does not cover itself", pattern)
		}
		if !strings.Contains(pattern, "*") && pattern != path && len(newTouched("n", []string{path}).conflicts(l)) > 0 {
			t.Fatalf("%q covers %q", pattern, path)
		}
	})
}
