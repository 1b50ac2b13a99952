package past_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/past"
	"github.com/leasehold/leasehold/store/memory"
)

// store is what the test needs of the engine.
type store interface {
	leasehold.Store
	leasehold.Breaker
	leasehold.Changer
	leasehold.Transferer
	leasehold.Configurer
	leasehold.Cleaner
	leasehold.Lister
	leasehold.Historian
	leasehold.HolderReleaser
}

// world is a store, what it was told to do, and what it said at some moments.
type world struct {
	t      *rapid.T
	store  store
	live   []leasehold.Lease // with ids; some have ended
	seen   []snapshot
	gaps   bool // records of a time may be missing
	purged bool
}

// snapshot is what the store said at a moment.
type snapshot struct {
	at     time.Time
	status map[string][]leasehold.Lease // live ones, by resource
	table  []leasehold.Lease
}

var names = []string{"a", "b", "prod:c"}

// TestPastAgreesWithWhatWasSaid: whatever happened, the answer about a moment is what
// the store said at that moment, or that it is not known; and it is always known while
// all records are kept.
func TestPastAgreesWithWhatWasSaid(t *testing.T) {
	for _, c := range []struct {
		name         string
		gaps, purges bool
	}{{"Whole", false, false}, {"Purged", false, true}, {"SwitchedOff", true, false}, {"Both", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			checkInBubble(t, func(rt *rapid.T) {
				w := &world{t: rt, store: memory.New()}
				defer w.store.Close()
				w.run(c.gaps, c.purges)
				w.check()
			})
		})
	}
}

// checkInBubble is rapid.Check with a bubble for each draw.
func checkInBubble(t *testing.T, property func(*rapid.T)) {
	rapid.Check(t, func(rt *rapid.T) {
		var failure any
		synctest.Test(t, func(*testing.T) {
			defer func() { failure = recover() }() // rapid's, in its own goroutine
			property(rt)
		})
		switch { // rapid takes failures from the same line for the same
		case fmt.Sprintf("%T", failure) == "rapid.invalidData":
			panic(failure)
		case failure != nil:
			panic(failure)
		}
	})
}

func (w *world) run(gaps, purges bool) {
	actions := []func(){w.acquire, w.acquire, w.acquireSet, w.renew, w.renew, w.release, w.transfer, w.change, w.breakOne, w.forceRelease, w.lateExpiry, w.cleanup}
	if gaps {
		actions = append(actions, w.toggle)
	}
	if purges {
		actions = append(actions, w.purge)
	}
	for range rapid.IntRange(3, 40).Draw(w.t, "steps") {
		rapid.SampledFrom(actions).Draw(w.t, "action")()
		if rapid.Bool().Draw(w.t, "look") {
			w.look()
		}
		time.Sleep(time.Duration(rapid.IntRange(1, 4000).Draw(w.t, "ms")) * time.Millisecond)
		if rapid.IntRange(0, 5).Draw(w.t, "pause") == 0 {
			time.Sleep(70 * time.Second) // what comes is in another stretch of the reader's
		}
		if rapid.IntRange(0, 3).Draw(w.t, "look later") == 0 {
			w.look()
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(time.Millisecond)
}

func (w *world) set(key string, value any) {
	if _, err := w.store.SetSetting(context.Background(), key, value); err != nil {
		w.t.Fatalf("SetSetting(%s, %v) = %v", key, value, err)
	}
}

func (w *world) ttl() time.Duration {
	return rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second, 10 * time.Second, leasehold.Infinite}).Draw(w.t, "ttl")
}

func (w *world) holder() string { return rapid.SampledFrom([]string{"x", "y"}).Draw(w.t, "holder") }

func (w *world) keep(l leasehold.Lease, err error) {
	if err == nil {
		w.live = append(w.live, l)
	}
}

