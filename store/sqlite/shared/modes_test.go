package shared

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testchild"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	sqlitedb "zombiezen.com/go/sqlite"
)

// openAndPrint prints how opening the store goes.
func openAndPrint(path string) error {
	s, err := Open(context.Background(), path, nil)
	if err != nil {
		fmt.Println(err)
		return nil
	}
	fmt.Println("opened")
	return s.Close()
}

// openEngineAndPrint prints how the embedded engine's opening goes.
func openEngineAndPrint(path string) error {
	s, err := sqlite.Open(context.Background(), path, nil)
	if err != nil {
		fmt.Println(err)
		return nil
	}
	fmt.Println("opened")
	return s.Close()
}

// TestModesExclude: the engine and the shared mode refuse each other, in one process
// and in two, and say who has the file.
func TestModesExclude(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, nil)
	if said := testchild.Run(t, "open", path); said != "opened" {
		t.Errorf("a second process in shared mode was told %q", said)
	}
	for _, said := range []string{testchild.Run(t, "engine", path), refusal(t, path)} {
		for _, want := range []string{path, "in use in shared mode", fmt.Sprint("process ", os.Getpid()), "mode=shared"} {
			if !strings.Contains(said, want) {
				t.Errorf("the engine was told %q, want it to say %q", said, want)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := sqlite.Open(t.Context(), path, &sqlite.Options{Reach: "http://127.0.0.1:8105"})
	if err != nil {
		t.Fatalf("the engine after Close: %v", err)
	}
	defer e.Close()
	_, err = Open(t.Context(), path, nil)
	if !errors.Is(err, sqlite.ErrInUse) || leasehold.ReasonOf(err) != leasehold.ReasonUnavailable {
		t.Errorf("Open() of the engine's file = %v, want ErrInUse", err)
	}
	for _, said := range []string{err.Error(), testchild.Run(t, "open", path)} {
		for _, want := range []string{fmt.Sprint("process ", os.Getpid()), "http://127.0.0.1:8105"} {
			if !strings.Contains(said, want) {
				t.Errorf("shared mode was told %q, want it to say %q", said, want)
			}
		}
	}
}

func refusal(t *testing.T, path string) string {
	t.Helper()
	_, err := sqlite.Open(t.Context(), path, nil)
	if !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("sqlite.Open() of a shared file = %v, want ErrInUse", err)
	}
	return fmt.Sprint(err)
}

// modal is what both modes are.
type modal interface {
	leasehold.Store
	leasehold.Breaker
	leasehold.Changer
	leasehold.Transferer
	leasehold.Finder
	leasehold.Lister
	leasehold.HolderReleaser
	leasehold.Historian
	leasehold.Configurer
	leasehold.Cleaner
}

// TestModesChange lets a file change modes between random operations. Every lease,
// token, setting and record stays, and the time goes on.
func TestModesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		// The wrapper hides t.Deadline, which a bubble does not allow.
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
			dir, err := os.MkdirTemp(dir, "")
			if err != nil {
				t.Fatal(err)
			}
			f := &modeFile{t: t, path: filepath.Join(dir, "leases.db"), ctx: context.Background()}
			f.open()
			defer func() { f.store.Close() }()
			for range 12 {
				f.step()
			}
			f.change()
			f.change()
		})
	})
}

// modeFile is a file that changes modes.
type modeFile struct {
	t      *rapid.T
	ctx    context.Context
	path   string
	shared bool
	store  modal
	ids    []leasehold.ID
	token  uint64
}

func (f *modeFile) open() {
	var err error
	if f.shared {
		f.store, err = Open(f.ctx, f.path, &Options{Durability: sqlite.DurabilityNormal})
	} else {
		f.store, err = sqlite.Open(f.ctx, f.path, &sqlite.Options{Durability: sqlite.DurabilityNormal})
	}
	if err != nil {
		f.t.Fatalf("opening (shared: %v) = %v", f.shared, err)
	}
}

// step makes one call. It may be refused.
func (f *modeFile) step() {
	t := f.t
	resource := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "resource")
	holder := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "holder")
	id := leasehold.NewID()
	if len(f.ids) > 0 {
		id = rapid.SampledFrom(f.ids).Draw(t, "id")
	}
	var err error
	switch rapid.SampledFrom([]string{
		"acquire", "acquire", "propose", "claims", "renew", "release", "change", "transfer", "break", "force", "set", "cleanup", "sleep", "mode", "mode",
	}).Draw(t, "call") {
	case "acquire", "propose":
		r := leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: time.Minute, Caller: holder, Metadata: map[string]string{"k": holder}}
		if rapid.Bool().Draw(t, "proposed") {
			r.ID = leasehold.NewID()
		}
		var g leasehold.Grant
		if g, err = f.store.Acquire(f.ctx, r); err == nil {
			if g.Token <= f.token {
				t.Fatalf("token %d after %d", g.Token, f.token)
			}
			f.token = g.Token
			f.ids = append(f.ids, g.ID)
		}
	case "claims":
		claims := []leasehold.Claim{{Pattern: resource, Mode: leasehold.Shared}, {Namespace: "n", Pattern: "*/" + resource}}
		var g leasehold.Grant
		g, err = f.store.Acquire(f.ctx, leasehold.AcquireRequest{Claims: claims, Holder: holder, TTL: time.Minute})
		switch {
		case f.shared && !errors.Is(err, leasehold.ErrUnsupported):
			t.Fatalf("Acquire(claims) in shared mode = %v, want ErrUnsupported", err)
		case err == nil:
			f.ids, f.token = append(f.ids, g.ID), g.Token
		}
	case "renew":
		_, err = f.store.Renew(f.ctx, leasehold.RenewRequest{ID: id})
	case "release":
		r := leasehold.ReleaseRequest{ID: id}
		if !f.shared && rapid.Bool().Draw(t, "note") {
			r.Note = "of " + holder
		}
		_, err = f.store.Release(f.ctx, r)
	case "change":
		next := leasehold.NewID()
		if _, err = f.store.Change(f.ctx, leasehold.ChangeRequest{ID: id, Proposed: next}); err == nil {
			f.ids = append(f.ids, next)
		}
	case "transfer":
		var l leasehold.Lease
		if l, err = f.store.Transfer(f.ctx, leasehold.TransferRequest{ID: id, To: holder}); err == nil {
			f.ids, f.token = append(f.ids, l.ID), l.Token
		}
	case "break":
		period := time.Duration(rapid.IntRange(0, 10).Draw(t, "period")) * time.Second
		_, err = f.store.Break(f.ctx, leasehold.BreakRequest{Resource: resource, Period: &period})
	case "force":
		_, err = f.store.ReleaseHolder(f.ctx, holder, "")
	case "set":
		key := rapid.SampledFrom([]string{leasehold.SettingHistoryRenewals, leasehold.SettingKeepHistory}).Draw(t, "key")
		_, err = f.store.SetSetting(f.ctx, key, rapid.Bool().Draw(t, "value"))
		if err == nil {
			_, err = f.store.SetSetting(f.ctx, leasehold.SettingHistoryMaxRows, int64(rapid.IntRange(5, 50).Draw(t, "rows")))
		}
	case "cleanup":
		_, err = f.store.Cleanup(f.ctx)
	case "sleep":
		time.Sleep(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
	case "mode":
		f.change()
	}
	if err != nil && (errors.Is(err, leasehold.ErrUnavailable) || errors.Is(err, leasehold.ErrUnknown)) {
		t.Fatalf("(shared: %v) %v", f.shared, err)
	}
}

