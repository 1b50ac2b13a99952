//go:build unix

package sets

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/store/sqlite/shared"
)

func openEngine(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func acquire(t *testing.T, s leasehold.Store, holder string, claims []leasehold.Claim) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Claims: claims, Holder: holder, TTL: time.Hour})
	if err != nil {
		t.Fatalf("Acquire(%v) = %v", claims, err)
	}
	return g
}

func release(t *testing.T, s leasehold.Store, g leasehold.Grant, note string) {
	t.Helper()
	if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Note: note}); err != nil {
		t.Fatalf("Release(%s) = %v", g.Resource, err)
	}
}

// TestFileWithSets: what does not know sets does not open the file while one is live,
// neither in shared mode nor to move its leases. When it has ended it does, and what
// the set left for the next holder outlives both.
func TestFileWithSets(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "leases.db"), filepath.Join(dir, "target.db")
	s := openEngine(t, path)
	claims := append(leasehold.Paths("repo", "src/**", "docs/*.md"), leasehold.Resources("go.mod")...)
	set := acquire(t, s, "ann", claims)
	plain, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "README", Holder: "ann", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()

	for what, try := range map[string]func() (leasehold.Store, error){
		"shared mode": func() (leasehold.Store, error) { return shared.Open(t.Context(), path, nil) },
		"the URL": func() (leasehold.Store, error) {
			return open.Store(t.Context(), open.SQLiteURL(path)+"?mode=shared", nil)
		},
		"a move": func() (leasehold.Store, error) { return open.Move(t.Context(), open.SQLiteURL(path), nil) },
	} {
		opened, err := try()
		if err == nil {
			opened.Close()
		}
		if !errors.Is(err, sqlite.ErrSets) || !strings.Contains(err.Error(), "leasehold break") {
			t.Errorf("%s opens a file with a live set: %v", what, err)
		}
	}

	s = openEngine(t, path) // it was not changed
	if l, err := s.Find(t.Context(), set.ID); err != nil || l.State != leasehold.StateActive || !cmp.Equal(l.Claims, claims) {
		t.Errorf("Find() of the set = %+v, %v, want it active", l, err)
	}
	release(t, s, set, "src is half done")
	s.Close()

	moveAll(t, path, target)
	s = openEngine(t, target)
	if l, err := s.Find(t.Context(), plain.ID); err != nil || l.Token != plain.Token {
		t.Errorf("Find() of the plain lease after the move = %+v, %v", l, err)
	}
	next := acquire(t, s, "ben", leasehold.Paths("repo", "src/auth/**"))
	want := []leasehold.Note{{From: "ann", Text: "src is half done"}}
	if diff := cmp.Diff(want, next.Notes); diff != "" || next.Token <= plain.Token {
		t.Errorf("the next holder, with token %d after %d, is told (-want +got):\n%s", next.Token, plain.Token, diff)
	}
}

func moveAll(t *testing.T, from, to string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	source, err := open.Move(ctx, open.SQLiteURL(from), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := open.Move(ctx, open.SQLiteURL(to), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if _, err := move.Run(ctx, source, target, move.Options{From: from, To: to}); err != nil {
		t.Fatalf("Run() = %v", err)
	}
}
