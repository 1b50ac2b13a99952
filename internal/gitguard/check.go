package gitguard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/repo"
	"github.com/leasehold/leasehold/machine"
)

// Conflict is a path that another holds.
type Conflict struct {
	Path    string
	Pattern string // of the lease: what covers the path
	Lease   leasehold.Lease
}

// Check returns the paths on which others have a lease, by path. It lists the leases
// around the paths, one call for each page of them, however many paths there are. A
// shared lease counts: who has one relies on the file to stay as it is.
func Check(ctx context.Context, store leasehold.Lister, namespace string, paths []string, own Owner) ([]Conflict, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	var found []Conflict
	all := newTouched(namespace, paths)
	request := leasehold.ListRequest{Namespace: namespace, Path: around(paths), Limit: leasehold.MaxPage}
	for {
		page, err := store.List(ctx, request)
		if errors.Is(err, leasehold.ErrUnsupported) && request.Namespace != "" {
			// A store without path sets: hooks acquire plain names there.
			request = leasehold.ListRequest{Prefix: namespace + "/", Limit: leasehold.MaxPage}
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, l := range page.Leases {
			if l.State.Locked() && !own.Owns(l) {
				found = append(found, all.conflicts(l)...)
			}
		}
		if page.Cursor == "" {
			break
		}
		request.Cursor = page.Cursor
	}
	slices.SortStableFunc(found, func(a, b Conflict) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// touched are the paths of a commit or push, found by name: most leases are on one file,
// and to compare each of them with each path takes minutes for a large commit.
type touched struct {
	namespace string
	paths     []string
	exact     []leasehold.Claim // of paths
	named     map[string][]int  // indexes of paths
	plain     func() map[string][]int
}

func newTouched(namespace string, paths []string) *touched {
	t := &touched{namespace: namespace, paths: paths, named: map[string][]int{}}
	for i, path := range paths {
		t.exact = append(t.exact, literal(namespace, path))
		t.named[path] = append(t.named[path], i)
	}
	t.plain = sync.OnceValue(func() map[string][]int {
		plain := map[string][]int{}
		for i, path := range paths {
			name := repo.PlainName(repo.Name{Namespace: namespace, Path: path}.Claim())
			plain[name] = append(plain[name], i)
		}
		return plain
	})
	return t
}

// conflicts returns the paths that one lease covers, each with the first claim that does.
func (t *touched) conflicts(l leasehold.Lease) (found []Conflict) {
	if l.Claims == nil {
		for _, i := range t.plain()[l.Resource] {
			found = append(found, Conflict{t.paths[i], repo.Pattern(t.paths[i]), l})
		}
		return found
	}
	seen := map[int]bool{}
	for _, c := range l.Claims {
		for _, i := range t.covered(c) {
			if !seen[i] {
				seen[i] = true
				found = append(found, Conflict{t.paths[i], c.Pattern, l})
			}
		}
	}
	return found
}

// covered returns the indexes of the paths that a claim covers.
func (t *touched) covered(c leasehold.Claim) (found []int) {
	switch {
	case c.Namespace != t.namespace:
		return nil
	case !strings.Contains(c.Pattern, "*"):
		return t.named[c.Pattern]
	}
	for i, exact := range t.exact {
		if machine.Overlaps(exact, c) {
			found = append(found, i)
		}
	}
	return found
}

// literal is a claim that only the path fits. In a claim * is a wildcard; no path and
// no pattern has a zero byte, which stands for * here and fits the wildcards of others.
func literal(namespace, path string) leasehold.Claim {
	return leasehold.Claim{Namespace: namespace, Pattern: strings.ReplaceAll(path, "*", "\x00")}
}

// around is a pattern that covers all the paths: of one the path, of several the
// deepest folder that they have in common.
func around(paths []string) string {
	if len(paths) == 1 {
		return repo.Pattern(paths[0])
	}
	common := strings.Split(paths[0], "/")
	for _, path := range paths[1:] {
		parts := strings.Split(path, "/")
		n := 0
		for n < min(len(common), len(parts)) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	if len(common) == 0 {
		return ""
	}
	pattern := repo.Pattern(strings.Join(common, "/"))
	if strings.HasSuffix(pattern, "**") || strings.Count(pattern, "/") >= leasehold.MaxSegments-1 || len(pattern) > leasehold.MaxPattern-len("/**") {
		return pattern
	}
	return pattern + "/**"
}
