package storetest

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/leasehold/leasehold"
)

// checkFor is how long the check of one resource may take.
const checkFor = time.Minute

// CheckHistory expects a recorded history to be linearizable: some order of
// the calls, in which each takes effect at one moment between its start and
// its end, explains all answers. So no two leases overlap, tokens strictly
// grow, no acknowledged grant or release is lost, and nothing ended comes back.
//
// A call that ended in ErrUnknown may have happened, may happen later, or
// never. A call that ended in ErrUnavailable must not have happened: that is
// what the error says.
func CheckHistory(t testing.TB, rec *Recording) {
	t.Helper()
	if err := rec.Check(); err != nil {
		t.Error(err)
	}
}

// Check is CheckHistory for tests that expect a failure.
func (r *Recording) Check() error {
	byResource := map[string][]porcupine.Operation{}
	for _, c := range r.calls {
		if c.result == unexpected {
			return fmt.Errorf("%s of %q by %q = %v, which no store may answer here", c.kind, c.resource, c.holder, c.err)
		}
		if c.result != nothing {
			byResource[c.resource] = append(byResource[c.resource], porcupine.Operation{Input: c, Call: c.begin, Return: c.end})
		}
	}
	for resource, calls := range byResource {
		if err := checkCalls(resource, calls); err != nil {
			return err
		}
	}
	return nil
}

func checkCalls(resource string, calls []porcupine.Operation) error {
	verdict, info := porcupine.CheckOperationsVerbose(model.ToModel(), calls, checkFor)
	switch verdict {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("the history of %q, %d calls, is too tangled to decide in %v; record a shorter one", resource, len(calls), checkFor)
	}
	return fmt.Errorf("the history of %q, %d calls, is not linearizable\n%s", resource, len(calls), whereStuck(calls, info))
}

