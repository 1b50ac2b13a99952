package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/machine"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

// The rules stand twice, in Lua and in package machine. Here random operations run
// on both, and both must give the same answer. Time is made to pass by moving the
// ends: in Redis by the fields and the keys' time to live, in the model by its
// clock.

// model is a store without a server, by package machine.
type model struct {
	shift time.Duration // how far its clock is ahead
	rows  map[string]machine.Row
	token uint64
}

func (m *model) now() machine.Instant {
	at := time.Now().Add(m.shift)
	return machine.Instant{Clock: machine.Time(at.UnixNano()), Wall: at.UnixMilli()}
}

// row returns the live row of a resource: like Redis, the model forgets ended
// leases.
func (m *model) row(resource string) machine.Row {
	r := m.rows[resource].At(m.now())
	if !r.State.Locked() {
		return machine.Row{Resource: resource}
	}
	return r
}

func (m *model) known(id leasehold.ID) *machine.Row {
	for resource := range m.rows {
		if r := m.row(resource); !id.IsZero() && (r.ID == id || r.Former == id) {
			return &r
		}
	}
	return nil
}

func (m *model) apply(o machine.Outcome) machine.Outcome {
	m.rows[o.Row.Resource] = o.Row
	if o.Granted {
		m.token++
	}
	return o
}

func (m *model) fresh() machine.Fresh {
	return machine.Fresh{Token: m.token + 1, ID: leasehold.NewID()}
}

// pair runs both.
type pair struct {
	t      *rapid.T
	ctx    context.Context
	store  *Store
	client *redis.Client
	model  model

	ids    []leasehold.ID
	tokens map[uint64]uint64 // the model's by the store's
}

// TestDifferential compares the scripts with package machine.
func TestDifferential(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	var names prefixes
	rapid.Check(t, func(rt *rapid.T) {
		store, err := New(client, &Options{KeyPrefix: names.next()})
		if err != nil {
			rt.Fatal(err)
		}
		defer store.Close()
		p := &pair{t: rt, ctx: t.Context(), store: store, client: client, tokens: map[uint64]uint64{}, model: model{rows: map[string]machine.Row{}}}
		for range 4 {
			p.ids = append(p.ids, leasehold.NewID())
		}
		rt.Repeat(map[string]func(*rapid.T){
			"acquire": p.acquire, "renew": p.renew, "release": p.release, "break": p.breakLease,
			"change": p.change, "transfer": p.transfer, "pass": p.pass, "": p.compare,
		})
	})
}

var (
	someResources = rapid.SampledFrom([]string{"a", "b%{x}"})
	someHolders   = rapid.SampledFrom([]string{"h", "i"})
	someTTLs      = rapid.SampledFrom([]time.Duration{10 * time.Second, time.Minute, leasehold.Infinite})
)

func (p *pair) id(t *rapid.T, label string) leasehold.ID {
	return rapid.SampledFrom(p.ids).Draw(t, label)
}

// match draws what a caller may send along: nothing, the right thing or a wrong
// one.
func (p *pair) match(t *rapid.T) (holder string, token, modelToken uint64) {
	if rapid.IntRange(0, 3).Draw(t, "sends holder") == 0 {
		holder = someHolders.Draw(t, "holder")
	}
	if rapid.IntRange(0, 3).Draw(t, "sends token") == 0 {
		for _, resource := range []string{"a", "b%{x}"} {
			if r := p.model.row(resource); r.Token != 0 {
				for mine, theirs := range p.tokens {
					if theirs == r.Token {
						return holder, mine, theirs
					}
				}
			}
		}
	}
	return holder, 0, 0
}

// same compares an error of the store with the reason of the model. Ended leases
// are forgotten on both sides.
func (p *pair) same(t *rapid.T, op string, err error, o machine.Outcome) {
	if got, want := leasehold.ReasonOf(err), o.Reason; got != want {
		t.Fatalf("%s = %v (%s), machine says %q", op, err, got, want)
	}
	var e *leasehold.Error
	if errors.As(err, &e) && e.Field != o.Field {
		t.Fatalf("%s names the field %q, machine says %q", op, e.Field, o.Field)
	}
}

