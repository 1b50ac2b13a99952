package storetest

import (
	"hash/maphash"

	"github.com/anishathalye/porcupine"

	"github.com/leasehold/leasehold"
)

// register is the model of one resource: who holds it, by which id and token.
// It knows no time. A lease that may end by itself is mortal, and then the
// model allows for both.
type register struct {
	locked bool
	mortal bool
	id     leasehold.ID // zero: made by the store for a caller that never got it
	holder string
	token  uint64 // zero: granted, but the answer was lost
	last   uint64 // the highest token known to have been given
	unsure bool   // there was a grant since, whose token nobody was told
}

// step returns all the states in which the call may leave the register, given
// its answer; none if no such answer is possible.
func (s register) step(c call) []register {
	next := s.answer(c)
	if s.locked && s.mortal {
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

// grant starts a lease. One whose id nobody knows may be given back by the
// store at any time: it is mortal.
func (s register) grant(c call, id leasehold.ID, token uint64) register {
	return register{
		locked: true, id: id, holder: c.holder, token: token,
		mortal: c.mortal || token == 0 && !c.proposed,
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
	to.mortal = s.mortal
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
