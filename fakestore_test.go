package leasehold

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// fakeStore is a store with the semantics that the Manager relies on and
// nothing else, on the bubble's clock. Its two hooks script what goes wrong.
type fakeStore struct {
	// before runs before an operation; its error is the answer, and nothing
	// happens. After runs when it has happened; its error replaces the answer.
	// Both may be slow.
	before, after func(ctx context.Context, op, resource string) error

	extra func() time.Duration // time that passes for the store alone

	mu      sync.Mutex
	start   time.Time
	token   uint64
	rows    map[string]*fakeRow
	calls   map[string]int
	renewed map[string][]time.Duration // when, by the store's clock
	changed chan struct{}
}

type fakeRow struct {
	Lease
	ends time.Duration
}

func newFakeStore() *fakeStore {
	return &fakeStore{
		start: time.Now(), rows: map[string]*fakeRow{}, calls: map[string]int{},
		renewed: map[string][]time.Duration{}, changed: make(chan struct{}),
	}
}

func (s *fakeStore) now() time.Duration {
	now := time.Since(s.start)
	if s.extra != nil {
		now += s.extra()
	}
	return now
}

// call runs one operation between its hooks.
func (s *fakeStore) call(ctx context.Context, op, resource string, f func(row *fakeRow) error) error {
	s.mu.Lock()
	s.calls[op]++
	before, after := s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx, op, resource); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return &Error{Reason: ReasonUnknown, Op: op, Resource: resource, Cause: ctx.Err()}
	}
	s.mu.Lock()
	err := f(s.row(resource))
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	if after != nil {
		if lost := after(ctx, op, resource); lost != nil {
			return lost
		}
	}
	return err
}

// row returns the resource's row as it stands now.
func (s *fakeStore) row(resource string) *fakeRow {
	row := s.rows[resource]
	if row == nil {
		row = &fakeRow{Lease: Lease{Resource: resource}, ends: never}
		s.rows[resource] = row
	}
	if row.State.Locked() && s.now() >= row.ends {
		row.State = map[State]State{StateActive: StateExpired, StateBreaking: StateBroken}[row.State]
	}
	row.Remaining = 0
	if row.State.Locked() {
		row.Remaining = Infinite
		if row.ends != never {
			row.Remaining = row.ends - s.now()
		}
	}
	return row
}

func (s *fakeStore) restart(row *fakeRow, ttl time.Duration) {
	row.TTL, row.ends, row.Remaining = ttl, never, Infinite
	row.RenewedAt, row.ExpiresAt = time.Now(), time.Time{}
	if ttl != Infinite {
		row.ends, row.Remaining, row.ExpiresAt = s.now()+ttl, ttl, time.Now().Add(ttl)
	}
}

func (s *fakeStore) Acquire(ctx context.Context, r AcquireRequest) (g Grant, err error) {
	err = s.call(ctx, "acquire", r.Resource, func(row *fakeRow) error {
		g, err = s.grant(row, r)
		return err
	})
	return g, err
}

func (s *fakeStore) grant(row *fakeRow, r AcquireRequest) (Grant, error) {
	switch {
	case row.ID == r.ID && row.State == StateActive && row.Holder == r.Holder:
		if row.MaxRenewals != Unlimited && row.Renewals >= row.MaxRenewals {
			return Grant{}, s.refuse("acquire", row, ReasonMaxRenewals)
		}
		row.Renewals++
		s.restart(row, r.TTL)
		return Grant{Lease: row.Lease, Idempotent: true}, nil
	case row.State == StateActive:
		return Grant{}, s.refuse("acquire", row, ReasonHeld)
	case row.State == StateBreaking:
		return Grant{}, s.refuse("acquire", row, ReasonBreaking)
	case row.ID == r.ID:
		return Grant{}, s.refuse("acquire", row, s.endedAs(row))
	}
	s.token++
	row.Lease = Lease{
		ID: r.ID, Resource: r.Resource, Holder: r.Holder, Token: s.token, State: StateActive,
		AcquiredAt: time.Now(), MaxRenewals: Unlimited, Metadata: maps.Clone(r.Metadata),
	}
	if r.MaxRenewals != nil {
		row.MaxRenewals = *r.MaxRenewals
	}
	s.restart(row, r.TTL)
	return Grant{Lease: row.Lease}, nil
}