// sameLease compares a lease with the model's row.
func (p *pair) sameLease(t *rapid.T, op string, l leasehold.Lease, r machine.Row) {
	want := r.Lease(p.model.now())
	if known, ok := p.tokens[l.Token]; !ok {
		p.tokens[l.Token] = r.Token
	} else if known != r.Token {
		t.Fatalf("%s: the token is another than before", op)
	}
	for token, theirs := range p.tokens {
		if token < l.Token && theirs > r.Token {
			t.Fatalf("%s: token %d is not above an earlier one", op, l.Token)
		}
	}
	near := (l.Remaining - want.Remaining).Abs() < 2*time.Second
	if l.State != want.State || l.Holder != want.Holder || l.TTL != want.TTL || !near || l.Renewals != want.Renewals ||
		l.MaxRenewals != want.MaxRenewals || !maps.Equal(l.Metadata, want.Metadata) {
		t.Fatalf("%s = %+v, machine says %+v", op, l, want)
	}
}

func (p *pair) acquire(t *rapid.T) {
	r := leasehold.AcquireRequest{
		Resource: someResources.Draw(t, "resource"), Holder: someHolders.Draw(t, "holder"), TTL: someTTLs.Draw(t, "ttl"),
	}
	if rapid.Bool().Draw(t, "proposes") {
		r.ID = p.id(t, "id")
	}
	limit := rapid.IntRange(-1, 2).Draw(t, "limit")
	r.MaxRenewals = &limit
	if rapid.Bool().Draw(t, "has metadata") {
		r.Metadata = map[string]string{"k": fmt.Sprint(limit)}
	}
	fresh := p.model.fresh()
	o := p.model.apply(machine.Acquire(p.model.now(), r, fresh, []machine.Row{p.model.row(r.Resource)}, p.model.known(r.ID), machine.Standard))
	g, err := p.store.Acquire(p.ctx, r)
	p.same(t, "Acquire", err, o)
	if err != nil {
		return
	}
	if r.ID.IsZero() { // the store made another id than the model
		row := p.model.rows[r.Resource]
		row.ID = g.ID
		p.model.rows[r.Resource] = row
		p.ids = append(p.ids, g.ID)
	}
	if g.Idempotent != o.Idempotent {
		t.Fatalf("Acquire: idempotent %v, machine says %v", g.Idempotent, o.Idempotent)
	}
	p.sameLease(t, "Acquire", g.Lease, o.Row)
}

func (p *pair) renew(t *rapid.T) {
	holder, token, theirs := p.match(t)
	r := leasehold.RenewRequest{ID: p.id(t, "id"), Resource: someResources.Draw(t, "resource"), Holder: holder, Token: token}
	if rapid.Bool().Draw(t, "new ttl") {
		r.TTL = someTTLs.Draw(t, "ttl")
	}
	modelled := r
	modelled.Token = theirs
	o := p.model.apply(machine.Renew(p.model.now(), modelled, machine.Fresh{}, p.model.row(r.Resource), machine.Standard))
	l, err := p.store.Renew(p.ctx, r)
	p.same(t, "Renew", err, o)
	if err == nil {
		p.sameLease(t, "Renew", l, o.Row)
	}
}

func (p *pair) release(t *rapid.T) {
	holder, token, theirs := p.match(t)
	r := leasehold.ReleaseRequest{ID: p.id(t, "id"), Resource: someResources.Draw(t, "resource"), Holder: holder, Token: token}
	modelled := r
	modelled.Token = theirs
	o := p.model.apply(machine.Release(p.model.now(), modelled, p.model.row(r.Resource), machine.Standard))
	l, err := p.store.Release(p.ctx, r)
	p.same(t, "Release", err, o)
	if err == nil {
		p.sameLease(t, "Release", l, o.Row)
	}
}

