package content

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOrphans: of the files there at Open, those without a row, in order.
func TestOrphans(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []int64{3, 999, 1000, 2001, 10_000, 9_999, 500_000} {
		mkfile(t, filepath.Join(dir, "chunks", fmt.Sprint(id/perFolder), fmt.Sprint(id)), nil)
	}
	os.MkdirAll(filepath.Join(dir, "chunks", "77"), 0o700)
	s := openStore(t, dir, nil)
	young := mustWrite(t, s, noise(1, InlineLimit+1))
	got := mustOrphans(t, s, map[int64]bool{999: true, 2001: true, 77: true})
	if diff := cmp.Diff([]int64{3, 1000, 9_999, 10_000, 500_000}, got); diff != "" {
		t.Errorf("Orphans() (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(s.folderPath(77)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Orphans() left the empty folder: %v", err)
	}
	if err := s.Check(young); err != nil {
		t.Error(err)
	}
	s = openStore(t, dir, nil)
	if got := mustOrphans(t, s, map[int64]bool{}); !slices.Contains(got, young.ID) || len(got) != 8 {
		t.Errorf("Orphans() after opening again = %d, want all files", got)
	}
}

// TestOrphansOfMany: in order, and a bounded number at a time, be they close
// together or far apart.
func TestOrphansOfMany(t *testing.T) {
	for _, step := range []int64{1, 700} {
		dir := t.TempDir()
		const files = 3000
		for i := range int64(files) {
			id := i*step + 1
			mkfile(t, filepath.Join(dir, "chunks", fmt.Sprint(id/perFolder), fmt.Sprint(id)), nil)
		}
		s := openStore(t, dir, throwAway)
		var seen, got []int64
		err := s.Orphans(t.Context(), func(ids []int64) (map[int64]bool, error) {
			if len(ids) >= 2*perFolder || len(ids) < perFolder && len(seen)+len(ids) < files {
				t.Errorf("known() was asked about %d ids", len(ids))
			}
			seen = append(seen, ids...)
			has := make(map[int64]bool)
			for _, id := range ids {
				has[id] = id%2 == 0
			}
			return has, nil
		}, func(id int64) error {
			got = append(got, id)
			return s.Remove(id)
		})
		odd := slices.DeleteFunc(slices.Clone(seen), func(id int64) bool { return id%2 == 0 })
		if err != nil || len(seen) != files || !slices.IsSorted(seen) || !slices.Equal(got, odd) {
			t.Errorf("Orphans() in steps of %d = %v; %d asked, sorted %v, %d orphans, want %d",
				step, err, len(seen), slices.IsSorted(seen), len(got), len(odd))
		}
		if left := onDisk(t, s); len(left) != files-len(odd) {
			t.Errorf("%d files are left, want %d", len(left), files-len(odd))
		}
	}
}

// TestOrphansEnds: on the first error, and when its context does.
func TestOrphansEnds(t *testing.T) {
	dir := t.TempDir()
	for id := range int64(1500) {
		mkfile(t, filepath.Join(dir, "chunks", fmt.Sprint(id/perFolder), fmt.Sprint(id)), nil)
	}
	s := openStore(t, dir, throwAway)
	var calls int
	var cancel context.CancelFunc
	for name, c := range map[string]struct {
		known  func([]int64) (map[int64]bool, error)
		orphan func(int64) error
		want   error
		calls  int // of orphan
	}{
		"known":   {known: func([]int64) (map[int64]bool, error) { return nil, errDisk }, want: errDisk},
		"orphan":  {orphan: func(int64) error { return errDisk }, want: errDisk, calls: 1},
		"context": {orphan: func(int64) error { cancel(); return nil }, want: context.Canceled, calls: 1},
		"context, while known looks": {known: func([]int64) (map[int64]bool, error) {
			cancel()
			return nil, nil
		}, want: context.Canceled},
	} {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		calls = 0
		if c.known == nil {
			c.known = none
		}
		err := s.Orphans(ctx, c.known, func(id int64) error { calls++; return c.orphan(id) })
		if !errors.Is(err, c.want) || calls != c.calls {
			t.Errorf("Orphans() ended by %s = %v after %d orphans, want %v after %d", name, err, calls, c.want, c.calls)
		}
		cancel()
		if err := s.Orphans(ctx, none, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Orphans() with an ended context = %v, want %v", err, context.Canceled)
		}
	}
}

// none knows no id.
func none([]int64) (map[int64]bool, error) { return nil, nil }

func TestOrphansErrors(t *testing.T) {
	s := newStore(t, throwAway)
	mkfile(t, s.folderPath(3), nil)
	if err := s.Orphans(t.Context(), none, nil); err == nil {
		t.Error("Orphans() with a file for a folder succeeded")
	}
	os.RemoveAll(s.chunks)
	if err := s.Orphans(t.Context(), none, nil); err != nil {
		t.Errorf("Orphans() without chunks = %v, want none", err)
	}
	mkfile(t, s.chunks, nil)
	if err := s.Orphans(t.Context(), none, nil); err == nil {
		t.Error("Orphans() with a file for chunks succeeded")
	}
}
