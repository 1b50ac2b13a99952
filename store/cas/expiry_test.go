package cas_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/storetest"
)

// ending is a service in memory without a clock to read: it ends leases by itself,
// numbers its writes and keeps the index of ids.
type ending struct {
	mu     sync.Mutex
	items  map[string]cas.Item
	ends   map[string]time.Time // zero: never
	number uint64
	marks  map[string]uint64 // tokens, or zero, of all writes
	lose   func(w cas.Write) bool
	asked  func() error // before it says how long leases last
	deaf   bool         // it cannot say what became of a write
	finds  int
}

func newEnding() *ending {
	return &ending{items: map[string]cas.Item{}, ends: map[string]time.Time{}, marks: map[string]uint64{}}
}

func (s *ending) Traits() cas.Traits {
	return cas.Traits{Kind: "test", OwnExpiry: true, OwnTokens: true, OwnIndex: true}
}

func (s *ending) Close() error { return nil }

// item is what is there now. Its end is at most that of a whole ttl.
func (s *ending) item(resource string) cas.Item {
	if end := s.ends[resource]; !end.IsZero() && !time.Now().Before(end) {
		delete(s.items, resource)
		delete(s.ends, resource)
	}
	item := s.items[resource]
	item.Row.Resource, item.Now = resource, time.Now()
	if item.Version != "" && !s.ends[resource].IsZero() {
		item.Row.Ends = machine.Time(item.Now.Add(item.Row.TTL).UnixNano())
	}
	return item
}

func (s *ending) Load(_ context.Context, resource string) (cas.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.item(resource), nil
}

func (s *ending) Swap(_ context.Context, v cas.Version, w cas.Write) (cas.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.item(w.Row.Resource).Version != v || s.isElsewhere(w.Row) {
		return cas.Item{}, cas.ErrRaced
	}
	s.write(w)
	if s.lose != nil && s.lose(w) {
		return cas.Item{}, &leasehold.Error{Reason: leasehold.ReasonUnknown}
	}
	return s.item(w.Row.Resource), nil
}

func (s *ending) isElsewhere(row machine.Row) bool {
	for name := range s.items {
		if item := s.item(name); name != row.Resource && row.State.Locked() && item.Row.ID == row.ID {
			return true
		}
	}
	return false
}

func (s *ending) write(w cas.Write) {
	s.number++
	name := w.Row.Resource
	if !w.Row.State.Locked() {
		s.marks[w.Marks[0]] = 0
		delete(s.items, name)
		delete(s.ends, name)
		return
	}
	if w.Row.Token == 0 {
		w.Row.Token = s.number
	}
	s.marks[w.Marks[0]] = w.Row.Token
	s.items[name] = cas.Item{Row: w.Row, Marks: w.Marks, Version: cas.Version(strconv.FormatUint(s.number, 10))}
	switch w.TTL {
	case 0:
	case leasehold.Infinite:
		delete(s.ends, name)
	default:
		s.ends[name] = time.Now().Add(w.TTL)
	}
}

func (s *ending) Scan(_ context.Context, prefix, after string, n int) ([]cas.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []cas.Item
	for name := range s.items {
		if item := s.item(name); item.Version != "" && name > after && strings.HasPrefix(name, prefix) {
			found = append(found, item)
		}
	}
	slices.SortFunc(found, func(a, b cas.Item) int { return cmp.Compare(a.Row.Resource, b.Row.Resource) })
	return found[:min(n, len(found))], nil
}

func (s *ending) Find(_ context.Context, id leasehold.ID) (found []cas.Item, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finds++
	for name := range s.items {
		if item := s.item(name); item.Row.ID == id || item.Row.Former == id {
			found = append(found, item)
		}
	}
	return found, nil
}

func (s *ending) Remaining(_ context.Context, items []cas.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked != nil {
		if err := s.asked(); err != nil {
			return err
		}
	}
	for i, item := range items {
		if end := s.ends[item.Row.Resource]; !end.IsZero() {
			items[i].Row.Ends = machine.Time(end.UnixNano())
		}
	}
	return nil
}

func (s *ending) Resolve(_ context.Context, mark string) (uint64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf {
		return 0, false, errors.New("no trace")
	}
	token, ok := s.marks[mark]
	return token, ok, nil
}

func (s *ending) Confirm(context.Context, string) error { return nil }

var _ cas.Resolver = (*ending)(nil)

func TestConformanceOfOwnExpiry(t *testing.T) {
	storetest.Run(t, harness(func() cas.Backend { return newEnding() },
		append(lacks, storetest.History, storetest.Memory)...))
}

// acquireOn acquires a lease of a minute.
func acquireOn(t testing.TB, s *cas.Store, resource string) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Minute})
	if err != nil {
		t.Fatalf("Acquire(%q) = %v, want a grant", resource, err)
	}
	return g
}

