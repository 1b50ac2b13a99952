//go:build unix

package move_test

import (
	"slices"
	"testing"
	"time"
)

// slack is for clocks: each store and each process reads its own.
const slack = 50 * time.Millisecond

// checkEvents says that nobody got what another had, over both stores.
func checkEvents(t *testing.T, events []event) {
	t.Helper()
	counts, perStore := map[string]int{}, map[int]int{}
	byResource := map[string][]event{}
	for _, e := range events {
		counts[e.Op]++
		byResource[e.Resource] = append(byResource[e.Resource], e)
		switch e.Op {
		case "grant":
			perStore[e.Store]++
		case "lost":
			t.Errorf("%s lost the lease on %s with token %d", e.Client, e.Resource, e.Token)
		}
	}
	if perStore[0] == 0 || perStore[1] == 0 || counts["renew"] == 0 || counts["release"] == 0 {
		t.Errorf("too little happened: %v, grants by store %v", counts, perStore)
	}
	for resource, events := range byResource {
		checkResource(t, resource, events)
	}
	t.Logf("events: %v, grants by store: %v", counts, perStore)
}

// tenure is a grant and what its holder made of it.
type tenure struct {
	grant event
	until time.Time // the lease lasts until then at least, unless it is released
	freed bool
}

func checkResource(t *testing.T, resource string, events []event) {
	t.Helper()
	var before *tenure
	for _, after := range tenuresOf(t, resource, events) {
		if before != nil && after.grant.Token <= before.grant.Token {
			t.Errorf("%s: token %d comes after %d", resource, after.grant.Token, before.grant.Token)
		}
		if before != nil && !before.freed && after.grant.Got.Before(before.until.Add(-slack)) {
			t.Errorf("%s was granted to %s by store %d, %v before the end of the lease of %s by store %d", resource,
				after.grant.Client, after.grant.Store, before.until.Sub(after.grant.Got), before.grant.Client, before.grant.Store)
		}
		before = after
	}
}

// tenuresOf are the tenures of a resource in the order in which they were answered: the
// next one is granted only after the last one was.
func tenuresOf(t *testing.T, resource string, events []event) (order []*tenure) {
	t.Helper()
	byToken := map[uint64]*tenure{}
	for _, e := range events {
		if e.Op != "grant" {
			continue
		}
		if other := byToken[e.Token]; other != nil {
			t.Errorf("%s: token %d was given to %s and %s", resource, e.Token, other.grant.Client, e.Client)
		}
		byToken[e.Token] = &tenure{grant: e, until: e.Sent.Add(ttl)}
		order = append(order, byToken[e.Token])
	}
	for _, e := range events {
		held := byToken[e.Token]
		switch {
		case held == nil:
		case e.Op == "renew" && e.Sent.Add(ttl).After(held.until):
			held.until = e.Sent.Add(ttl)
		case e.Op == "release" || e.Op == "release?":
			held.freed = true
		}
	}
	slices.SortFunc(order, func(a, b *tenure) int { return a.grant.Got.Compare(b.grant.Got) })
	return order
}
