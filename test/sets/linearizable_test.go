package sets_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
)

// kinds are what the workers claim, each exclusively at an even place and shared at the
// next.
var kinds = func() (all [][]leasehold.Claim) {
	for _, claims := range [][]leasehold.Claim{
		leasehold.Resources("a"), leasehold.Resources("b"), leasehold.Resources("c"), leasehold.Resources("a", "b"), leasehold.Resources("b", "c"),
		leasehold.Paths("repo", "a/**"), leasehold.Paths("repo", "*/b"), leasehold.Paths("repo", "b/*"), leasehold.Paths("repo", "a", "b"),
		leasehold.Paths("repo", "**"), leasehold.Paths("services:", "a:**"),
		append(leasehold.Paths("repo", "a/b"), leasehold.Resources("a")...), append(leasehold.Paths("services:", "*:b"), leasehold.Resources("c")...),
	} {
		readers := slices.Clone(claims)
		for i := range readers {
			readers[i].Mode = leasehold.Shared
		}
		all = append(all, claims, readers)
	}
	return all
}()

// excludes says which of the kinds cannot live side by side.
var excludes = func() (table [][]bool) {
	for _, a := range kinds {
		row := make([]bool, len(kinds))
		for j, b := range kinds {
			row[j] = exclude(a, b)
		}
		table = append(table, row)
	}
	return table
}()

// event is one call of a worker and its answer.
type event struct {
	verb  string // "acquire", "modes", "release", "break", "status"
	kind  int    // what is claimed
	name  string // of the lease, or of the resource for a status
	token uint64 // of a grant
	by    uint64 // token of the lease in the way; zero: none
	gone  bool   // the lease meant was not live
	seen  string // tokens that a status shows
}

// register is the model: the live leases, by token.
type register struct {
	last uint64
	live []held
}

type held struct {
	token uint64
	name  string
	kind  int
}

// step returns the register after the event, and whether such an answer is possible. The
// engine counts all grants with one counter, so tokens grow from each to the next.
func (r register) step(e event) (bool, register) {
	at := slices.IndexFunc(r.live, func(h held) bool { return h.name == e.name })
	switch {
	case e.by != 0:
		return slices.ContainsFunc(r.live, func(h held) bool { return h.token == e.by && excludes[e.kind][h.kind] }), r
	case e.verb == "status":
		return e.seen == r.covering(e.name), r
	case e.verb == "acquire":
		return e.token > r.last && !r.blocks(e.kind, ""), r.with(held{e.token, e.name, e.kind})
	case at < 0 || e.gone:
		return at < 0 && e.gone, r
	case e.verb == "modes":
		return e.token > r.last && !r.blocks(e.kind, e.name), r.without(at).with(held{e.token, e.name, e.kind})
	}
	return r.live[at].token == e.token, r.without(at)
}

// blocks says whether a live lease other than the named one is in the way.
func (r register) blocks(kind int, own string) bool {
	return slices.ContainsFunc(r.live, func(h held) bool { return h.name != own && excludes[kind][h.kind] })
}

func (r register) without(at int) register {
	return register{r.last, slices.Delete(slices.Clone(r.live), at, at+1)}
}

func (r register) with(h held) register {
	return register{h.token, append(r.live[:len(r.live):len(r.live)], h)}
}

// covering are the tokens of the live leases that have a plain name.
func (r register) covering(name string) string {
	var tokens []uint64
	for _, h := range r.live {
		if slices.ContainsFunc(kinds[h.kind], func(c leasehold.Claim) bool { return c.Namespace == "" && c.Pattern == name }) {
			tokens = append(tokens, h.token)
		}
	}
	return fmt.Sprint(tokens)
}

var seed = maphash.MakeSeed()

