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
)

const (
	firstLook = 250 * time.Millisecond // what is granted at once needs no progress
	eachLook  = time.Second
)

// progress tells on standard error how a wait goes. A terminal sees one line
// that is kept up to date; a log sees a line for each change.
type progress struct {
	a       *app
	live    bool        // a terminal
	reached atomic.Bool // the store has answered

	mu   sync.Mutex
	last string // what is on the screen, or in the log

	cancel context.CancelFunc
	done   chan struct{}
}

// startProgress follows a wait until stop is called.
func (a *app) startProgress(ctx context.Context, s leasehold.Store, r leasehold.AcquireRequest) *progress {
	ctx, cancel := context.WithCancel(ctx)
	p := &progress{a: a, live: isTerminal(a.err), cancel: cancel, done: make(chan struct{})}
	go p.follow(ctx, s, r)
	return p
}

func (p *progress) follow(ctx context.Context, s leasehold.Store, r leasehold.AcquireRequest) {
	defer close(p.done)
	for pause := firstLook; ; pause = eachLook {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		status, err := s.Status(ctx, r.Resource)
		if err != nil {
			continue // the wait itself will say what is wrong
		}
		p.reached.Store(true)
		p.show(placeIn(status, r), status)
	}
}

// placeIn finds the waiter's position; 0 if it is not in the queue. Others may
// wait under the same name: then the first of them counts.
func placeIn(s leasehold.Status, r leasehold.AcquireRequest) int {
	for _, w := range s.Waiters {
		if w.Holder == r.Holder && w.Priority == r.Priority {
			return w.Position
		}
	}
	return 0
}

func (p *progress) show(place int, s leasehold.Status) {
	text := inTheWay(s)
	if text == "" {
		return
	}
	if place > 0 {
		text = ordinal(place) + " in line, " + text
	}
	key := text
	if !p.live { // time passing is no news in a log
		key = fmt.Sprint(place, s.Lease.Token, s.Lease.State)
	}
	p.tell(key, text)
}

// say is for what is not a place in the queue.
func (p *progress) say(text string) { p.tell(text, text) }

func (p *progress) tell(key, text string) {
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

// inTheWay says who holds the resource and until when; nothing if nobody does.
func inTheWay(s leasehold.Status) string {
	if !s.Locked() {
		return ""
	}
	text := "held by " + s.Lease.Holder
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
