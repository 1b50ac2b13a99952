package local

import (
	"context"
	"strings"

	"github.com/leasehold/leasehold"
)

// batch is what one commit writes, and who waits for it.
type batch struct {
	Batch
	number  uint64
	gone    map[string]int     // resources deleted in this batch: where in Rows
	touched bool               // to be written even if only the counters changed
	sets    bool               // it changes a set: what a name is in may be another than before
	decided int                // how many decisions it has
	cleaned leasehold.Cleaned  // what cleanups removed with it
	answers []delivery         // for waiters, once it is durable
	events  []leasehold.Record // for watchers, once it is durable; also those that are not kept

	done chan struct{} // closed when err is known
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

// reuse takes over the memory of a written batch, of which only done and err
// are still read.
func (b *batch) reuse(old *batch) {
	b.Rows, old.Rows = emptied(old.Rows), nil
	b.Records, old.Records = emptied(old.Records), nil
	b.events, old.events = emptied(old.events), nil
}

// emptied clears the slice for reuse. The memory of a rare large batch is freed.
func emptied[T any](s []T) []T {
	const maxKept = 1024
	if cap(s) > maxKept {
		return nil
	}
	clear(s)
	return s[:0]
}

func (b *batch) empty() bool {
	return !b.touched && len(b.Rows) == 0 && len(b.Records) == 0 &&
		len(b.Settings) == 0 && len(b.Extras) == 0 && len(b.answers) == 0
}

// finish wakes everybody who waits for the batch.
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

// deliver answers the waiters.
func (b *batch) deliver() {
	for _, d := range b.answers {
		d.to.answer <- d.answer
	}
}

// fail answers the waiters with an error.
func (b *batch) fail(err error) {
	for _, d := range b.answers {
		d.to.answer <- answer{err: err}
	}
}

// durable waits until the batch is durable. A nil batch is.
func (b *batch) durable(ctx context.Context) error {
	if b == nil {
		return nil
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		if b.finished() { // both at once: the result is known
			return b.err
		}
		return unknown(context.Cause(ctx))
	}
}

// changes says whether the batch made the resource's row what it is; ent is nil
// where there is none.
func (b *batch) changes(resource string, ent *entry) bool {
	if ent != nil {
		return ent.batch == b.number
	}
	_, gone := b.gone[resource]
	return gone
}

// later returns the batch that is written later: who waits for it has waited for
// the other one. (If the earlier one fails, so does the later.)
func later(a, b *batch) *batch {
	if a == nil || b != nil && b.number > a.number {
		return b
	}
	return a
}

// batches are those that are not durable yet. The engine's lock guards them.
type batches struct {
	pending *batch // what the next commit will write
	writing *batch // what the commit under way writes, or nil
	spare   *batch // written, and its memory free to use; only the committer touches it

	work chan struct{} // pending has content
}

func newBatches(next uint64) batches {
	return batches{pending: newBatch(next), work: make(chan struct{}, 1)}
}

// save adds the entry's row to the pending batch.
func (s *batches) save(ent *entry) {
	b := s.pending
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
	b.sets = b.sets || strings.HasPrefix(ent.row.Resource, leasehold.SetPrefix)
	ent.batch, ent.slot = b.number, int32(slot)
	signal(s.work)
}

// remove adds the deletion of the entry's row to the pending batch.
func (s *batches) remove(ent *entry) {
	s.save(ent)
	b := s.pending
	b.Rows[ent.slot].Gone = true
	if b.gone == nil {
		b.gone = map[string]int{}
	}
	b.gone[ent.row.Resource] = int(ent.slot)
}

// touch makes sure that the pending batch is written.
func (s *batches) touch() {
	s.pending.touched = true
	signal(s.work)
}

// send delivers the answer when everything decided so far is durable.
func (s *batches) send(w *waiter, a answer) {
	s.pending.answers = append(s.pending.answers, delivery{to: w, answer: a})
	signal(s.work)
}

// latest returns the newest batch with content that is not durable yet, or nil.
// An answer that something does not exist depends on all of them.
func (s *batches) latest() *batch {
	if !s.pending.empty() {
		return s.pending
	}
	return s.writing
}

// seen returns the batch that an answer about the resource must wait for, or
// nil; ent is nil where there is no row.
func (s *batches) seen(resource string, ent *entry) *batch {
	switch {
	case s.pending.changes(resource, ent):
		return s.pending
	case s.writing != nil && s.writing.changes(resource, ent):
		return s.writing
	}
	return nil
}

// changeSets says whether any of them changes a set.
func (s *batches) changeSets() bool {
	return s.pending.sets || s.writing != nil && s.writing.sets
}

// start makes the pending batch the one being written, and opens the next.
func (s *batches) start() {
	s.writing, s.pending = s.pending, newBatch(s.pending.number+1)
	if s.spare != nil {
		s.pending.reuse(s.spare)
		s.spare = nil
	}
}

// void drops both batches after a failed commit, and returns the pending one.
func (s *batches) void() *batch {
	b := s.pending
	s.pending, s.writing = newBatch(b.number+1), nil
	return b
}

// seenBatches are those that an answer made in several steps depends on. The
// last one alone is not enough: it may have come after a recovery that voided an
// earlier one.
type seenBatches []*batch

func (s *seenBatches) add(b *batch) {
	if n := len(*s); b != nil && (n == 0 || (*s)[n-1] != b) {
		*s = append(*s, b)
	}
}

// durable waits until they all are.
func (s seenBatches) durable(ctx context.Context) error {
	for _, b := range s {
		if err := b.durable(ctx); err != nil {
			return err
		}
	}
	return nil
}
