// Package leasehold gives a program time-bound, exclusive leases on named
// resources, keeps them renewed, and says so before one is lost.
//
//	m, err := leasehold.NewManager(store, nil)
//	…
//	defer m.Close(ctx)
//	err = m.Do(ctx, "prod:invoices", func(ctx context.Context, h *leasehold.Held) error {
//		return work(ctx, h.Token()) // stops when ctx ends; sends the token along
//	})
//
// A program uses a Manager: Do and Lead run a function under a lease, Acquire
// and TryAcquire return a handle. A driver implements Store; packages below
// store do, and package storetest says whether one does it right.
//
// # What is promised
//
// The store grants a resource to one lease at a time and alone judges, by its
// own clock, when that lease has ended. Each grant has a larger fencing token
// than every grant of that resource before.
//
// The Manager ends a lease's context before the store can grant the resource
// to anybody else, provided that this process runs and that the two clocks run
// at nearly the same speed. To this end it counts the ttl from the moment before
// the request was sent, adds what the store says the request waited, takes off
// one percent and 2 ms for drift, and declares the lease lost at a safety line
// that lies earlier still: at nine tenths of the ttl since the last success.
// Neither wall clock matters, nor how they differ.
//
// A lease is lost by a definitive answer of the store or at the safety line, and
// by nothing else: a renewal that fails for want of an answer is tried again. An
// answer that comes after the line does not bring the lease back, though the
// store may keep the resource locked until the ttl ends.
//
// A lease is never released under a function of Do or Lead that still runs.
//
// # What is not promised
//
// A lease without a fencing check is advice. Between the last look at the
// context and the write that follows, a process can be stopped: by the garbage
// collector, the scheduler, a page fault, a debugger, a paused virtual machine.
// When it goes on, its lease may be another's, and no library inside it can have
// told it. Work that ignores its context is the same case. What helps is the
// resource itself: let it remember the highest token it has seen and refuse
// lower ones. Package fence does that.
//
// Clocks that run at different speeds by more than the allowance shorten or
// consume the safety margin; a lower Options.SafetyThreshold widens it, at the
// price of renewing earlier.
//
// A machine that slept comes back with its leases lost if it slept too long.
// On Linux that is seen by the clock that goes on during suspend. Elsewhere the
// wall clock has to serve, and a step of it counts as time passed: a step may
// cost a lease but does not keep one. Contexts end within half a second of
// waking; Held.Err knows at once. A virtual machine that is stopped from outside
// may see no clock move at all; then only fencing helps.
//
// A lease that somebody breaks is noticed at the next renewal, which may be
// after the break period. An infinite lease cannot run out, so only a definitive
// answer loses it: it is verified every 30 s, and while the store cannot be
// reached it is taken for held. Sleep does not lose it, but it is verified on
// waking.
//
// Events and the times that a lease carries are for people. Nothing is judged by
// them.
package leasehold
