package gitguard

import (
	"context"
	"errors"
	"slices"
	"strings"

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
				found = append(found, conflicts(l, namespace, paths)...)
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

// conflicts returns the paths that one lease covers.
func conflicts(l leasehold.Lease, namespace string, paths []string) (found []Conflict) {
	for _, path := range paths {
		if plain := repo.Pattern(path); l.Claims == nil && l.Resource == namespace+"/"+plain {
			found = append(found, Conflict{path, plain, l})
			continue
		}
		exact := literal(namespace, path)
		at := slices.IndexFunc(l.Claims, func(c leasehold.Claim) bool { return machine.Overlaps(exact, c) })
		if at >= 0 {
			found = append(found, Conflict{path, l.Claims[at].Pattern, l})
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
