package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/machine"
)

const (
	firstPoll = 250 * time.Millisecond // a grant before that needs no progress
	pollEvery = time.Second
)

// progress shows on standard error how a wait goes: on a terminal one line that
// is kept up to date, in a log a line for each change.
type progress struct {
	a       *app
	live    bool        // a terminal
	several bool        // the wait is for several: say which part is held
	reached atomic.Bool // the store has answered

	mu   sync.Mutex
	last string // what was written last

	cancel context.CancelFunc
	done   chan struct{}
}

// startProgress polls the queue that r waits in until stop.
func (a *app) startProgress(ctx context.Context, s leasehold.Store, r leasehold.AcquireRequest) *progress {
	ctx, cancel := context.WithCancel(ctx)
	p := &progress{a: a, live: isTerminal(a.err), several: len(r.Claims) > 0, cancel: cancel, done: make(chan struct{})}
	go p.poll(ctx, s, r)
	return p
}

// newProgress shows what its caller polls.
func (a *app) newProgress() *progress {
	p := &progress{a: a, live: isTerminal(a.err), cancel: func() {}, done: make(chan struct{})}
	close(p.done)
	return p
}

func (p *progress) poll(ctx context.Context, s leasehold.Store, r leasehold.AcquireRequest) {
	defer close(p.done)
	for pause := firstPoll; sleep.For(ctx, pause); pause = pollEvery {
		status, err := lookUp(ctx, s, r)
		if err != nil {
			continue // the wait itself reports what is wrong
		}
		p.reached.Store(true)
		p.show(positionOf(status, r), status)
	}
}

// maxLooks is how many claims of a request one poll looks up.
const maxLooks = 8

// lookUp returns the status of what r waits for: of several, the first that another
// lease has.
func lookUp(ctx context.Context, s leasehold.Store, r leasehold.AcquireRequest) (leasehold.Status, error) {
	if len(r.Claims) == 0 {
		return s.Status(ctx, r.Resource)
	}
	for _, c := range r.Claims[:min(maxLooks, len(r.Claims))] {
		status, err := lookUpClaim(ctx, s, c)
		if err != nil {
			return leasehold.Status{}, err
		}
		for _, l := range status.Leases {
			if place, ok := machine.Conflict([]leasehold.Claim{c}, machine.Covers(l.Resource, l.Claims)); ok && l.State.Locked() {
				return leasehold.Status{Resource: place.Part, Lease: &l, Waiters: status.Waiters}, nil
			}
		}
	}
	return leasehold.Status{}, nil
}

// lookUpClaim returns the leases that a claim may conflict with.
func lookUpClaim(ctx context.Context, s leasehold.Store, c leasehold.Claim) (leasehold.Status, error) {
	if c.Namespace == "" {
		status, err := s.Status(ctx, c.Pattern)
		if status.Leases == nil && status.Lease != nil {
			status.Leases = []leasehold.Lease{*status.Lease}
		}
		return status, err
	}
	lister, err := power[leasehold.Lister](s, "list")
	if err != nil {
		return leasehold.Status{}, err
	}
	page, err := lister.List(ctx, leasehold.ListRequest{Namespace: c.Namespace, Path: c.Pattern})
	return leasehold.Status{Leases: page.Leases}, err
}

// positionOf returns the waiter's position; 0 if it is not in the queue. Of
// several waiters with the same name the first counts.
func positionOf(s leasehold.Status, r leasehold.AcquireRequest) int {
	for _, w := range s.Waiters {
		if w.Holder == r.Holder && w.Priority == r.Priority {
			return w.Position
		}
	}
	return 0
}

func (p *progress) show(position int, s leasehold.Status) {
	text := describeHolder(s)
	if text == "" {
		return
	}
	if p.several {
		text = quote(s.Resource) + " is " + text
	}
	if position > 0 {
		text = ordinal(position) + " in line, " + text
	}
	key := text
	if !p.live { // in a log, passing time is no change
		key = fmt.Sprint(position, s.Lease.Token, s.Lease.State)
	}
	p.write(key, text)
}

func (p *progress) print(text string) { p.write(text, text) }

// write writes the text unless the last one had the same key.
func (p *progress) write(key, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.a.json || key == p.last:
	case p.live:
		fmt.Fprintf(p.a.err, "\r\x1b[K%s", text)
	default:
		fmt.Fprintln(p.a.err, text)
	}
	p.last = key
}

// stop ends the progress and clears its line.
func (p *progress) stop() {
	p.cancel()
	<-p.done
	if p.live && p.last != "" && !p.a.json {
		fmt.Fprint(p.a.err, "\r\x1b[K")
	}
}

// describeHolder returns who holds the resource and until when; "" if nobody does.
func describeHolder(s leasehold.Status) string {
	if !s.Locked() {
		return ""
	}
	text := "held by " + s.Lease.Holder
	if more := len(s.Leases) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case s.Lease.State == leasehold.StateBreaking:
		return text + ", being broken, free in " + span(s.Lease.Remaining)
	case s.Lease.Remaining == leasehold.Infinite:
		return text + " without an end"
	}
	return text + ", frees itself in " + span(s.Lease.Remaining)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
