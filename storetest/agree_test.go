package storetest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/store/memory"
)

// TestEngineAgrees compares the embedded engine with the naive store over random
// histories: names, sets, modes, upgrades, waits with reservations, cycles, notes,
// breaks, transfers, force-releases and time.
func TestEngineAgrees(t *testing.T) {
	t.Parallel()
	for seed := range uint64(soak.Rounds(300, 5_000)) {
		synctest.Test(t, func(t *testing.T) { agree(t, seed) })
		if t.Failed() {
			return
		}
	}
}

// twin is what the two stores have in common.
type twin interface {
	leasehold.Store
	leasehold.Waiter
	leasehold.Breaker
	leasehold.Transferer
	leasehold.HolderReleaser
}

// history is one random history on both stores.
type history struct {
	*testing.T
	*rand.Rand
	seed   uint64
	stores [2]twin
	log    []string

	granted []leasehold.AcquireRequest // by which a lease was granted that may be live
	waits   []*twinWait
	over    bool // tokens differ from here on
}

// twinWait is one wait on both stores.
type twinWait struct {
	r     leasehold.AcquireRequest
	done  [2]bool
	grant [2]leasehold.Grant
	err   [2]error
}

func agree(t *testing.T, seed uint64) {
	h := &history{T: t, Rand: rand.New(rand.NewPCG(seed, 15)), seed: seed, stores: [2]twin{newNaive(none), memory.New()}}
	defer func() {
		for _, s := range h.stores {
			_ = s.Close()
		}
		synctest.Wait()
	}()
	for range 60 {
		h.step()
		time.Sleep(time.Millisecond) // so that ends never fall on the moment of a call
		synctest.Wait()
		if h.compareWaits(); h.over {
			return
		}
		for _, name := range names {
			h.compare("Status("+name+")", func(s twin) string { return shownStatus(s.Status(t.Context(), name)) })
		}
	}
}

var (
	names    = []string{"a", "b", "c"}
	patterns = []string{"x/**", "x/y", "x/*", "**", "z"}
)

// compare makes a call on both and expects the same answer.
func (h *history) compare(call string, make func(twin) string) {
	h.Helper()
	naive, engine := make(h.stores[0]), make(h.stores[1])
	h.log = append(h.log, fmt.Sprintf("%s %s = %s", time.Now().Format("04:05.000"), call, naive))
	if naive != engine {
		h.Fatalf("seed %d: %s = %s by the engine, %s by the naive store, after\n%s", h.seed, call, engine, naive, strings.Join(h.log, "\n"))
	}
}

func (h *history) step() {
	switch n := h.IntN(20); {
	case n < 6:
		h.acquire(h.request())
	case n < 12:
		h.wait(h.request())
	case n < 16:
		h.release()
	case n < 17:
		h.breakName()
	case n < 18:
		h.transfer()
	case n < 19:
		holder := h.holder()
		h.compare("ReleaseHolder("+holder+")", func(s twin) string { return fmt.Sprint(s.ReleaseHolder(h.Context(), holder, "")) })
	default:
		time.Sleep(time.Duration(1+2*h.IntN(20_000)) * time.Millisecond)
	}
}

func (h *history) holder() string { return fmt.Sprint("h", h.IntN(5)) }

// request is a new one, or one of before in other modes.
func (h *history) request() leasehold.AcquireRequest {
	if n := len(h.granted); n > 0 && h.IntN(4) == 0 {
		r := h.granted[h.IntN(n)]
		r.Claims = slices.Clone(r.Claims)
		for i := range r.Claims {
			r.Claims[i].Mode = h.mode()
		}
		return r
	}
	r := leasehold.AcquireRequest{
		Holder: h.holder(), ID: leasehold.NewID(), TTL: 2 * time.Duration(1500+h.IntN(60_000)) * time.Millisecond,
		Sequence: h.IntN(3) > 0, Timeout: leasehold.NoTimeout,
	}
	if h.IntN(3) == 0 {
		r.Resource = names[h.IntN(len(names))]
		return r
	}
	for _, i := range h.Perm(len(names))[:h.IntN(3)] {
		r.Claims = append(r.Claims, leasehold.Claim{Pattern: names[i], Mode: h.mode()})
	}
	if len(r.Claims) == 0 || h.IntN(3) == 0 {
		for _, i := range h.Perm(len(patterns))[:1+h.IntN(2)] {
			r.Claims = append(r.Claims, leasehold.Claim{Namespace: "ns", Pattern: patterns[i], Mode: h.mode()})
		}
	}
	return r
}

func (h *history) mode() leasehold.Mode { return leasehold.Mode(h.IntN(2)) }

// waiting reports whether somebody waits with this id, or this holder waits. One holder
// waits once at a time, as one sequence of work does; the naive store knows nothing of
// requests that take over the place of another.
func (h *history) waiting(id leasehold.ID, holder string) bool {
	return slices.ContainsFunc(h.waits, func(w *twinWait) bool { return w.r.ID == id || w.r.Holder == holder })
}