func (p *pair) breakLease(t *rapid.T) {
	r := leasehold.BreakRequest{Resource: someResources.Draw(t, "resource")}
	if rapid.Bool().Draw(t, "has period") {
		period := time.Duration(rapid.IntRange(0, 3).Draw(t, "period")) * 10 * time.Second
		r.Period = &period
	}
	o := p.model.apply(machine.Break(p.model.now(), r, p.model.row(r.Resource), machine.Standard))
	l, err := p.store.Break(p.ctx, r)
	p.same(t, "Break", err, o)
	if err == nil {
		p.sameLease(t, "Break", l, o.Row)
	}
}

func (p *pair) change(t *rapid.T) {
	holder, token, theirs := p.match(t)
	r := leasehold.ChangeRequest{
		ID: p.id(t, "id"), Resource: someResources.Draw(t, "resource"), Proposed: p.id(t, "proposed"), Holder: holder, Token: token,
	}
	modelled := r
	modelled.Token = theirs
	o := p.model.apply(machine.Change(p.model.now(), modelled, p.model.row(r.Resource), p.model.known(r.Proposed), machine.Standard))
	l, err := p.store.Change(p.ctx, r)
	p.same(t, "Change", err, o)
	if err == nil {
		p.sameLease(t, "Change", l, o.Row)
	}
}

func (p *pair) transfer(t *rapid.T) {
	holder, token, theirs := p.match(t)
	r := leasehold.TransferRequest{
		ID: p.id(t, "id"), Resource: someResources.Draw(t, "resource"), To: someHolders.Draw(t, "to"), Holder: holder, Token: token,
	}
	if rapid.Bool().Draw(t, "proposes") {
		r.Proposed = p.id(t, "proposed")
	}
	if rapid.Bool().Draw(t, "has metadata") {
		r.Metadata = map[string]string{"to": r.To}
	}
	modelled := r
	modelled.Token = theirs
	o := p.model.apply(machine.Transfer(p.model.now(), modelled, p.model.fresh(), p.model.row(r.Resource), p.model.known(r.Proposed), machine.Standard))
	l, err := p.store.Transfer(p.ctx, r)
	p.same(t, "Transfer", err, o)
	if err != nil {
		return
	}
	if r.Proposed.IsZero() {
		row := p.model.rows[r.Resource]
		row.ID = l.ID
		p.model.rows[r.Resource] = row
		p.ids = append(p.ids, l.ID)
	}
	p.sameLease(t, "Transfer", l, o.Row)
}

// pass lets time pass on both sides. Periods are multiples of 10 s and time
// passes in odd steps, so that nothing ends in the moment of a call.
func (p *pair) pass(t *rapid.T) {
	d := time.Duration(rapid.SampledFrom([]int{7, 25, 61}).Draw(t, "seconds")) * time.Second
	p.model.shift += d
	keys := p.store.keys
	for _, resource := range []string{"a", "b%{x}"} {
		key := keys.lease(resource)
		lease := newRow(p.client.HGetAll(p.ctx, key).Val())
		if lease == nil || lease.get(endsAt) == "-1" {
			continue
		}
		sooner := lease.time(endsAt).Add(-d)
		p.client.HSet(p.ctx, key, "endsAt", sooner.UnixMilli())
		p.client.PExpireAt(p.ctx, key, sooner)
		p.client.ZAddXX(p.ctx, keys.ends, redis.Z{Score: float64(sooner.UnixMilli()), Member: resource})
	}
}

// compare looks at both after every step.
func (p *pair) compare(t *rapid.T) {
	for _, resource := range []string{"a", "b%{x}"} {
		status, err := p.store.Status(p.ctx, resource)
		if err != nil {
			t.Fatalf("Status = %v", err)
		}
		row := p.model.row(resource)
		if status.Locked() != row.State.Locked() {
			t.Fatalf("Status(%q): locked %v, machine says %v", resource, status.Locked(), row.State)
		}
		if status.Locked() {
			p.sameLease(t, "Status", *status.Lease, row)
		}
	}
	for _, id := range p.ids {
		found, err := p.store.Find(p.ctx, id)
		known := p.model.known(id)
		live := known != nil && known.ID == id
		if live != (err == nil) || live && found.Resource != known.Resource {
			t.Fatalf("Find = %q, %v; machine knows it: %v", found.Resource, err, live)
		}
	}
}
