package content

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
)

// TestConcurrent: many write, read and remove at once, while ids run past folders
// and somebody looks for orphans. Each sees its own chunks whole until it removes
// them itself.
func TestConcurrent(t *testing.T) {
	s := newStore(t, throwAway)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 25 {
				if err := writeReadRemove(s, noise(uint64(worker*1000+i), rand.IntN(2*InlineLimit))); err != nil {
					t.Errorf("worker %d, round %d: %v", worker, i, err)
				}
			}
		})
	}
	all.Go(func() {
		for range 50 {
			err := s.Orphans(t.Context(), nil, nil) // there was nothing at Open
			if err != nil {
				t.Errorf("Orphans() = %v", err)
			}
		}
	})
	all.Wait()
	if left := tree(t, s.dir); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if entries, err := os.ReadDir(s.chunks); err != nil || len(entries) > 8 {
		t.Errorf("%d folders are left, want those that were in use at the end at most", len(entries))
	}
}

// writeReadRemove takes a chunk through its life.
func writeReadRemove(s *Store, data []byte) error {
	c, _, err := s.Write(bytes.NewReader(data), -1, 1<<20)
	if err != nil {
		return err
	}
	s.Reserve(c.ID + rand.Int64N(400)) // so that folders come and go
	var readers sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		readers.Go(func() {
			got, err := readAll(s, c, 0, c.Size)
			if err == nil && !bytes.Equal(got, data) {
				err = errors.New("other bytes")
			}
			errs[i] = err
		})
	}
	readers.Wait()
	if rand.IntN(2) == 0 {
		s.Discard(c)
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, s.Check(c), s.Remove(c.ID))...)
}

// TestClearConcurrent: what is written after Clear was called is never lost to it.
func TestClearConcurrent(t *testing.T) {
	s := newStore(t, throwAway)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				mustWrite(t, s, noise(1, InlineLimit+1))
			}
		})
	}
	for range 20 {
		if err := s.Clear(); err != nil {
			t.Fatalf("Clear() = %v", err)
		}
		c := mustWrite(t, s, noise(2, InlineLimit+1))
		if err := s.Check(c); err != nil {
			t.Fatalf("Check() after Clear() = %v", err)
		}
	}
	cancel()
	all.Wait()
	if left := tree(t, s.tmp); len(left) > 0 {
		t.Errorf("%q are left in tmp", left)
	}
}
