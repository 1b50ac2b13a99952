package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// acquire gets a long lease or ends the check.
func (e *env) acquire(resource, holder string) leasehold.Grant {
	e.Helper()
	return e.grant(e.request(resource, holder))
}

// grant acquires or ends the check.
func (e *env) grant(r leasehold.AcquireRequest) leasehold.Grant {
	e.Helper()
	e.learn(r.ID)
	g, err := e.store.Acquire(e.Context(), r)
	if err != nil {
		e.Fatalf("Acquire(%s) by %q = %v, want a grant", requested(r), r.Holder, err)
	}
	e.received(g, r)
	return g
}

// requested names what a request is for in a failure line.
func requested(r leasehold.AcquireRequest) string {
	if r.Claims != nil {
		return fmt.Sprint(r.Claims)
	}
	return fmt.Sprintf("%q", r.Resource)
}

// grantSoon acquires what a waiter may have got that has left: a try that was under way
// when its client left may be granted, and is then released, also after somebody has
// seen the resource free.
func (e *env) grantSoon(r leasehold.AcquireRequest) (g leasehold.Grant) {
	e.Helper()
	e.eventually("what nobody received is released", func() (granted bool) {
		var err error
		g, err = e.store.Acquire(e.Context(), r)
		if err != nil && !errors.Is(err, leasehold.ErrHeld) {
			e.Fatalf("Acquire(%q) by %q = %v, want a grant", r.Resource, r.Holder, err)
		}
		return err == nil
	})
	e.received(g, r)
	return g
}

// received checks a grant against its request.
func (e *env) received(g leasehold.Grant, r leasehold.AcquireRequest) {
	e.Helper()
	e.learn(g.ID)
	e.sane("grant", g.Lease)
	if g.ID.IsZero() || !r.ID.IsZero() && g.ID != r.ID {
		e.Errorf("Acquire(%q) has another id than proposed, or none", r.Resource)
	}
	if g.State != leasehold.StateActive || r.Claims == nil && g.Resource != r.Resource || g.Holder != r.Holder {
		e.Errorf("Acquire(%q) by %q = %v lease on %q of %q, want an active one as asked for",
			r.Resource, r.Holder, g.State, g.Resource, g.Holder)
	}
	if !slices.Equal(g.Claims, r.Claims) {
		e.Errorf("Acquire(%q) by %q covers %v, want %v", r.Resource, r.Holder, g.Claims, r.Claims)
	}
	if !e.about(g.Remaining, g.TTL) {
		e.Errorf("Acquire(%q).Remaining = %v, want all of the ttl %v", r.Resource, g.Remaining, g.TTL)
	}
}

// sane checks what holds for every lease that a store returns.
func (e *env) sane(what string, l leasehold.Lease) {
	e.Helper()
	switch {
	case l.Token == 0 || l.Token > leasehold.MaxToken:
		e.Errorf("%s of %q: token %d, want 1 … 2^53-1", what, l.Resource, l.Token)
	case l.TTL != leasehold.Infinite && (l.TTL <= 0 || l.TTL%time.Millisecond != 0):
		e.Errorf("%s of %q: ttl %v, want whole milliseconds", what, l.Resource, l.TTL)
	case l.State.Locked() && l.Remaining == leasehold.Infinite && (l.TTL != leasehold.Infinite || !l.ExpiresAt.IsZero()):
		e.Errorf("%s of %q: has no end, but the ttl %v and the end %v", what, l.Resource, l.TTL, l.ExpiresAt)
	case l.State.Locked() && l.Remaining != leasehold.Infinite && (l.Remaining <= 0 || l.ExpiresAt.IsZero()):
		e.Errorf("%s of %q: %v with %v remaining until %v", what, l.Resource, l.State, l.Remaining, l.ExpiresAt)
	case l.TTL != leasehold.Infinite && l.Remaining > l.TTL:
		e.Errorf("%s of %q: %v remaining of a ttl of %v", what, l.Resource, l.Remaining, l.TTL)
	case !l.State.Locked() && l.Remaining != 0:
		e.Errorf("%s of %q: %v, and still %v remaining", what, l.Resource, l.State, l.Remaining)
	case l.AcquiredAt.IsZero() || l.RenewedAt.IsZero():
		e.Errorf("%s of %q: acquired at %v, renewed at %v", what, l.Resource, l.AcquiredAt, l.RenewedAt)
	case strings.HasPrefix(l.Resource, leasehold.SetPrefix) != (len(l.Claims) > 0) && l.State.Locked():
		e.Errorf("%s of %q: claims %v, want them of a set and of nothing else", what, l.Resource, l.Claims)
	case l.Renewals < 0 || l.MaxRenewals < leasehold.Unlimited:
		e.Errorf("%s of %q: %d renewals of %d", what, l.Resource, l.Renewals, l.MaxRenewals)
	}
}

// refused expects an acquire to be refused.
func (e *env) refused(r leasehold.AcquireRequest, want ...leasehold.Reason) *leasehold.Error {
	e.Helper()
	e.learn(r.ID)
	g, err := e.store.Acquire(e.Context(), r)
	e.learn(g.ID)
	call := fmt.Sprintf("Acquire(%s) by %q", requested(r), r.Holder)
	typed := e.reason(call, err, want...)
	if typed.Current == nil && typed.Reserved == "" && (typed.Reason == leasehold.ReasonHeld || typed.Reason == leasehold.ReasonBreaking) {
		e.Fatalf("%s = %v without Current, want to know who is in the way", call, err)
	}
	return typed
}

