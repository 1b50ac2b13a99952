// Package memory is the embedded engine without a disk: for tests, for programs
// that need leases only among their own goroutines, and to measure what
// durability costs. Everything is gone when it closes.
package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/turns"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
)

// Options are the store's. Nil is fine.
type Options struct {
	// Observer is told of commits. Default: nobody is.
	Observer *local.Observer
}

// New returns an empty store.
func New() *local.Engine { return Open(nil) }

// Open is New with options.
func Open(opts *Options) *local.Engine {
	if opts == nil {
		opts = &Options{}
	}
	e, err := local.Open(context.Background(), &journal{turns: turns.New(scanShare, 0)},
		&local.Options{Kind: "memory", Observer: opts.Observer})
	if err != nil {
		panic("memory: an empty journal did not load: " + err.Error())
	}
	return e
}

// journal keeps only the history. It need not keep rows: a commit to memory never
// fails, so the engine never loads them again.
type journal struct {
	turns *turns.Turns // of scans

	mu      sync.RWMutex
	records []leasehold.Record // by seq, purged ones removed
}

func (j *journal) Load(context.Context, func(machine.Row) error) (local.JournalState, error) {
	return local.JournalState{}, nil
}

func (j *journal) Commit(b *local.Batch) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, b.Records...)
	kept, _ := slices.BinarySearchFunc(j.records, b.Purged+1, bySeq)
	j.records = j.records[kept:]
	return nil
}

func bySeq(r leasehold.Record, seq uint64) int { return cmp.Compare(r.Seq, seq) }

func (j *journal) History(ctx context.Context, q local.HistoryQuery) ([]leasehold.Record, error) {
	j.mu.RLock()
	records := j.records // append-only below its length: safe to read unlocked
	j.mu.RUnlock()
	end := len(records)
	if q.Below > 0 {
		end, _ = slices.BinarySearchFunc(records, q.Below, bySeq)
	}
	s := scan{HistoryQuery: q, left: records[:end]}
	for !s.done() {
		if err := j.turns.Do(ctx, s.step); err != nil {
			return nil, err
		}
	}
	return s.found, nil
}

const (
	// scanShare is how much of the processors all scans may take together.
	scanShare = 0.15
	// scanStep is how many records a scan visits in one turn.
	scanStep = 4096
)

// scan is a History under way.
type scan struct {
	local.HistoryQuery
	left  []leasehold.Record // not visited yet
	found []leasehold.Record
}

func (s *scan) done() bool { return len(s.left) == 0 || len(s.found) == s.Limit }

func (s *scan) step() error {
	for range scanStep {
		if s.done() {
			break
		}
		last := len(s.left) - 1
		if matches(s.HistoryQuery, &s.left[last]) {
			s.found = append(s.found, s.left[last])
		}
		s.left = s.left[:last]
	}
	return nil
}

func matches(q local.HistoryQuery, r *leasehold.Record) bool {
	return (q.Resource == "" || r.Resource == q.Resource) &&
		strings.HasPrefix(r.Resource, q.Prefix) &&
		(q.Holder == "" || r.Holder == q.Holder) &&
		(q.Kind == "" || r.Kind == q.Kind) &&
		(q.Since.IsZero() || !r.At.Before(q.Since)) &&
		(q.Until.IsZero() || r.At.Before(q.Until))
}

func (j *journal) PurgePoint(_ context.Context, before time.Time, keep int64) (uint64, int, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	n := max(0, len(j.records)-int(keep))
	for n < len(j.records) && j.records[n].At.Before(before) {
		n++
	}
	if n == 0 {
		return 0, 0, nil
	}
	return j.records[n-1].Seq, n, nil
}

func (j *journal) Close() error { return nil }
