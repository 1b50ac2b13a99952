package sets_test

import (
	"cmp"
	"slices"

	"github.com/leasehold/leasehold"
)

// verifyReads compares the status of each plain name, and lists by name, namespace and
// path.
func (d *driver) verifyReads() {
	d.Helper()
	for _, name := range names {
		claim := leasehold.Claim{Pattern: name}
		d.verifyStatus(claim)
		d.verifyList(leasehold.ListRequest{Resource: name}, claim)
	}
	for namespace, choices := range patterns {
		for _, pattern := range choices {
			d.verifyList(leasehold.ListRequest{Namespace: namespace, Path: pattern}, leasehold.Claim{Namespace: namespace, Pattern: pattern})
		}
	}
}

// having are the live leases that overlap with a claim, by token.
func (m *model) having(c leasehold.Claim) (found []*lease) {
	for _, l := range m.leases {
		if meet(l.covers(), []leasehold.Claim{c}) {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b *lease) int { return cmp.Compare(a.token, b.token) })
	return found
}

func (d *driver) verifyStatus(c leasehold.Claim) {
	d.Helper()
	s, err := d.engine.Status(ctx(), c.Pattern)
	if err != nil {
		d.fail("Status(%q) = %v", c.Pattern, err)
	}
	want, tokens := d.m.having(c), tokensOf(s.Leases)
	if s.Leases == nil && s.Locked() { // a plain lease, and no set
		tokens = []uint64{s.Lease.Token}
		if s.Lease.Claims != nil {
			d.fail("Status(%q) = the set %+v without a list", c.Pattern, s.Lease)
		}
	}
	if s.Locked() != (len(want) > 0) || !slices.Equal(tokens, wantTokens(want)) {
		d.fail("Status(%q) = locked %t by %d, want %d", c.Pattern, s.Locked(), tokens, wantTokens(want))
	}
	if len(want) > 0 && s.Lease.Token != first(want, c.Pattern).token {
		d.fail("Status(%q).Lease has the token %d, want %d", c.Pattern, s.Lease.Token, first(want, c.Pattern).token)
	}
	var waiters []string
	for _, p := range s.Waiters {
		waiters = append(waiters, p.Holder)
	}
	if want := d.m.waiters(c); !slices.Equal(waiters, want) {
		d.fail("Status(%q) has the waiters %q, want %q", c.Pattern, waiters, want)
	}
}

// first is the lease that a status shows: the name's own, or else the oldest.
func first(leases []*lease, name string) *lease {
	for _, l := range leases {
		if l.resource == name {
			return l
		}
	}
	return leases[0]
}

// waiters are the holders who wait for a claim, in the order in which they are served.
func (m *model) waiters(c leasehold.Claim) (waiting []string) {
	for _, p := range m.ordered() {
		if p.present != nil && meet(p.covers(), []leasehold.Claim{c}) {
			waiting = append(waiting, p.Holder)
		}
	}
	return waiting
}

func (d *driver) verifyList(r leasehold.ListRequest, c leasehold.Claim) {
	d.Helper()
	page, err := d.engine.List(ctx(), r)
	if err != nil {
		d.fail("List(%+v) = %v", r, err)
	}
	got, want := slices.Sorted(slices.Values(tokensOf(page.Leases))), wantTokens(d.m.having(c))
	if !slices.Equal(got, want) {
		d.fail("List(%+v) = the tokens %d, want %d", r, got, want)
	}
}

func tokensOf(leases []leasehold.Lease) (tokens []uint64) {
	for _, l := range leases {
		tokens = append(tokens, l.Token)
	}
	return tokens
}

func wantTokens(leases []*lease) (tokens []uint64) {
	for _, l := range leases {
		tokens = append(tokens, l.token)
	}
	return tokens
}