// A lost answer is found out by the mark, also if the item is gone or another by then,
// and the grant has the token that it got.
func TestOwnExpiryLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newEnding()
		s := cas.New(b, nil)
		defer s.Close()
		lost := 0
		b.lose = func(cas.Write) bool { lost++; return lost == 1 }
		g := acquireOn(t, s, "r")
		if g.Token != 1 {
			t.Errorf("token %d, want that of the write whose answer was lost", g.Token)
		}
		lost = 0
		l, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"})
		if err != nil || l.State != leasehold.StateReleased || b.number != 2 {
			t.Errorf("Release = %+v, %v after %d writes; want what happened", l, err, b.number)
		}
		b.lose = func(w cas.Write) bool { // it happens, is broken and granted to another
			if w.Row.Holder != "h" {
				return false
			}
			delete(b.items, "r")
			w.Row.Holder, w.Row.ID, w.Row.Token, w.Marks = "other", leasehold.NewID(), 0, []string{"other"}
			b.write(w)
			return true
		}
		if g := acquireOn(t, s, "r"); g.Token != 3 {
			t.Errorf("token %d, want 3: that of the grant, not of the one after it", g.Token)
		}
	})
}

// Where nothing shows what happened, the answer is ErrUnknown.
func TestOwnExpiryNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newEnding()
		s := cas.New(b, nil)
		defer s.Close()
		g := acquireOn(t, s, "r")
		b.deaf, b.lose = true, func(cas.Write) bool { return true }
		if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"}); !errors.Is(err, leasehold.ErrUnknown) {
			t.Errorf("Release = %v, want ErrUnknown", err)
		}
		synctest.Wait()
	})
}

// A write that did not happen is decided again.
func TestOwnExpiryNothingHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newEnding()
		s := cas.New(b, nil)
		defer s.Close()
		lost := 0
		b.lose = func(w cas.Write) bool {
			if lost++; lost > 1 {
				return false
			}
			delete(b.items, "r")
			delete(b.marks, w.Marks[0]) // as if it had never been
			return true
		}
		if g := acquireOn(t, s, "r"); g.Token != 2 {
			t.Errorf("token %d, want 2: of the second write", g.Token)
		}
	})
}

// The token of a lease that was transferred since is not that of the grant in doubt.
func TestOwnExpiryTransferredSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newEnding()
		s := cas.New(b, nil)
		defer s.Close()
		b.lose = func(w cas.Write) bool {
			if w.Row.Handed {
				return false
			}
			row := w.Row
			row.Former, row.ID, row.Holder, row.Handed = row.ID, leasehold.NewID(), "next", true
			b.write(cas.Write{Row: row, Marks: append([]string{"later"}, w.Marks...)})
			return true
		}
		if g := acquireOn(t, s, "r"); g.Token != 1 {
			t.Errorf("token %d, want 1", g.Token)
		}
	})
}

// Whoever sees a lease sees when it ends, so a service that does not say so fails the
// call; and nobody else does.
func TestOwnExpiryShowsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newEnding()
		s := cas.New(b, nil)
		defer s.Close()
		g := acquireOn(t, s, "r")
		time.Sleep(10 * time.Second)
		if status, err := s.Status(t.Context(), "r"); err != nil || status.Lease.Remaining != 50*time.Second {
			t.Errorf("Status = %+v, %v; want 50s remaining", status.Lease, err)
		}
		b.asked = func() error { return errors.New("silent") }
		_, errAcquire := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "i", TTL: time.Minute})
		_, errBreak := s.Break(t.Context(), leasehold.BreakRequest{Resource: "r"})
		_, errStatus := s.Status(t.Context(), "r")
		_, errList := s.List(t.Context(), leasehold.ListRequest{})
		for op, err := range map[string]error{"Acquire": errAcquire, "Break": errBreak, "Status": errStatus, "List": errList} {
			if !errors.Is(err, leasehold.ErrUnavailable) {
				t.Errorf("%s = %v, want ErrUnavailable", op, err)
			}
		}
		if _, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"}); err != nil {
			t.Errorf("Renew = %v, want success: it shows no end that is not its own", err)
		}
	})
}

// A proposed id is looked up only after a race.
func TestOwnIndexIsNotLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newEnding()
		s := cas.New(b, nil)
		defer s.Close()
		id := leasehold.NewID()
		r := leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Minute, ID: id}
		if _, err := s.Acquire(t.Context(), r); err != nil || b.finds != 0 {
			t.Errorf("Acquire = %v after %d queries, want none", err, b.finds)
		}
		r.Resource = "s"
		if _, err := s.Acquire(t.Context(), r); leasehold.ReasonOf(err) != leasehold.ReasonIDInUse {
			t.Errorf("Acquire with an id that is in use = %v", err)
		}
		if _, err := s.Cleanup(t.Context()); err != nil {
			t.Errorf("Cleanup = %v", err)
		}
	})
}