func (s *fakeStore) refuse(op string, row *fakeRow, reason Reason) *Error {
	current := row.Lease
	current.ID = ID{}
	e := &Error{Reason: reason, Op: op, Resource: row.Resource, Store: "fake"}
	if row.State.Locked() {
		e.Current = &current
	}
	if reason == ReasonBreaking {
		e.Remaining = row.Remaining
	}
	return e
}

func (s *fakeStore) endedAs(row *fakeRow) Reason {
	return map[State]Reason{StateExpired: ReasonExpired, StateReleased: ReasonReleased, StateBroken: ReasonBroken}[row.State]
}

// check says why the lease shown is not the active or breaking one.
func (s *fakeStore) check(op string, row *fakeRow, id ID, holder string, token uint64) error {
	switch {
	case row.ID != id:
		return s.refuse(op, row, ReasonNotFound)
	case !row.State.Locked():
		return s.refuse(op, row, s.endedAs(row))
	case holder != "" && row.Holder != holder:
		return s.refuse(op, row, ReasonHolderMismatch)
	case token != 0 && row.Token != token:
		return s.refuse(op, row, ReasonTokenMismatch)
	}
	return nil
}

func (s *fakeStore) Renew(ctx context.Context, r RenewRequest) (l Lease, err error) {
	err = s.call(ctx, "renew", r.Resource, func(row *fakeRow) error {
		if err := s.check("renew", row, r.ID, r.Holder, r.Token); err != nil {
			return err
		}
		if row.State == StateBreaking {
			return s.refuse("renew", row, ReasonBreaking)
		}
		if row.MaxRenewals != Unlimited && row.Renewals >= row.MaxRenewals {
			return s.refuse("renew", row, ReasonMaxRenewals)
		}
		row.Renewals++
		s.restart(row, row.TTL)
		s.renewed[r.Resource] = append(s.renewed[r.Resource], s.now())
		l = row.Lease
		return nil
	})
	return l, err
}

func (s *fakeStore) Release(ctx context.Context, r ReleaseRequest) (l Lease, err error) {
	err = s.call(ctx, "release", r.Resource, func(row *fakeRow) error {
		if err := s.check("release", row, r.ID, r.Holder, r.Token); err != nil {
			return err
		}
		row.State, row.Remaining = StateReleased, 0
		l = row.Lease
		return nil
	})
	return l, err
}

func (s *fakeStore) Status(ctx context.Context, resource string) (st Status, err error) {
	err = s.call(ctx, "status", resource, func(row *fakeRow) error {
		l := row.Lease
		l.ID = ID{}
		st = Status{Resource: resource, Lease: &l}
		return nil
	})
	return st, err
}

func (s *fakeStore) Close() error { return nil }

// breakLease breaks whatever lease is there; a period of zero frees at once.
func (s *fakeStore) breakLease(resource string, period time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.row(resource)
	row.State, row.ends = StateBreaking, min(row.ends, s.now()+period)
}

// state returns the row's lease as it stands.
func (s *fakeStore) state(resource string) Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.row(resource).Lease
}