func (w *world) acquire() {
	g, err := w.store.Acquire(context.Background(), leasehold.AcquireRequest{
		Resource: rapid.SampledFrom(names).Draw(w.t, "name"), Holder: w.holder(), TTL: w.ttl()})
	w.keep(g.Lease, err)
}

// acquireSet acquires a set, or another mode of one.
func (w *world) acquireSet() {
	r := leasehold.AcquireRequest{Holder: w.holder(), TTL: w.ttl(), ID: leasehold.NewID()}
	mode := rapid.SampledFrom([]leasehold.Mode{leasehold.Exclusive, leasehold.Shared}).Draw(w.t, "mode")
	for _, n := range names[:rapid.IntRange(1, len(names)).Draw(w.t, "n")] {
		r.Claims = append(r.Claims, leasehold.Claim{Pattern: n, Mode: mode})
	}
	if l, ok := w.one(); ok && len(l.Claims) > 0 {
		r.ID, r.Holder, r.Claims = l.ID, l.Holder, slices.Clone(l.Claims)
		for i := range r.Claims {
			r.Claims[i].Mode = mode
		}
	}
	g, err := w.store.Acquire(context.Background(), r)
	w.keep(g.Lease, err)
}

// one picks a lease that was granted.
func (w *world) one() (leasehold.Lease, bool) {
	if len(w.live) == 0 {
		return leasehold.Lease{}, false
	}
	return w.live[rapid.IntRange(0, len(w.live)-1).Draw(w.t, "lease")], true
}

func (w *world) renew() {
	if l, ok := w.one(); ok {
		w.store.Renew(context.Background(), leasehold.RenewRequest{ID: l.ID, TTL: w.ttl()})
	}
}

func (w *world) release() {
	if l, ok := w.one(); ok {
		w.store.Release(context.Background(), leasehold.ReleaseRequest{ID: l.ID, Why: "done"})
	}
}

func (w *world) transfer() {
	if l, ok := w.one(); ok {
		w.keep(w.store.Transfer(context.Background(), leasehold.TransferRequest{ID: l.ID, To: w.holder()}))
	}
}

func (w *world) change() {
	if l, ok := w.one(); ok {
		w.keep(w.store.Change(context.Background(), leasehold.ChangeRequest{ID: l.ID, Proposed: leasehold.NewID()}))
	}
}

func (w *world) breakOne() {
	r := leasehold.BreakRequest{Resource: rapid.SampledFrom(names).Draw(w.t, "name")}
	if rapid.Bool().Draw(w.t, "slowly") {
		r.Period = new(5 * time.Second)
	}
	w.store.Break(context.Background(), r)
}

func (w *world) forceRelease() {
	w.store.ReleaseHolder(context.Background(), w.holder(), "maintenance")
}

func (w *world) lateExpiry() {
	w.set(leasehold.SettingAutoExpire, rapid.Bool().Draw(w.t, "auto"))
}

func (w *world) cleanup() { w.store.Cleanup(context.Background()) }

func (w *world) toggle() {
	w.gaps = true
	key := rapid.SampledFrom([]string{leasehold.SettingKeepHistory, leasehold.SettingHistoryRenewals}).Draw(w.t, "key")
	w.set(key, rapid.Bool().Draw(w.t, "on"))
}

func (w *world) purge() {
	w.set(leasehold.SettingHistoryMaxRows, rapid.Int64Range(1, 12).Draw(w.t, "rows"))
	w.purged = true
	w.cleanup()
	w.set(leasehold.SettingHistoryMaxRows, int64(1_000_000))
}

// look remembers what the store says now.
func (w *world) look() {
	s := snapshot{at: time.Now(), status: map[string][]leasehold.Lease{}}
	for _, n := range names {
		status, err := w.store.Status(context.Background(), n)
		if err != nil {
			w.t.Fatalf("Status(%q) = %v", n, err)
		}
		switch {
		case status.Leases != nil:
			s.status[n] = status.Leases
		case status.Locked():
			s.status[n] = []leasehold.Lease{*status.Lease}
		}
	}
	page, err := w.store.List(context.Background(), leasehold.ListRequest{})
	if err != nil {
		w.t.Fatalf("List = %v", err)
	}
	s.table = page.Leases
	w.seen = append(w.seen, s)
	time.Sleep(time.Millisecond) // what happens now has another time
}