// reason expects an error with one of the reasons, and checks what holds for
// every error of a store.
func (e *env) reason(call string, err error, want ...leasehold.Reason) *leasehold.Error {
	e.Helper()
	var typed *leasehold.Error
	if !errors.As(err, &typed) {
		e.Fatalf("%s = %v, want %v", call, err, want)
	}
	found := false
	for _, w := range want {
		found = found || leasehold.ReasonOf(err) == w && errors.Is(err, w.Sentinel())
	}
	if !found {
		e.Fatalf("%s = %v (%s), want %v", call, err, typed.Reason, want)
	}
	e.secret(call, err.Error())
	e.secret(call, fmt.Sprintf("%+v", *typed))
	if c := typed.Current; c != nil {
		e.sane(call+": Current", *c)
		if !c.ID.IsZero() {
			e.Errorf("%s: Current carries the lease id", call)
		}
	}
	return typed
}

// secret expects a text to show no id.
func (e *env) secret(where, text string) {
	e.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	text = strings.ToLower(text)
	for _, id := range e.secrets {
		shown := id.Reveal()
		if strings.Contains(text, shown) || strings.Contains(text, strings.ReplaceAll(shown, "-", "")) ||
			strings.Contains(text, strings.ToLower(string(id[:]))) {
			e.Errorf("%s gives a lease id away", where)
		}
	}
}

// renew renews with the lease's own ttl or ends the check.
func (e *env) renew(l leasehold.Lease) leasehold.Lease {
	e.Helper()
	return e.renewFor(l, 0)
}

func (e *env) renewFor(l leasehold.Lease, ttl time.Duration) leasehold.Lease {
	e.Helper()
	renewed, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: l.ID, Resource: l.Resource, TTL: ttl})
	if err != nil {
		e.Fatalf("Renew(%q) = %v, want success", l.Resource, err)
	}
	e.sane("renewal", renewed)
	if renewed.ID != l.ID || renewed.Token != l.Token || renewed.State != leasehold.StateActive {
		e.Errorf("Renew(%q) = %v lease with token %d, want the active one with its id and token %d",
			l.Resource, renewed.State, renewed.Token, l.Token)
	}
	return renewed
}

// renewErr tries to renew.
func (e *env) renewErr(l leasehold.Lease) error {
	_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: l.ID, Resource: l.Resource})
	return err
}

// release releases or ends the check.
func (e *env) release(l leasehold.Lease) leasehold.Lease {
	e.Helper()
	ended, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: l.ID, Resource: l.Resource})
	if err != nil {
		e.Fatalf("Release(%q) = %v, want success", l.Resource, err)
	}
	e.sane("release", ended)
	if ended.State != leasehold.StateReleased || ended.Token != l.Token {
		e.Errorf("Release(%q) = %v lease with token %d, want it released with token %d", l.Resource, ended.State, ended.Token, l.Token)
	}
	return ended
}

// releaseErr tries to release.
func (e *env) releaseErr(l leasehold.Lease) error {
	_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: l.ID, Resource: l.Resource})
	return err
}

// status returns the status of a resource, and checks what holds for every one.
func (e *env) status(resource string) leasehold.Status {
	e.Helper()
	s, err := e.store.Status(e.Context(), resource)
	if err != nil {
		e.Fatalf("Status(%q) = %v, want success", resource, err)
	}
	if s.Resource != resource {
		e.Errorf("Status(%q).Resource = %q", resource, s.Resource)
	}
	leases := s.Leases
	if s.Lease != nil {
		leases = append(leases[:len(leases):len(leases)], *s.Lease)
	}
	for _, l := range leases {
		e.sane("Status", l)
		if !l.ID.IsZero() {
			e.Errorf("Status(%q) carries the lease id", resource)
		}
	}
	for i, w := range s.Waiters {
		if w.Position != i+1 || w.Since.IsZero() {
			e.Errorf("Status(%q).Waiters[%d] = %+v, want position %d and a time", resource, i, w, i+1)
		}
	}
	return s
}

// held expects the resource to be held by just this lease.
func (e *env) held(l leasehold.Lease) leasehold.Lease {
	e.Helper()
	s := e.status(l.Resource)
	if !s.Locked() || s.Lease.Holder != l.Holder || s.Lease.Token != l.Token || !s.Check(l.Token) {
		e.Fatalf("Status(%q) = %s, want held by %q with token %d", l.Resource, describeStatus(s), l.Holder, l.Token)
	}
	return *s.Lease
}

// free expects that nobody holds the resource.
func (e *env) free(resource string) {
	e.Helper()
	if s := e.status(resource); s.Locked() {
		e.Fatalf("Status(%q) = %s, want free", resource, describeStatus(s))
	}
}

// ended expects the resource's last lease to have ended in a state.
func (e *env) ended(l leasehold.Lease, want leasehold.State) {
	e.Helper()
	s := e.status(l.Resource)
	if s.Locked() {
		e.Fatalf("Status(%q) = %s, want %v", l.Resource, describeStatus(s), want)
	}
	if !e.h.can(Memory) {
		return
	}
	if s.Lease == nil || s.Lease.State != want || s.Lease.Token != l.Token {
		e.Fatalf("Status(%q) = %s, want %v with token %d", l.Resource, describeStatus(s), want, l.Token)
	}
}

// describeStatus describes a status in a failure line.
func describeStatus(s leasehold.Status) string {
	if s.Lease == nil {
		return "available"
	}
	return fmt.Sprintf("%v, holder %q, token %d, %v remaining", s.Lease.State, s.Lease.Holder, s.Lease.Token, s.Lease.Remaining)
}

// lost are the reasons for an ended id: the exact one where the store remembers,
// else that it is unknown, too.
func (e *env) lost(exact leasehold.Reason) []leasehold.Reason {
	if e.h.can(Memory) {
		return []leasehold.Reason{exact}
	}
	return []leasehold.Reason{exact, leasehold.ReasonNotFound}
}
