//go:build unix

package move_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/store/sqlite"
)

// TestNotesAreNotLost: a store that keeps no notes is no target for leases that have
// some, and the source stays open.
func TestNotesAreNotLost(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		notesAreNotLost(t, testserver.PostgresURL(testserver.Postgres(t).Addr, "postgres"))
	})
	t.Run("etcd", func(t *testing.T) { notesAreNotLost(t, "etcd://"+testserver.Etcd(t).Addr) })
}

func notesAreNotLost(t *testing.T, to string) {
	file := filepath.Join(t.TempDir(), "leases.db")
	s, err := sqlite.Open(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "ann", TTL: time.Hour})
	if err == nil {
		_, err = s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Note: "half done"})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Close()

	source, target := openMovable(t, open.SQLiteURL(file)), openMovable(t, to)
	o := move.Options{From: "the file", To: "the target"}
	_, planned := move.NewPlan(t.Context(), source, target, o)
	_, done := move.Run(t.Context(), source, target, o)
	for what, err := range map[string]error{"NewPlan": planned, "Run": done} {
		if _, ok := errors.AsType[*move.RefusedError](err); !ok || !strings.Contains(err.Error(), "notes on 1 leases of the file, and the target keeps none") {
			t.Errorf("%s = %v, want a refusal for the note", what, err)
		}
	}
	for _, side := range []move.Store{source, target} {
		if mark, err := side.MoveMark(t.Context()); err != nil || mark.ID != "" {
			t.Errorf("the mark after the refusal = %+v, %v, want none", mark, err)
		}
	}

	// The next holder has read it and released: now they go.
	if g, err = source.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "ben", TTL: time.Hour}); err != nil || len(g.Notes) != 1 {
		t.Fatalf("Acquire() = %v, %v, want the note", g.Notes, err)
	}
	if _, err := source.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := move.Run(t.Context(), source, target, o); err != nil {
		t.Errorf("Run() without notes = %v", err)
	}
}