// check compares what is said of each moment now with what was said then.
func (w *world) check() {
	for _, s := range w.seen {
		for _, n := range names {
			a, err := past.Resource(context.Background(), w.store, n, s.at, nil)
			if err != nil {
				w.t.Fatalf("Resource(%q) = %v", n, err)
			}
			w.allowed(a.Known, a.Why)
			if a.Known == past.Certain {
				w.same(fmt.Sprintf("%s at %v", n, s.at), s.status[n], a.Leases)
			}
		}
		p, err := past.Table(context.Background(), w.store, past.TableRequest{Time: s.at}, nil)
		if err != nil {
			w.t.Fatalf("Table = %v", err)
		}
		w.allowed(p.Known, "table")
		uncertain := slices.ContainsFunc(p.Leases, func(l past.Lease) bool { return l.Known != past.Certain })
		if !w.gaps && uncertain {
			w.t.Fatalf("Table at %v has uncertain leases: %+v", s.at, p.Leases)
		}
		if !w.gaps && !w.purged {
			w.same(fmt.Sprintf("the table at %v", s.at), s.table, p.Leases)
		}
	}
}

// allowed says whether the answer may be uncertain.
func (w *world) allowed(k past.Known, why string) {
	if k == past.Uncertain && !w.gaps || k == past.NotRetained && !w.purged && !w.gaps {
		w.t.Fatalf("the answer is %q (%s), though all records were kept", k, why)
	}
}

// same compares leases. What the records did not say is not compared.
func (w *world) same(what string, want []leasehold.Lease, got []past.Lease) {
	var then, now []string
	for i, l := range want {
		then = append(then, describe(l.Resource, l.Holder, l.Token, l.State, l.Claims))
		if i >= len(got) || got[i].Token != l.Token {
			continue
		}
		g := got[i]
		if !g.AcquiredAt.IsZero() && !g.AcquiredAt.Equal(l.AcquiredAt) {
			w.t.Errorf("%s: AcquiredAt = %v, want %v", what, g.AcquiredAt, l.AcquiredAt)
		}
		if !w.gaps && g.Renewals != l.Renewals {
			w.t.Errorf("%s: Renewals = %d, want %d", what, g.Renewals, l.Renewals)
		}
		if !w.gaps && !w.purged && (g.Endless != (l.Remaining == leasehold.Infinite) || !g.ExpiresAt.Equal(l.ExpiresAt)) {
			w.t.Errorf("%s: ExpiresAt = %v (endless: %v), want %v", what, g.ExpiresAt, g.Endless, l.ExpiresAt)
		}
	}
	for i, l := range got {
		claims := l.Claims
		if l.Token == 0 && i < len(want) { // of a transfer whose former record is purged
			l.Token = want[i].Token
		}
		now = append(now, describe(l.Resource, l.Holder, l.Token, l.State, claims))
	}
	if diff := cmp.Diff(then, now); diff != "" {
		w.t.Fatalf("%s (-then +now):\n%s\nhistory:\n%s", what, diff, w.history())
	}
}

func describe(resource, holder string, token uint64, state leasehold.State, claims []leasehold.Claim) string {
	return fmt.Sprint(resource, " ", holder, " ", token, " ", state, " ", claims)
}

func (w *world) history() (text string) {
	page, _ := w.store.History(context.Background(), leasehold.HistoryRequest{Limit: 1000})
	for _, r := range page.Records {
		text += fmt.Sprintf("%d %s %s %s %s %d %v→%v %v\n", r.Seq, r.At.Format("05.000"), r.Kind, r.Resource, r.Holder, r.Token, r.Before, r.After, r.Details)
	}
	return text
}
