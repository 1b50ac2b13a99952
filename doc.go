// Package leasehold gives a program time-bound, exclusive leases on named
// resources, renews them, and ends the work under a lease before it is lost.
//
//	m, err := leasehold.NewManager(store, nil)
//	…
//	defer m.Close(ctx)
//	err = m.Do(ctx, "prod:invoices", func(ctx context.Context, h *leasehold.Held) error {
//		return work(ctx, h.Token()) // stops when ctx ends; sends the token
//	})
//
// A program uses a Manager: Do and Lead run a function under a lease, Acquire
// and TryAcquire return a handle. AcquireOptions.Claims request one lease on several
// names, or on patterns such as src/auth/**, all or none, shared or exclusively. A driver implements Store: the packages below
// store do, and package storetest checks them.
//
// Read lease.go, claim.go, store.go and errors.go for the vocabulary, manager.go for the
// client, and manager_renew.go for how a lease is kept.
//
// # What is promised
//
// The store grants a resource to one lease at a time, or to several that share it, and
// only its clock decides when a lease has ended. Each grant has a larger fencing token
// than every earlier grant of that resource. So a guard that refuses all but the newest
// token refuses earlier ones of those who share: it suits exclusive leases.
//
// The Manager ends a lease's context before the store can grant the resource to
// another holder, provided that this process runs and that the two clocks run at
// nearly the same speed. It counts the ttl from the moment before the request was
// sent, adds what the store says the request waited, subtracts one percent and
// 2 ms for drift, and declares the lease lost at a safety line that is earlier
// still: at nine tenths of the ttl since the last success. Neither wall clock
// matters, nor how they differ.
//
// A lease is lost by a definitive answer of the store or at the safety line, and
// by nothing else: a renewal without an answer is tried again. An answer after
// the line does not bring the lease back, though the store may keep the resource
// locked until the ttl ends.
//
// A lease is never released under a function of Do or Lead that still runs.
//
// # What is not promised
//
// A lease without a fencing check is advice. Between the last check of the
// context and the write that follows, a process can be stopped: by the garbage
// collector, the scheduler, a page fault, a debugger, a paused virtual machine.
// When it resumes, another may hold its lease, and no library inside it can have
// said so. Work that ignores its context is the same case. The resource itself
// must help: it remembers the highest token it has seen and refuses lower ones.
// Package fence does that.
//
// Clocks whose speeds differ by more than the allowance shorten or consume the
// safety margin; a lower Options.SafetyThreshold widens it, at the price of
// earlier renewals.
//
// A machine that was suspended too long resumes with its leases lost. On Linux
// the clock that runs during suspend shows that. Elsewhere the wall clock is
// used, and a step of it counts as time passed: a step may cost a lease but does
// not keep one. Contexts end within half a second of resuming; Held.Err knows at
// once. A virtual machine that is stopped from outside may see no clock move at
// all; then only fencing helps.
//
// A broken lease is noticed at the next renewal, which may be after the break
// period. An infinite lease cannot run out, so only a definitive answer loses it:
// it is verified every 30 s, and counts as held while the store cannot be
// reached. Suspend does not lose it, but it is verified on resuming.
//
// Events and the times of a lease are for people. No decision depends on them.
package leasehold