func (h *history) acquire(r leasehold.AcquireRequest) {
	if h.waiting(r.ID, "") {
		return
	}
	r.Priority = 0
	h.compare("Acquire"+described(r), func(s twin) string {
		g, err := s.Acquire(h.Context(), r)
		if err == nil && s == h.stores[0] {
			h.remember(r)
		}
		return shownGrant(g, err)
	})
}

func (h *history) remember(r leasehold.AcquireRequest) {
	h.granted = slices.DeleteFunc(h.granted, func(old leasehold.AcquireRequest) bool { return old.ID == r.ID })
	h.granted = append(h.granted, r)
}

func (h *history) wait(r leasehold.AcquireRequest) {
	if h.waiting(r.ID, r.Holder) {
		return
	}
	r.Priority = h.IntN(2)
	w := &twinWait{r: r}
	h.waits = append(h.waits, w)
	h.log = append(h.log, fmt.Sprintf("%s Wait%s", time.Now().Format("04:05.000"), described(r)))
	for i, s := range h.stores {
		go func() {
			w.grant[i], w.err[i] = s.Wait(h.Context(), r)
			w.done[i] = true
		}()
	}
}

// compareWaits expects the same waits to be answered in the same way. In which order
// one event grants to several that do not meet is a store's choice.
func (h *history) compareWaits() {
	h.Helper()
	var on []*twinWait
	for _, w := range h.waits {
		if w.done[0] && w.done[1] && w.err[0] == nil && w.err[1] == nil && w.grant[0].Token != w.grant[1].Token {
			h.over = true
			return
		}
		h.compare("the Wait"+described(w.r), func(s twin) string {
			i := slices.Index(h.stores[:], s)
			if !w.done[i] {
				return "no answer"
			}
			return shownGrant(w.grant[i], w.err[i])
		})
		switch {
		case !w.done[0]:
			on = append(on, w)
		case w.err[0] == nil:
			h.remember(w.r)
		}
	}
	h.waits = on
}

func (h *history) release() {
	if len(h.granted) == 0 {
		return
	}
	i := h.IntN(len(h.granted))
	r := leasehold.ReleaseRequest{ID: h.granted[i].ID, Note: []string{"", fmt.Sprint("note ", len(h.log))}[h.IntN(2)]}
	h.compare("Release"+described(h.granted[i]), func(s twin) string { return shownLease(s.Release(h.Context(), r)) })
	h.granted = slices.Delete(h.granted, i, i+1)
}

func (h *history) breakName() {
	period := time.Duration(h.IntN(3)) * 1501 * time.Millisecond
	r := leasehold.BreakRequest{Resource: names[h.IntN(len(names))], Period: &period}
	h.compare(fmt.Sprintf("Break(%s) in %v", r.Resource, period), func(s twin) string {
		l, err := s.Break(h.Context(), r)
		return fmt.Sprint(l.State, " ", leasehold.ReasonOf(err)) // of which one, if several end together, is open
	})
}

func (h *history) transfer() {
	if len(h.granted) == 0 {
		return
	}
	i := h.IntN(len(h.granted))
	moved := h.granted[i]
	r := leasehold.TransferRequest{ID: moved.ID, To: h.holder(), Proposed: leasehold.NewID(), Note: "handed over"}
	h.compare("Transfer"+described(moved)+" to "+r.To, func(s twin) string {
		l, err := s.Transfer(h.Context(), r)
		if err == nil {
			h.granted[i].ID, h.granted[i].Holder = r.Proposed, r.To
		}
		return shownLease(l, err)
	})
}

func described(r leasehold.AcquireRequest) string {
	return fmt.Sprintf("(%s%v) by %s, priority %d, sequence %v, ttl %v", r.Resource, r.Claims, r.Holder, r.Priority, r.Sequence, r.TTL)
}

func shownGrant(g leasehold.Grant, err error) string {
	return fmt.Sprint(shownLease(g.Lease, err), ", idempotent ", g.Idempotent)
}

// shownLease shows what the stores agree on. Which of several leases in the way a
// refusal names is open, so breaking is held.
func shownLease(l leasehold.Lease, err error) string {
	if err != nil {
		reason := leasehold.ReasonOf(err)
		if reason == leasehold.ReasonBreaking {
			reason = leasehold.ReasonHeld
		}
		return string(reason)
	}
	notes := slices.Clone(l.Notes)
	slices.SortFunc(notes, func(a, b leasehold.Note) int { return strings.Compare(a.From+a.Text, b.From+b.Text) })
	return fmt.Sprintf("%v %s %v of %s, token %d, %d renewals, %v left, notes %q", l.State, l.Resource, l.Claims, l.Holder, l.Token, l.Renewals, l.Remaining, notes)
}

func shownStatus(s leasehold.Status, err error) string {
	if err != nil {
		return err.Error()
	}
	text := "free"
	if s.Locked() {
		text = shownLease(*s.Lease, nil)
	}
	for _, l := range s.Leases {
		text += fmt.Sprint(", ", l.Token)
	}
	for _, w := range s.Waiters {
		text += fmt.Sprint(", ", w.Holder, " waits")
	}
	return text
}
