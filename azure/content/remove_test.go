package content

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemove(t *testing.T) {
	s := newStore(t, nil)
	long := noise(1, InlineLimit+1)
	a, b, small := mustWrite(t, s, long), mustWrite(t, s, long), mustWrite(t, s, noise(1, 3))
	for _, ids := range [][]int64{nil, {0}, {-1}, {-5000}, {small.ID}, {1 << 62}, {a.ID, a.ID, 77}, {a.ID}} {
		if err := s.Remove(ids...); err != nil {
			t.Errorf("Remove(%d) = %v", ids, err)
		}
	}
	if err := s.Check(a); !errors.Is(err, ErrDamaged) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Check() of a removed chunk = %v, want %v", err, ErrDamaged)
	}
	if err := errors.Join(s.Check(b), s.Check(small)); err != nil {
		t.Errorf("Check() of the others = %v", err)
	}
	s.Discard(small)
	s.Discard(b)
	if left := tree(t, s.dir); len(left) > 0 {
		t.Errorf("Discard() left %q", left)
	}
}

// TestRemoveGoesOn: one that cannot be removed does not keep the others.
func TestRemoveGoesOn(t *testing.T) {
	s := newStore(t, throwAway)
	a, b := mustWrite(t, s, noise(1, InlineLimit+1)), mustWrite(t, s, noise(1, InlineLimit+1))
	s.Remove(a.ID)
	mkfile(t, s.path(a.ID)+"/in the way", nil)
	if err := s.Remove(a.ID, b.ID); err == nil {
		t.Error("Remove() of a directory succeeded")
	}
	if _, err := os.Stat(s.path(b.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Remove() kept the other: %v", err)
	}
}

// TestFoldersGo: an empty folder goes when the ids are past it, not before.
func TestFoldersGo(t *testing.T) {
	s := newStore(t, throwAway)
	long := noise(1, InlineLimit+1)
	folders := func() []string {
		var names []string
		entries, _ := os.ReadDir(s.chunks)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, folders()); diff != "" {
			t.Errorf("folders %s (-want +got):\n%s", when, diff)
		}
	}
	a := mustWrite(t, s, long)
	s.Discard(a)
	expect("with ids to come", "0")
	a = mustWrite(t, s, long)
	b := mustWrite(t, s, long)
	s.Reserve(2500)
	c := mustWrite(t, s, long)
	s.Remove(a.ID)
	expect("with a file left", "0", "2")
	s.Remove(b.ID)
	expect("after the last file", "2")
	s.Reserve(3000)
	s.Remove(c.ID)
	expect("of which the last was the newest")
	d := mustWrite(t, s, long)
	expect("with a new one", "3")
	if err := s.Check(d); err != nil {
		t.Error(err)
	}
}

func TestClear(t *testing.T) {
	s := newStore(t, nil)
	long := noise(1, InlineLimit+1)
	old := mustWrite(t, s, long)
	if err := s.Clear(); err != nil {
		t.Fatalf("Clear() = %v", err)
	}
	if left := tree(t, s.dir); len(left) > 0 {
		t.Errorf("Clear() left %q", left)
	}
	c := mustWrite(t, s, long)
	if err := s.Check(c); err != nil || c.ID <= old.ID {
		t.Errorf("a chunk after Clear(): id %d after %d, %v", c.ID, old.ID, err)
	}
	if err := s.Clear(); err != nil {
		t.Errorf("Clear() again = %v", err)
	}
}

func TestClearFails(t *testing.T) {
	for name, harm := range map[string]func(*Store){
		"no tmp":    func(s *Store) { os.Remove(s.tmp) },
		"no chunks": func(s *Store) { os.Remove(s.chunks) },
		"sync":      func(s *Store) { s.sync.dir = failing(0) },
	} {
		s := newStore(t, nil)
		harm(s)
		if err := s.Clear(); err == nil {
			t.Errorf("Clear() with %s succeeded", name)
		}
	}
}
