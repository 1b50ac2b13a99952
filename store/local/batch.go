package local

import (
	"context"

	"github.com/leasehold/leasehold"
)

// batch is what one commit will write, and who waits for it.
type batch struct {
	Batch
	number  uint64
	gone    map[string]int     // resources deleted in this batch: where in Rows
	touched bool               // to be written even if only the counters changed
	answers []delivery         // for waiters, once it is durable
	told    []leasehold.Record // for watchers, then: also what is not kept

	done chan struct{} // closed when its fate is known
	err  error         // nil: durable. Set before done is closed
}

// delivery is an answer that waits for its batch.
type delivery struct {
	to *waiter
	answer
}

func newBatch(number uint64) *batch {
	return &batch{number: number, done: make(chan struct{})}
}

// moveInto takes over the memory of a batch that is written, of which nobody
// looks at more than its fate any longer.
func (b *batch) moveInto(old *batch) {
	b.Rows, old.Rows = emptied(old.Rows), nil
	b.Records, old.Records = emptied(old.Records), nil
	b.told, old.told = emptied(old.told), nil
}

// emptied makes room for other things. What a rare large batch took is given
// back.
func emptied[T any](s []T) []T {
	const most = 1024
	if cap(s) > most {
		return nil
	}
	clear(s)
	return s[:0]
}

func (b *batch) empty() bool {
	return !b.touched && len(b.Rows) == 0 && len(b.Records) == 0 &&
		len(b.Settings) == 0 && len(b.Extras) == 0 && len(b.answers) == 0
}

// finish tells everybody who waits what became of the batch.
func (b *batch) finish(err error) {
	b.err = err
	close(b.done)
}

func (b *batch) finished() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// save adds the entry's row to the pending batch.
func (e *Engine) save(ent *entry) {
	b := e.pending
	slot, again := b.gone[ent.row.Resource]
	switch {
	case ent.batch == b.number:
		slot = int(ent.slot)
	case again:
		delete(b.gone, ent.row.Resource)
	default:
		slot = len(b.Rows)
		b.Rows = append(b.Rows, RowChange{})
	}
	b.Rows[slot] = RowChange{Row: ent.row}
	ent.batch, ent.slot = b.number, int32(slot)
	signal(e.work)
}

// forget drops the entry, in memory and in the pending batch.
func (e *Engine) forget(ent *entry) {
	e.save(ent)
	e.pending.Rows[ent.slot].Gone = true
	if e.pending.gone == nil {
		e.pending.gone = map[string]int{}
	}
	e.pending.gone[ent.row.Resource] = int(ent.slot)
	e.table.drop(ent)
}

// touch makes sure that the pending batch is written.
func (e *Engine) touch() {
	e.pending.touched = true
	signal(e.work)
}

// latest returns the newest batch with content that is not durable yet, or
// nil. Whoever has seen that something is not there has seen all of it.
func (e *Engine) latest() *batch {
	if !e.pending.empty() {
		return e.pending
	}
	return e.flight
}

// seen returns the batch that an answer about the resource must wait for, or
// nil.
func (e *Engine) seen(resource string) *batch {
	switch {
	case e.pending.changes(resource, e.table.rows[resource]):
		return e.pending
	case e.flight != nil && e.flight.changes(resource, e.table.rows[resource]):
		return e.flight
	}
	return nil
}

// changes says whether the batch is what made the resource's row what it is; ent
// is nil where there is none.
func (b *batch) changes(resource string, ent *entry) bool {
	if ent != nil {
		return ent.batch == b.number
	}
	_, gone := b.gone[resource]
	return gone
}

// newer returns the batch that is written later: who waits for it has waited for
// the other one. (If the earlier one fails, so does the later.)
func newer(a, b *batch) *batch {
	if a == nil || b != nil && b.number > a.number {
		return b
	}
	return a
}

// durable waits until the batch is.
func (e *Engine) durable(ctx context.Context, b *batch) error {
	if b == nil {
		return nil
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		if b.finished() { // both at once: the fate is known
			return b.err
		}
		return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: context.Cause(ctx)}
	}
}

// batches are those that an answer put together in several holds of the lock
// depends on. The last one alone would not do: it may have come after a recovery
// that made an earlier one void.
type batches []*batch

func (s *batches) add(b *batch) {
	if n := len(*s); b != nil && (n == 0 || (*s)[n-1] != b) {
		*s = append(*s, b)
	}
}

// durable waits until they all are.
func (s batches) durable(ctx context.Context, e *Engine) error {
	for _, b := range s {
		if err := e.durable(ctx, b); err != nil {
			return err
		}
	}
	return nil
}
