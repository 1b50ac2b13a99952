package catalog_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/engine"
)

// failingEngine is an engine whose commits and queries fail on purpose.
type failingEngine struct {
	engine.Engine
	commit atomic.Pointer[failure]
	query  atomic.Pointer[failure]
}

// failure is what goes wrong.
type failure struct {
	err  error
	done bool // it is carried out all the same
	at   string
}

func (u *failingEngine) Do(ctx context.Context, resource string, decide func(engine.View) (engine.Decision, error)) error {
	m := u.commit.Load()
	if m == nil || !strings.HasPrefix(resource, m.at) {
		return u.Engine.Do(ctx, resource, decide)
	}
	if !m.done {
		return m.err
	}
	if err := u.Engine.Do(ctx, resource, decide); err != nil {
		return err
	}
	return m.err
}

func (u *failingEngine) Query(ctx context.Context, sql string, args []any, row func(engine.Columns) error) error {
	if m := u.query.Load(); m != nil && strings.Contains(sql, m.at) {
		return m.err
	}
	return u.Engine.Query(ctx, sql, args, row)
}

// failingHarness is a harness on an engine that can fail.
func failingHarness(t *testing.T) (*harness, *failingEngine, catalog.Ref) {
	h, ref := newContainer(t)
	if err := h.Catalog.Close(); err != nil {
		t.Fatal(err)
	}
	u := &failingEngine{Engine: h.store}
	c, err := catalog.Open(t.Context(), u, h.bytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Catalog = c
	return h, u, ref
}

// Content of a write that certainly did not happen is gone at once. If nobody
// knows, it stays, and the next start sweeps it, or not.
func TestUploadsOfFailedCommits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		failure      failure
		files, after int
	}{
		{"unavailable", failure{err: &leasehold.Error{Reason: leasehold.ReasonUnavailable}}, 0, 0},
		{"unknown, and not done", failure{err: &leasehold.Error{Reason: leasehold.ReasonUnknown}}, 1, 0},
		{"unknown, and done", failure{err: &leasehold.Error{Reason: leasehold.ReasonUnknown}, done: true}, 1, 1},
	} {
		for name, write := range map[string]func(*harness, catalog.Ref) error{
			"PutBlob": func(h *harness, ref catalog.Ref) error {
				_, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('x')), catalog.Access{})
				return err
			},
			"StageBlock": func(h *harness, ref catalog.Ref) error {
				return h.StageBlock(t.Context(), ref, "AAAA", h.Accept(bulk('x')), catalog.Access{})
			},
		} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				h, u, ref := failingHarness(t)
				m := c.failure
				m.at = ref.Resource()
				u.commit.Store(&m)
				if err := write(h, ref); !errors.Is(err, c.failure.err) {
					t.Errorf("%s = %v, want %v", name, err, c.failure.err)
				}
				h.wantFiles(c.files)
				h.reopen()
				eventually(t, "the sweep", func() bool { return h.files() == c.after })
				h.checkClean()
			})
		}
	}
}