// whereStuck shows where the longest attempt to order the calls got stuck.
func whereStuck(calls []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, attempts := range info.PartialLinearizationsOperations() {
		for _, attempt := range attempts {
			if len(attempt) > len(longest) {
				longest = attempt
			}
		}
	}
	placed := map[int64]bool{}
	for _, c := range longest {
		placed[c.Call] = true
	}
	var left []porcupine.Operation
	for _, c := range calls {
		if !placed[c.Call] {
			left = append(left, c)
		}
	}
	slices.SortFunc(left, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	b.WriteString("the last calls that can be put in order:\n")
	writeCalls(&b, longest[max(0, len(longest)-8):])
	b.WriteString("none of these can be next:\n")
	writeCalls(&b, left[:min(8, len(left))])
	return b.String()
}

func writeCalls(b *strings.Builder, calls []porcupine.Operation) {
	for _, o := range calls {
		fmt.Fprintf(b, "\t%v\n", o.Input.(call))
	}
}

// String shows a hash of the id instead of the secret.
func (c call) String() string {
	end := fmt.Sprint(c.end)
	if c.end == math.MaxInt64 {
		end = "?"
	}
	return fmt.Sprintf("%4d–%-4s %-8s id #%04x holder %q: %s, locked %v by %q with token %d",
		c.begin, end, c.kind, maphash.Comparable(seed, c.id)&0xffff, c.holder, c.result, c.locked, c.owner, c.token)
}

// register is the model of one resource: who holds it, by which id and token.
// It knows no time. Where a lease may expire, the model allows for both.
type register struct {
	locked bool
	mayEnd bool
	id     leasehold.ID // zero: made by the store, and the answer was lost
	holder string
	token  uint64 // zero: granted, but the answer was lost
	last   uint64 // the highest token known to have been given
	unsure bool   // there was a grant since, and its token was lost
}

// step returns all the states in which the call may leave the register, given
// its answer; none if no such answer is possible.
func (s register) step(c call) []register {
	next := s.answer(c)
	if s.locked && s.mayEnd {
		next = append(next, s.ended().answer(c)...)
	}
	return next
}

func (s register) answer(c call) []register {
	switch c.kind {
	case callAcquire:
		return s.acquire(c)
	case callRenew:
		return s.use(c, s.locked && s.id == c.id, func(s register) register { return s })
	case callRelease:
		return s.use(c, s.locked && s.id == c.id, register.ended)
	case callBreak:
		return s.use(c, s.locked, register.ended)
	case callTransfer:
		return s.transfer(c)
	}
	return s.status(c)
}

func (s register) acquire(c call) []register {
	mine := s.locked && s.id == c.id && s.holder == c.holder
	switch {
	case c.result == done && !s.locked && c.token > s.last:
		return one(s.grant(c, c.id, c.token))
	case c.result == repeated && mine:
		return s.shows(c)
	case c.result == held && s.locked && !mine:
		return s.shows(c)
	case c.result == gone && !mine:
		return one(s)
	case c.result == inDoubt && !s.locked:
		return []register{s, s.grant(c, c.id, 0)}
	case c.result == inDoubt:
		return one(s)
	}
	return nil
}

// grant starts a lease. The store may release one whose id nobody knows at any
// time.
func (s register) grant(c call, id leasehold.ID, token uint64) register {
	return register{
		locked: true, id: id, holder: c.holder, token: token,
		mayEnd: c.mayEnd || token == 0 && !c.proposed,
		last:   max(s.last, token), unsure: token == 0 || s.unsure && token == 0,
	}
}

func (s register) ended() register {
	return register{last: s.last, unsure: s.unsure}
}

// use is a call that needs a certain lease to be live.
func (s register) use(c call, live bool, effect func(register) register) []register {
	switch {
	case c.result == done && live:
		var next []register
		for _, known := range s.shows(c) {
			next = append(next, effect(known))
		}
		return next
	case c.result == gone && !live:
		return one(s)
	case c.result == inDoubt && live:
		return []register{s, effect(s)}
	case c.result == inDoubt:
		return one(s)
	}
	return nil
}

func (s register) transfer(c call) []register {
	live := s.locked && s.id == c.id
	to := c
	to.mayEnd = s.mayEnd
	to.proposed = true
	switch {
	case c.result == done && live && c.token > s.last:
		return one(s.grant(to, c.next, c.token))
	case c.result == done && s.locked && s.id == c.next && s.holder == c.holder: // it was carried out before
		return s.shows(c)
	case c.result == gone && !live:
		return one(s)
	case c.result == inDoubt && live:
		return []register{s, s.grant(to, c.next, 0)}
	case c.result == inDoubt:
		return one(s)
	}
	return nil
}

func (s register) status(c call) []register {
	switch {
	case c.result == inDoubt:
		return one(s)
	case c.result != done || c.locked != s.locked:
		return nil
	case c.locked:
		return s.shows(c)
	case c.token == 0 || c.token == s.last && !s.unsure: // forgotten, or the last one
		return one(s)
	case s.unsure && c.token >= s.last:
		s.last, s.unsure = c.token, false
		return one(s)
	}
	return nil
}

// shows compares the lease in an answer with the one that is live, and learns
// the token of a grant whose answer was lost.
func (s register) shows(c call) []register {
	switch {
	case c.token == 0 && c.result == held: // it does not say
		return one(s)
	case c.owner != s.holder:
		return nil
	case s.token == c.token:
		return one(s)
	case s.token == 0 && c.token > s.last:
		s.token, s.last, s.unsure = c.token, c.token, false
		return one(s)
	}
	return nil
}

func one(s register) []register { return []register{s} }

var seed = maphash.MakeSeed()

// model is the register for porcupine, one for each resource.
var model = porcupine.NondeterministicModel{
	Init: func() []any { return []any{register{}} },
	Step: func(state, input, _ any) []any {
		var next []any
		for _, s := range state.(register).step(input.(call)) {
			next = append(next, s)
		}
		return next
	},
	Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(register)) },
}