// count returns how often an operation was requested.
func (s *fakeStore) count(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// hook replaces the hooks while the store is in use.
func (s *fakeStore) hook(before, after func(ctx context.Context, op, resource string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

// fakeQueue is a fakeStore that can wait. It is not fair.
type fakeQueue struct {
	*fakeStore
	unknown bool  // does not know how long a request waited
	refusal error // the answer to every Wait, if set

	waits []AcquireRequest
}

func (s *fakeQueue) Wait(ctx context.Context, r AcquireRequest) (Grant, error) {
	s.mu.Lock()
	s.waits = append(s.waits, r)
	s.mu.Unlock()
	if s.refusal != nil {
		return Grant{}, s.refusal
	}
	began := s.now()
	for {
		var g Grant
		var changed chan struct{}
		err := s.call(ctx, "wait", r.Resource, func(row *fakeRow) (err error) {
			g, err = s.grant(row, r)
			g.Waited = s.now() - began
			if s.unknown {
				g.Waited = WaitUnknown
			}
			return err
		})
		if ReasonOf(err) != ReasonHeld && ReasonOf(err) != ReasonBreaking {
			return g, err
		}
		s.mu.Lock()
		changed = s.changed
		left := s.row(r.Resource).Remaining
		s.mu.Unlock()
		timeout := r.Timeout - (s.now() - began)
		if timeout <= 0 {
			return Grant{}, &Error{Reason: ReasonTimeout, Op: "acquire", Resource: r.Resource, Waited: s.now() - began}
		}
		if left == Infinite {
			left = timeout
		}
		select {
		case <-changed:
		case <-time.After(min(left, timeout)):
		case <-ctx.Done():
			return Grant{}, &Error{Reason: ReasonCancelled, Op: "acquire", Resource: r.Resource, Cause: context.Cause(ctx)}
		}
	}
}

// fakeSets is a fakeStore that grants Claims, all of which conflict with each other if
// they are equal, and keeps notes. It finds leases by their ids.
type fakeSets struct {
	*fakeStore
	sets  map[ID]Lease // what was granted
	notes []Note       // for the next grant
}

func newFakeSets() *fakeSets { return &fakeSets{fakeStore: newFakeStore(), sets: map[ID]Lease{}} }

func (s *fakeSets) Acquire(ctx context.Context, r AcquireRequest) (Grant, error) {
	s.mu.Lock()
	known, ok := s.sets[r.ID]
	if !ok {
		known = Lease{Resource: fmt.Sprint(SetPrefix, len(s.sets)+1), Claims: r.Claims, Notes: s.notes}
	}
	for id, l := range s.sets {
		if id != r.ID && s.row(l.Resource).State.Locked() && slices.Equal(l.Claims, r.Claims) {
			defer s.mu.Unlock()
			return Grant{}, s.refuse("acquire", s.row(l.Resource), ReasonHeld)
		}
	}
	s.sets[r.ID] = known
	s.mu.Unlock()
	r.Resource = known.Resource
	g, err := s.fakeStore.Acquire(ctx, r)
	g.Claims, g.Notes = known.Claims, known.Notes
	return g, err
}

func (s *fakeSets) Release(ctx context.Context, r ReleaseRequest) (Lease, error) {
	if r.Resource == "" {
		l, err := s.Find(ctx, r.ID)
		if err != nil {
			return l, err
		}
		r.Resource = l.Resource
	}
	l, err := s.fakeStore.Release(ctx, r)
	if err == nil && r.Note != "" {
		s.notes = []Note{{From: l.Holder, Text: r.Note}}
	}
	return l, err
}

func (s *fakeSets) Find(_ context.Context, id ID) (Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.sets[id]; ok {
		return l, nil
	}
	return Lease{}, &Error{Reason: ReasonNotFound, Op: "find"}
}

// plainStore is a fakeStore that refuses what stores without sets and notes refuse.
type plainStore struct{ *fakeQueue }

func (s plainStore) Acquire(ctx context.Context, r AcquireRequest) (Grant, error) {
	s.mu.Lock()
	s.calls["any acquire"]++
	s.mu.Unlock()
	if err := r.Validate(); err != nil {
		return Grant{}, err
	}
	return s.fakeQueue.Acquire(ctx, r)
}

func (s plainStore) Wait(ctx context.Context, r AcquireRequest) (Grant, error) {
	s.mu.Lock()
	s.calls["any wait"]++
	s.mu.Unlock()
	if err := r.Validate(); err != nil {
		return Grant{}, err
	}
	return s.fakeQueue.Wait(ctx, r)
}

func (s plainStore) Release(ctx context.Context, r ReleaseRequest) (Lease, error) {
	if err := r.Validate(); err != nil {
		return Lease{}, err
	}
	return s.fakeQueue.Release(ctx, r)
}