// A caller who goes away while the commit is under way keeps nobody from reading
// what will be: the lock is held until the commit is durable.
func TestGoneCallerKeepsTheLock(t *testing.T) {
	t.Parallel()
	h, u, ref := failingHarness(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	entered, goOn := make(chan struct{}), make(chan struct{})
	slow := &slowEngine{Engine: u.Engine, resource: ref.Resource(), entered: entered, goOn: goOn}
	if err := h.Catalog.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Open(t.Context(), slow, h.bytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Catalog = c
	written := make(chan error, 1)
	go func() {
		_, err := h.PutBlob(ctx, ref, catalog.New{}, h.Accept([]byte("new")), catalog.Access{})
		written <- err
	}()
	<-entered
	cancel()
	read := make(chan error, 1)
	go func() { _, err := h.Head(t.Context(), ref, catalog.Access{}); read <- err }()
	select {
	case err := <-read:
		t.Errorf("Head = %v before the commit was durable", err)
	case err := <-written:
		t.Errorf("PutBlob = %v before the commit was durable", err)
	case <-time.After(50 * time.Millisecond): // nothing to wait for: nothing should happen
	}
	close(goOn)
	if err := errors.Join(<-written, <-read); err != nil {
		t.Errorf("PutBlob and Head after the commit = %v", err)
	}
	h.checkClean()
}

// slowEngine holds one commit up, and gives it up if its caller does.
type slowEngine struct {
	engine.Engine
	resource      string
	entered, goOn chan struct{}
	once          atomic.Bool
}

func (s *slowEngine) Do(ctx context.Context, resource string, decide func(engine.View) (engine.Decision, error)) error {
	if resource == s.resource && !s.once.Swap(true) {
		close(s.entered)
		select {
		case <-s.goOn:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return s.Engine.Do(ctx, resource, decide)
}

// Nothing is asked of the engine for a caller who has gone already.
func TestCallerHasGone(t *testing.T) {
	h, ref := newContainer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.PutBlob(ctx, ref, catalog.New{}, h.Accept(bulk('x')), catalog.Access{}); !errors.Is(err, context.Canceled) {
		t.Errorf("PutBlob = %v, want %v", err, context.Canceled)
	}
	h.wantFiles(0)
}

// Each query that fails fails what asked for it, and leaves all as it was.
func TestQueriesFail(t *testing.T) {
	t.Parallel()
	h, u, ref := failingHarness(t)
	h.stageAs(ref, "AAAA", []byte("a"))
	h.commit(ref, catalog.BlockRef{ID: "AAAA"})
	h.stageAs(ref, "BBBB", []byte("b"))
	at := ref
	at.Snapshot = h.snapshot(ref, ref.Blob)
	k, err := h.Get(t.Context(), ref, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	no := errors.New("the disk is on fire")
	for _, c := range []struct {
		at   string
		call func() error
	}{
		{"FROM blob_blocks", func() error { _, err := h.Blocks(t.Context(), ref, catalog.Access{}); return err }},
		{"FROM blob_pieces", func() error { _, err := h.Blocks(t.Context(), ref, catalog.Access{}); return err }},
		{"FROM blob_pieces", func() error { return k.WriteTo(t.Context(), nil, 0, 1) }},
		{"FROM blob_pieces", func() error { _, err := h.Lineage(t.Context(), ref); return err }},
		{"committed ORDER BY", func() error { _, err := h.Lineage(t.Context(), ref); return err }},
		{"FROM blob_blocks", func() error {
			_, err := h.CommitBlocks(t.Context(), ref, nil, catalog.New{}, catalog.Access{})
			return err
		}},
		{"SELECT block", func() error { return h.StageBlock(t.Context(), ref, "CCCC", h.Accept(bulk('x')), catalog.Access{}) }},
		{"count(*)", func() error {
			other := ref
			other.Blob = "other"
			return h.StageBlock(t.Context(), other, "CCCC", h.Accept(bulk('x')), catalog.Access{})
		}},
		{"max(snapshot)", func() error { _, err := h.Snapshot(t.Context(), ref, nil, catalog.Access{}); return err }},
		{"max(snapshot)", func() error { return h.Delete(t.Context(), ref, catalog.DeleteSnapshots, catalog.Access{}) }},
		{"SELECT 1 FROM blob_items", func() error { return h.Delete(t.Context(), ref, catalog.DeleteBase, catalog.Access{}) }},
		{"FROM blob_items", func() error { return h.Delete(t.Context(), at, catalog.DeleteBase, catalog.Access{}) }},
		{"FROM blob_items", func() error { _, err := h.Head(t.Context(), ref, catalog.Access{}); return err }},
		{"FROM blob_items", func() error { _, err := h.Get(t.Context(), ref, catalog.Access{}); return err }},
		{"FROM blob_items", func() error { return h.SetExpiry(t.Context(), at, new(catalog.Ticks)) }},
		{"FROM blob_dropped", func() error { return h.Collect(t.Context()) }},
		{"refs <= 0", func() error { return h.Collect(t.Context()) }},
		{"i.expires <= ?", func() error { return h.Collect(t.Context()) }},
		{"expires IS NOT NULL", func() error { return h.Collect(t.Context()) }},
		{"FROM blob_containers", func() error { return h.Reset(t.Context(), "") }},
	} {
		u.query.Store(&failure{err: no, at: c.at})
		if err := c.call(); !errors.Is(err, no) {
			t.Errorf("with %q failing = %v, want %v", c.at, err, no)
		}
		u.query.Store(nil)
	}
	if got := h.blocks(ref); got != "AAAA:1 | BBBB:1" {
		t.Errorf("Blocks = %q", got)
	}
	h.checkClean()
	h.wantFiles(0)
}

// A check that cannot look says so, wherever it stops.
func TestCheckFails(t *testing.T) {
	t.Parallel()
	h, u, ref := failingHarness(t)
	h.put(ref, ref.Blob, "x")
	no := errors.New("the disk is on fire")
	for _, at := range []string{
		"count(*) FROM blob_containers", "FROM blob_items\nWHERE container NOT IN", "FROM blob_blocks\n", "blob_blocks b", "FROM blob_tags\nWHERE container NOT",
		"FROM blob_dropped)", "HAVING", "UNION ALL", "c.refs <>", "SELECT id, account", "SELECT DISTINCT container", "ORDER BY snapshot",
		"LEFT JOIN blob_chunks c ON", "SELECT key, value", "refs > 0 ORDER BY",
	} {
		u.query.Store(&failure{err: no, at: at})
		if _, err := h.Check(t.Context(), false); !errors.Is(err, no) {
			t.Errorf("Check with %q failing = %v, want %v", at, err, no)
		}
		u.query.Store(nil)
	}
	h.sql(`UPDATE blob_chunks SET refs = 7`)
	u.commit.Store(&failure{err: no, at: "blob:catalog"})
	if _, err := h.Check(t.Context(), true); !errors.Is(err, no) {
		t.Errorf("Check that cannot repair = %v, want %v", err, no)
	}
	u.commit.Store(nil)
	if report, err := h.Check(t.Context(), true); err != nil || len(report.Problems) != 1 {
		t.Errorf("Check = %v, %v", report.Problems, err)
	}
	h.checkClean()
}

// The collector goes on after it failed.
func TestCollectorGoesOn(t *testing.T) {
	t.Parallel()
	h, u, ref := failingHarness(t)
	if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('x')), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	at := ref
	at.Snapshot = h.snapshot(ref, ref.Blob)
	no := errors.New("the disk is on fire")
	u.commit.Store(&failure{err: no, at: "blob:catalog"})
	if err := h.SetExpiry(t.Context(), at, new(catalog.Ticks)); err != nil {
		t.Fatal(err)
	}
	if err := h.Collect(t.Context()); !errors.Is(err, no) {
		t.Errorf("Collect = %v, want %v", err, no)
	}
	if err := h.Reset(t.Context(), ""); !errors.Is(err, no) {
		t.Errorf("Reset = %v, want %v", err, no)
	}
	u.commit.Store(&failure{err: &leasehold.Error{Reason: leasehold.ReasonUnknown}, done: true, at: "blob:catalog"})
	for h.Collect(t.Context()) != nil { // each is done, and reported not to be
	}
	u.commit.Store(nil)
	h.collect()
	h.reopen()
	eventually(t, "the sweep", func() bool { return h.files() == 0 })
	h.checkClean()
}
