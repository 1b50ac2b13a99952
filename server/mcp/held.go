package mcp

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// heldLeases are the leases that a stream's client has, with their ids: models forget
// them, and at the end they are released.
type heldLeases struct {
	mu     sync.Mutex
	leases map[leasehold.ID]leasehold.Lease
}

func newHeldLeases() *heldLeases {
	return &heldLeases{leases: map[leasehold.ID]leasehold.Lease{}}
}

// add and remove do nothing on nil, which is a client over HTTP.
func (h *heldLeases) add(l leasehold.Lease) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leases[l.ID] = l
}

func (h *heldLeases) remove(id leasehold.ID) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.leases, id)
}

// idOf returns the id of a lease as a list shows it; zero if it is another's.
func (h *heldLeases) idOf(l leasehold.Lease) leasehold.ID {
	if h == nil {
		return leasehold.ID{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, own := range h.leases {
		if own.Token == l.Token && own.Resource == l.Resource {
			return id
		}
	}
	return leasehold.ID{}
}

func (h *heldLeases) all() map[leasehold.ID]leasehold.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.leases)
}

// releaseWithin is how long the releases at the end of a stream may take in all: its
// client may kill the process soon.
const releaseWithin = 2 * time.Second

// whySessionEnded lands in the history.
const whySessionEnded = "the session of the MCP client ended"

// releaseHeld releases what a client still has.
func (s *Server) releaseHeld(identity Identity, held *heldLeases) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	var all sync.WaitGroup
	for id, l := range held.all() {
		all.Go(func() {
			_, err := s.store.Release(ctx, leasehold.ReleaseRequest{ID: id, Resource: l.Resource, Holder: identity.Holder, Why: whySessionEnded})
			if err != nil && leasehold.ReasonOf(err).Sentinel() != leasehold.ErrLost {
				s.o.Logger.Warn("cannot release a lease at the end of a session", "resource", l.Resource, "token", l.Token, "error", err.Error())
			}
		})
	}
	all.Wait()
}