var registers = porcupine.Model{
	Init: func() any { return register{} },
	Step: func(state, input, _ any) (bool, any) { return state.(register).step(input.(event)) },
	Equal: func(a, b any) bool {
		x, y := a.(register), b.(register)
		return x.last == y.last && slices.Equal(x.live, y.live)
	},
	Hash: func(state any) uint64 {
		var h maphash.Hash
		h.SetSeed(seed)
		for _, l := range state.(register).live {
			maphash.WriteComparable(&h, l)
		}
		return h.Sum64()
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// recording is the history of all workers.
type recording struct {
	mu    sync.Mutex
	clock int64
	calls []porcupine.Operation
}

func (r *recording) tick() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	return r.clock
}

// add records an event that began at that time. One without an event is left out: its
// answer says nothing about the leases.
func (r *recording) add(client int, began int64, e *event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	if e != nil {
		r.calls = append(r.calls, porcupine.Operation{ClientId: client, Input: *e, Call: began, Return: r.clock})
	}
}

// worker acquires and ends leases, at random.
type worker struct {
	testing.TB
	engine *local.Engine
	rec    *recording
	number int
	random *rand.Rand
	mine   []owned
	other  string // a lease of another that was in the way
}

type owned struct {
	name string
	id   leasehold.ID
	kind int
}

func (w *worker) run(calls int) {
	for range calls {
		if len(w.mine) == 0 || len(w.mine) < 3 && w.random.IntN(3) == 0 {
			w.acquire(w.random.IntN(len(kinds)))
			continue
		}
		l := w.random.IntN(len(w.mine))
		switch n := w.random.IntN(10); {
		case n < 3:
			w.changeModes(l)
		case n == 3 && w.other != "":
			w.breakLease()
		case n < 6:
			w.status(names[w.random.IntN(len(names))])
		default:
			w.release(l)
		}
	}
	for len(w.mine) > 0 {
		w.release(0)
	}
}

func (w *worker) holder() string { return fmt.Sprint("worker ", w.number) }

func (w *worker) acquire(kind int) {
	r := leasehold.AcquireRequest{Claims: kinds[kind], Holder: w.holder(), ID: leasehold.NewID(), TTL: leasehold.Infinite}
	g, e := w.send(r, event{verb: "acquire", kind: kind})
	if e != nil && e.token != 0 {
		w.mine = append(w.mine, owned{g.Resource, r.ID, kind})
	}
}

func (w *worker) changeModes(at int) {
	l := &w.mine[at]
	r := leasehold.AcquireRequest{Claims: kinds[l.kind^1], Holder: w.holder(), ID: l.id, TTL: leasehold.Infinite}
	_, e := w.send(r, event{verb: "modes", kind: l.kind ^ 1, name: l.name})
	switch {
	case e != nil && e.token != 0:
		l.kind ^= 1
	case e != nil && e.gone:
		w.mine = slices.Delete(w.mine, at, at+1)
	}
}

// send acquires, with or without waiting, and records what the answer says.
func (w *worker) send(r leasehold.AcquireRequest, e event) (leasehold.Grant, *event) {
	acquire := w.engine.Acquire
	if w.random.IntN(2) == 0 {
		r.Timeout, r.Priority = time.Duration(1+w.random.IntN(20))*time.Millisecond, w.random.IntN(2)
		acquire = w.engine.Wait
	}
	began := w.rec.tick()
	g, err := acquire(context.Background(), r)
	answered := w.answer(&e, g, err)
	w.rec.add(w.number, began, answered)
	return g, answered
}

// answer says what the answer to an acquire shows, or nil if that is nothing.
func (w *worker) answer(e *event, g leasehold.Grant, err error) *event {
	var typed *leasehold.Error
	switch {
	case err == nil:
		e.token, e.name = g.Token, g.Resource
	case !errors.As(err, &typed):
		w.Errorf("acquire = %v, which is no *Error", err)
		return nil
	case errors.Is(err, leasehold.ErrHeld) && typed.Reserved == "" && typed.Reason == leasehold.ReasonHeld:
		e.by, w.other = typed.Current.Token, typed.Current.Resource
	case errors.Is(err, leasehold.ErrLost):
		e.gone = true
	case typed.Reserved != "", errors.Is(err, leasehold.ErrTimeout):
		return nil
	default:
		w.Errorf("acquire = %v, which no store may answer here", err)
		return nil
	}
	return e
}

func (w *worker) release(at int) {
	l := w.mine[at]
	w.mine = slices.Delete(w.mine, at, at+1)
	w.end(event{verb: "release", kind: l.kind, name: l.name}, func() (leasehold.Lease, error) {
		return w.engine.Release(context.Background(), leasehold.ReleaseRequest{ID: l.id})
	})
}

func (w *worker) breakLease() {
	name := w.other
	w.other = ""
	w.end(event{verb: "break", name: name}, func() (leasehold.Lease, error) {
		return w.engine.Break(context.Background(), leasehold.BreakRequest{Resource: name})
	})
}

// end records a call that ends a lease.
func (w *worker) end(e event, send func() (leasehold.Lease, error)) {
	began := w.rec.tick()
	l, err := send()
	switch {
	case err == nil:
		e.token = l.Token
	case errors.Is(err, leasehold.ErrLost), errors.Is(err, leasehold.ErrNotFound):
		e.gone = true
	default:
		w.Errorf("%s = %v, which no store may answer here", e.verb, err)
		return
	}
	w.rec.add(w.number, began, &e)
}

func (w *worker) status(name string) {
	began := w.rec.tick()
	s, err := w.engine.Status(context.Background(), name)
	if err != nil {
		w.Errorf("Status(%q) = %v", name, err)
		return
	}
	var tokens []uint64
	for _, l := range s.Leases {
		tokens = append(tokens, l.Token)
	}
	w.rec.add(w.number, began, &event{verb: "status", name: name, seen: fmt.Sprint(tokens)})
}

// TestSetsAreLinearizable: what concurrent workers see could have happened one after
// the other: each set was granted as a whole, and no two live leases exclude each other.
func TestSetsAreLinearizable(t *testing.T) {
	for round := range soak.Rounds(3, 60) {
		engine, rec := memory.New(), &recording{}
		var wg sync.WaitGroup
		for n := range 16 {
			w := &worker{TB: t, engine: engine, rec: rec, number: n, random: rand.New(rand.NewPCG(uint64(round), rand.Uint64()))}
			wg.Go(func() { w.run(30) })
		}
		wg.Wait()
		engine.Close()
		checkRecording(t, rec)
		if t.Failed() {
			return
		}
	}
}

func checkRecording(t *testing.T, rec *recording) {
	t.Helper()
	grants := 0
	for _, c := range rec.calls {
		if e := c.Input.(event); e.verb == "acquire" && e.token != 0 {
			grants++
		}
	}
	if grants < 50 {
		t.Fatalf("%d grants among %d calls; the workers did not compete", grants, len(rec.calls))
	}
	switch porcupine.CheckOperationsTimeout(registers, rec.calls, time.Minute) {
	case porcupine.Unknown:
		t.Fatalf("a history of %d calls is too tangled to decide", len(rec.calls))
	case porcupine.Illegal:
		slices.SortFunc(rec.calls, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		for _, c := range rec.calls {
			t.Logf("%4d–%-4d worker %d %+v", c.Call, c.Return, c.ClientId, c.Input)
		}
		t.Error("the history is not linearizable")
	}
}

// TestRegisterRefuses: a model that allows everything shows nothing.
func TestRegisterRefuses(t *testing.T) {
	r := register{last: 7, live: []held{{5, "__set__5", 0}, {7, "__set__7", 3}}} // a exclusively, b shared
	for _, tt := range []struct {
		name string
		e    event
		want bool
	}{
		{"a free kind", event{verb: "acquire", kind: 4, name: "__set__8", token: 8}, true},
		{"an old token", event{verb: "acquire", kind: 4, name: "__set__7", token: 7}, false},
		{"a held kind", event{verb: "acquire", kind: 0, name: "__set__8", token: 8}, false},
		{"half of it held", event{verb: "acquire", kind: 6, name: "__set__8", token: 8}, false},
		{"shared with a reader", event{verb: "acquire", kind: 3, name: "__set__8", token: 8}, true},
		{"refused by the one in the way", event{verb: "acquire", kind: 6, by: 5}, true},
		{"refused by one that is not", event{verb: "acquire", kind: 4, by: 5}, false},
		{"refused by one that is not live", event{verb: "acquire", kind: 0, by: 6}, false},
		{"an upgrade", event{verb: "modes", kind: 2, name: "__set__7", token: 8}, true},
		{"an upgrade with an old token", event{verb: "modes", kind: 2, name: "__set__7", token: 7}, false},
		{"an upgrade of what has ended", event{verb: "modes", kind: 2, name: "__set__6", token: 8}, false},
		{"gone", event{verb: "release", name: "__set__6", gone: true}, true},
		{"gone, but live", event{verb: "release", name: "__set__7", gone: true}, false},
		{"released", event{verb: "release", name: "__set__7", token: 7}, true},
		{"released with another token", event{verb: "break", name: "__set__7", token: 6}, false},
		{"a status", event{verb: "status", name: "b", seen: "[7]"}, true},
		{"a status of nothing", event{verb: "status", name: "b", seen: "[]"}, false},
	} {
		if got, _ := r.step(tt.e); got != tt.want {
			t.Errorf("step(%s) = %t, want %t", tt.name, got, tt.want)
		}
	}
}
