package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
)

const (
	hammerWorkers = 8 // with resources of their own
	hammerOwn     = 4 // resources of each
	hammerSharers = 4 // who queue for what they share
	hammerShared  = 2 // what they queue for
	hammerToys    = 3 // who write rows of a module
	hammerBriefs  = 3 // who let their leases expire
	hammerTimeout = 20 * time.Second
)

// hammer uses the store as hard as it can until it is killed. It says what it
// is about to do and what was acknowledged, in lines that are written at once.
func hammer(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, &Options{Modules: []engine.Module{toys}})
	if err != nil {
		return err
	}
	for i := range hammerShared {
		r := leasehold.BreakRequest{Resource: fmt.Sprintf("shared/%d", i), Why: "left behind"}
		if _, err := s.Break(ctx, r); err != nil && !errors.Is(err, leasehold.ErrNotFound) && !errors.Is(err, leasehold.ErrLost) {
			return err
		}
	}
	printLine("ready")
	failed := make(chan error)
	for i := range hammerWorkers {
		go func() { failed <- worker(ctx, s, fmt.Sprintf("worker-%d", i)) }()
	}
	for i := range hammerSharers {
		go func() { failed <- sharer(ctx, s, fmt.Sprintf("sharer-%d", i)) }()
	}
	for i := range hammerBriefs {
		go func() { failed <- brief(ctx, s, fmt.Sprintf("brief/%d", i)) }()
	}
	for i := range hammerToys {
		go func() { failed <- toyWorker(ctx, s, fmt.Sprintf("toy/%d", i)) }()
	}
	return <-failed
}

// printLine writes one line in one system call: a killed process loses no line
// and never prints half of one.
func printLine(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }

// worker runs operations on its own resources. It breaks leases that an earlier
// process left.
func worker(ctx context.Context, s *Store, name string) error {
	held := map[string]leasehold.Lease{}
	for i := range hammerOwn {
		resource := fmt.Sprintf("own/%s/%d", name, i)
		status, err := s.Status(ctx, resource)
		if err != nil {
			return err
		}
		if status.Locked() {
			if err := operate(ctx, s, "break", *status.Lease, held); err != nil {
				return err
			}
		}
	}
	for {
		resource := fmt.Sprintf("own/%s/%d", name, rand.IntN(hammerOwn))
		lease, ok := held[resource]
		op := "acquire"
		if ok {
			op = [...]string{"renew", "renew", "renew", "release", "change", "transfer", "break"}[rand.IntN(7)]
		} else {
			lease = leasehold.Lease{Resource: resource, Holder: name}
		}
		if err := operate(ctx, s, op, lease, held); err != nil {
			return err
		}
	}
}

// operate prints an operation before and after it runs.
func operate(ctx context.Context, s *Store, op string, l leasehold.Lease, held map[string]leasehold.Lease) error {
	printLine("try %s %s", op, l.Resource)
	id := leasehold.NewID()
	ttl := time.Duration(1+rand.IntN(20)) * time.Hour
	var err error
	switch op {
	case "acquire":
		var g leasehold.Grant
		g, err = s.Acquire(ctx, leasehold.AcquireRequest{Resource: l.Resource, Holder: l.Holder, ID: id, TTL: ttl})
		l = g.Lease
	case "renew":
		l, err = s.Renew(ctx, leasehold.RenewRequest{ID: l.ID, TTL: ttl})
	case "release":
		l, err = s.Release(ctx, leasehold.ReleaseRequest{ID: l.ID})
	case "change":
		l, err = s.Change(ctx, leasehold.ChangeRequest{ID: l.ID, Proposed: id})
		l.ID = id
	case "transfer":
		l, err = s.Transfer(ctx, leasehold.TransferRequest{ID: l.ID, To: colleague(l.Holder), Proposed: id})
		l.ID = id
	case "break":
		l, err = s.Break(ctx, leasehold.BreakRequest{Resource: l.Resource})
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, l.Resource, err)
	}
	delete(held, l.Resource)
	secret := "-"
	if l.State.Locked() {
		held[l.Resource] = l
		secret = l.ID.Reveal() // to the parent, which is the owner
	}
	printLine("did %s %s %s %d %s %d %d %s", op, l.Resource, l.Holder, l.Token, l.State, l.Renewals, int64(l.TTL), secret)
	return nil
}

// colleague is who a lease is handed to, and who hands it back.
func colleague(holder string) string {
	if name, ok := strings.CutSuffix(holder, "+"); ok {
		return name
	}
	return holder + "+"
}

// sharer queues for a resource with the others, and releases it again.
func sharer(ctx context.Context, s *Store, name string) error {
	for {
		r := leasehold.AcquireRequest{Resource: fmt.Sprintf("shared/%d", rand.IntN(hammerShared)), Holder: name, TTL: time.Hour, Timeout: hammerTimeout}
		g, err := s.Wait(ctx, r)
		if leasehold.ReasonOf(err) == leasehold.ReasonTimeout {
			return fmt.Errorf("nobody let %s go: %w", r.Resource, err)
		}
		if err != nil {
			return err
		}
		printLine("token %d", g.Token)
		if _, err := s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID}); err != nil {
			return err
		}
	}
}

// brief acquires a resource for a second or two whenever it is free, and never
// releases it. It prints when it called and when it was answered.
func brief(ctx context.Context, s *Store, resource string) error {
	for {
		ttl := time.Second + time.Duration(rand.IntN(1000))*time.Millisecond
		asked := time.Now()
		g, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: resource, Holder: "brief", TTL: ttl})
		switch {
		case err == nil:
			printLine("brief %s %d %d %d %d", resource, g.Token, int64(ttl), asked.UnixNano(), time.Now().UnixNano())
		case !errors.Is(err, leasehold.ErrHeld):
			return err
		default:
			time.Sleep(5 * time.Millisecond) // a real process: nothing tells when a lease has ended
		}
	}
}

// toyWorker acquires a toy and releases it, for ever.
func toyWorker(ctx context.Context, s *Store, resource string) error {
	if err := breakToy(ctx, s, resource); err != nil {
		return err
	}
	for {
		id, err := acquireToy(ctx, s, resource)
		if err != nil {
			return err
		}
		printLine("toy %s taken", resource)
		if err := releaseToy(ctx, s, resource, id); err != nil {
			return err
		}
		printLine("toy %s dropped", resource)
	}
}