// change closes the file, opens it in the other mode, and compares.
func (f *modeFile) change() {
	f.endSets()
	if _, err := f.store.Cleanup(f.ctx); err != nil { // or the next one would write what is due
		f.t.Fatalf("Cleanup() = %v", err)
	}
	synctest.Wait() // nothing is under way
	before := f.content()
	if err := f.store.Close(); err != nil {
		f.t.Fatalf("Close() = %v", err)
	}
	f.checkCounters()
	f.shared = !f.shared
	f.open()
	if diff := cmp.Diff(before, f.content()); diff != "" {
		f.t.Fatalf("after the change of modes (shared now: %v) (-before +after):\n%s", f.shared, diff)
	}
}

// endSets ends the leases of claims, which shared mode refuses.
func (f *modeFile) endSets() {
	if f.shared {
		return
	}
	page, err := f.store.List(f.ctx, leasehold.ListRequest{Prefix: leasehold.SetPrefix, Limit: leasehold.MaxPage})
	if err != nil || page.Cursor != "" {
		f.t.Fatalf("List() of sets = %v, more: %q", err, page.Cursor)
	}
	for _, l := range page.Leases {
		if _, err := f.store.Break(f.ctx, leasehold.BreakRequest{Resource: l.Resource, Period: new(time.Duration(0))}); err != nil {
			f.t.Fatalf("Break(%q) = %v", l.Resource, err)
		}
	}
}

// modeContent is all that a store shows.
type modeContent struct {
	Leases   []leasehold.Lease
	Known    []string
	Records  []leasehold.Record
	Settings []leasehold.Setting
}

func (f *modeFile) content() (c modeContent) {
	for _, resource := range []string{"a", "b", "c", "d"} {
		s, err := f.store.Status(f.ctx, resource)
		if err != nil {
			f.t.Fatalf("Status(%q) = %v", resource, err)
		}
		if s.Lease != nil {
			c.Leases = append(c.Leases, *s.Lease)
		}
	}
	for _, id := range f.ids {
		l, err := f.store.Find(f.ctx, id)
		c.Known = append(c.Known, fmt.Sprint(l.Resource, l.Token, l.State, l.Remaining, leasehold.ReasonOf(err)))
	}
	page, err := f.store.History(f.ctx, leasehold.HistoryRequest{Limit: 1000})
	if err != nil {
		f.t.Fatalf("History() = %v", err)
	}
	c.Records = page.Records
	if c.Settings, err = f.store.Settings(f.ctx); err != nil {
		f.t.Fatalf("Settings() = %v", err)
	}
	return c
}

// checkCounters: what the file counts is what it holds.
func (f *modeFile) checkCounters() {
	conn, err := dbfile.Connect(f.path, sqlitedb.OpenReadOnly)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	for what, sql := range map[string]string{
		"records kept":   "SELECT kept - (SELECT count(*) FROM lease_history WHERE seq > purged) FROM lease_counters",
		"newest record":  "SELECT max(0, coalesce((SELECT max(seq) FROM lease_history), 0) - seq) FROM lease_counters",
		"highest token":  "SELECT max(0, coalesce((SELECT max(token) FROM leases), 0) - token) FROM lease_counters",
		"purged records": "SELECT max(0, purged - seq) FROM lease_counters",
	} {
		if off, err := dbfile.QueryInt(conn, sql); err != nil || off != 0 {
			f.t.Fatalf("%s: off by %d, %v", what, off, err)
		}
	}
	var indexes []string
	err = query(conn, "SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'leases_%'", nil, func(s *sqlitedb.Stmt) error {
		indexes = append(indexes, s.ColumnText(0))
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	slices.Sort(indexes)
	var want []string
	if f.shared {
		want = []string{"leases_caller", "leases_ends", "leases_former", "leases_id"}
	}
	if !slices.Equal(indexes, want) {
		f.t.Fatalf("(shared: %v) the file has the indexes %q, want %q", f.shared, indexes, want)
	}
}
