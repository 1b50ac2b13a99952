package etcd

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/test/process"
)

// loseAnswer notes the last write of a resource as one whose answer was lost, which
// created the key, and returns its mark.
func loseAnswer(t testing.TB, s *Store, resource string, to bound, after uint64) string {
	t.Helper()
	item, err := s.backend.Load(t.Context(), resource)
	if err != nil || len(item.Marks) == 0 {
		t.Fatalf("Load = %+v, %v; want an item", item, err)
	}
	s.backend.doubts.note(&transaction{
		write: cas.Write{Row: item.Row, Marks: item.Marks[:1], Records: []cas.Record{{Kept: true}}}, recorded: 1, to: to, after: after,
	})
	return item.Marks[0]
}

// "It did not happen" lets the caller go on as if it never could: nothing but a trace
// of it may say so.
func TestNothingIsKnownOfAWriteThatIsNotNoted(t *testing.T) {
	s := openOn(t, newClient(t, testserver.Etcd(t).Addr), nil)
	for name, call := range map[string]func(mark string) error{
		"Resolve": func(mark string) error { _, _, err := s.backend.Resolve(t.Context(), mark); return err },
		"Confirm": func(mark string) error { return s.backend.Confirm(t.Context(), mark) },
	} {
		if err := call("somemark"); leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
			t.Errorf("%s = %v, want that it is unknown", name, err)
		}
	}
}

// The token of a grant whose answer was lost is its own, not that of whom the lease
// was handed over to since.
func TestLostGrantHasItsOwnToken(t *testing.T) {
	s := openOn(t, newClient(t, testserver.Etcd(t).Addr), nil)
	g := acquire(t, s, "r", time.Minute)
	mark := loseAnswer(t, s, "r", bound{}, 0)
	if _, err := s.Transfer(t.Context(), leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "other"}); err != nil {
		t.Fatal(err)
	}
	token, happened, err := s.backend.Resolve(t.Context(), mark)
	if err != nil || !happened || token != g.Token {
		t.Errorf("Resolve = %d, %v, %v; want %d and that it happened", token, happened, err, g.Token)
	}
}

// A former leader may have said that the lease goes on: after a lost answer that is
// not to be relied on.
func TestLostAnswerIsConfirmed(t *testing.T) {
	s := openOn(t, newClient(t, testserver.Etcd(t).Addr), nil)
	const ttl = 10 * time.Second
	acquire(t, s, "r", ttl)
	id, _ := boundTo(t, s, "r")
	mark := loseAnswer(t, s, "r", bound{id: id, seconds: 10, term: 1}, 0)
	process.Eventually(t, "time has passed", func() bool { _, left := boundTo(t, s, "r"); return left < ttl-2*time.Second })
	if err := s.backend.Confirm(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	if _, left := boundTo(t, s, "r"); left < ttl-2*time.Second {
		t.Errorf("%v remain after Confirm, want the time to have started again", left)
	}
	mark = loseAnswer(t, s, "r", bound{id: id, seconds: 10, term: 1}, 0)
	if _, err := s.backend.client.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := s.backend.Confirm(t.Context(), mark); !errors.Is(err, cas.ErrRaced) {
		t.Errorf("Confirm of a lease that has ended = %v, want ErrRaced", err)
	}
}

// A record that may have been purged, or is too far back, shows nothing by its absence.
func TestPurgedRecordShowsNothing(t *testing.T) {
	s := openOn(t, newClient(t, testserver.Etcd(t).Addr), nil)
	resolve := func(after uint64) (bool, error) {
		g := acquire(t, s, "r", time.Minute)
		mark := loseAnswer(t, s, "r", bound{}, after)
		if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"}); err != nil {
			t.Fatal(err)
		}
		if after == 0 {
			if n, err := s.backend.Purge(t.Context(), time.Now().Add(time.Hour), 1000); err != nil || n < 2 {
				t.Fatalf("Purge = %d, %v; want records to go", n, err)
			}
		}
		_, happened, err := s.backend.Resolve(t.Context(), mark)
		return happened, err
	}
	if happened, err := resolve(0); leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
		t.Errorf("Resolve after a purge = %v, %v; want that it is unknown", happened, err)
	}
	last, err := s.backend.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if happened, err := resolve(last); err != nil || !happened {
		t.Errorf("Resolve = %v, %v; want that it happened", happened, err)
	}
	last, err = s.backend.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.backend.doubts.note(&transaction{
		was: version{revision: 1}, write: cas.Write{Marks: []string{"never"}, Records: []cas.Record{{Kept: true}}}, recorded: 1, after: last,
	})
	if _, happened, err := s.backend.Resolve(t.Context(), "never"); err != nil || happened {
		t.Errorf("Resolve of what left no record = %v, %v; want that it did not happen", happened, err)
	}
}
