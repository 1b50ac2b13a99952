package console

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// keptRefusals is how many refused cycles are remembered.
const keptRefusals = 10

// refusal is a wait that was refused because it would have closed a cycle.
type refusal struct {
	At       time.Time
	Holder   string
	Resource string
	Transfer bool // of the resource's lease to the holder
	Edges    []leasehold.WaitEdge
	Graph    graph
}

// refusals notes refused cycles from the first visit on: they are no part of the
// history, and nobody pays for them while the console is not used.
type refusals struct {
	once sync.Once

	mu    sync.Mutex
	since time.Time
	kept  []refusal // the latest first
}

// pauseBetweenWatches is how soon a watch that failed starts again.
const pauseBetweenWatches = 2 * time.Second

// start watches the store until the server drains.
func (f *refusals) start(s *Server) {
	watcher, ok := s.store.(leasehold.Watcher)
	if !ok || s.draining.Err() != nil {
		return
	}
	f.once.Do(func() {
		f.mu.Lock()
		f.since = time.Now()
		f.mu.Unlock()
		s.running.Go(func() {
			for s.draining.Err() == nil {
				err := watchBatches(watcher)(s.draining, leasehold.WatchRequest{}, f.note)
				if unsupported(err) {
					return
				}
				select {
				case <-s.draining.Done():
				case <-time.After(pauseBetweenWatches):
				}
			}
		})
	})
}

// note keeps the refusals of deadlocks.
func (f *refusals) note(notices []*leasehold.SharedNotice) error {
	for _, n := range notices {
		deadlock := n.Kind == leasehold.KindRefused && n.Why == string(leasehold.ReasonDeadlock)
		if !deadlock && (n.Kind != leasehold.KindFailed || n.Details["cycle"] == "") {
			continue
		}
		edges := decodeCycle(n.Details["cycle"])
		r := refusal{At: n.At, Holder: n.Holder, Resource: n.Resource, Transfer: n.Details["operation"] == "transfer", Edges: edges}
		refused := 0 // the wait; a transfer's new holder waits already, and the last is what would wait for it
		if r.Transfer {
			refused = len(edges) - 1
		}
		r.Graph = newCycle(edges, refused)
		if len(edges) > 0 {
			r.Holder = edges[0].Holder // the record's is that of the lease in the way
		}
		f.mu.Lock()
		f.kept = append([]refusal{r}, f.kept[:min(len(f.kept), keptRefusals-1)]...)
		f.mu.Unlock()
	}
	return nil
}

func (f *refusals) latest() ([]refusal, time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]refusal(nil), f.kept...), f.since
}

// decodeCycle reads a cycle as a notice has it: nil if it has none.
func decodeCycle(text string) (edges []leasehold.WaitEdge) {
	var steps []struct {
		Holder string          `json:"holder"`
		Claim  leasehold.Claim `json:"claim"`
		HeldBy string          `json:"held_by"`
	}
	if json.Unmarshal([]byte(text), &steps) != nil {
		return nil
	}
	for _, s := range steps {
		edges = append(edges, leasehold.WaitEdge{Holder: s.Holder, Claim: s.Claim, HeldBy: s.HeldBy})
	}
	return edges
}

// watchBatches returns how to watch the store: several notices at a time if it can.
func watchBatches(w leasehold.Watcher) func(context.Context, leasehold.WatchRequest, func([]*leasehold.SharedNotice) error) error {
	if b, ok := w.(leasehold.BatchWatcher); ok {
		return b.WatchBatches
	}
	return func(ctx context.Context, r leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
		return w.Watch(ctx, r, func(n leasehold.Notice) error {
			return each([]*leasehold.SharedNotice{{Notice: n}})
		})
	}
}
