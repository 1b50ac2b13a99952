package historywatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
)

// history is a history in memory, shared by any number of processes.
type history struct {
	mu      sync.Mutex
	records []leasehold.Record
	last    uint64
	reads   int
	err     error
	takes   time.Duration // how long a read takes
}

// write appends a record, as another process does.
func (h *history) write(resource, holder string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.records = append(h.records, leasehold.Record{Seq: h.last, Kind: leasehold.KindAcquired, Resource: resource, Holder: holder})
}

func (h *history) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// purge drops the records up to this one.
func (h *history) purge(through uint64) {
	h.set(func() {
		for len(h.records) > 0 && h.records[0].Seq <= through {
			h.records = h.records[1:]
		}
	})
}

func (h *history) Last(context.Context) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, h.err
}

func (h *history) After(ctx context.Context, seq uint64, n int) (page []leasehold.Record, oldest uint64, err error) {
	h.mu.Lock()
	takes := h.takes
	h.mu.Unlock()
	sleep.For(ctx, takes)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	if h.err != nil || ctx.Err() != nil {
		return nil, 0, errors.Join(h.err, ctx.Err())
	}
	for _, r := range h.records {
		if oldest == 0 {
			oldest = r.Seq
		}
		if r.Seq > seq && len(page) < n {
			page = append(page, r)
		}
	}
	return page, oldest, nil
}

func (h *history) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reads
}

// bubble runs a test on a history whose reader looks once a minute.
func bubble(t *testing.T, test func(t *testing.T, h *history, w *Watches)) {
	synctest.Test(t, func(t *testing.T) {
		h := &history{}
		w := New(Options{Store: "test", Last: h.Last, After: h.After, Look: time.Minute})
		defer w.Close()
		test(t, h, w)
	})
}

// watching is one watcher of a test.
type watching struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error
	mu     sync.Mutex
	told   string
}

func watch(t *testing.T, w *Watches, r leasehold.WatchRequest) *watching {
	ctx, cancel := context.WithCancel(t.Context())
	x := &watching{t: t, cancel: cancel, ended: make(chan error, 1)}
	go func() { x.ended <- w.Watch(ctx, r, x.notice) }()
	synctest.Wait()
	return x
}

func (x *watching) notice(n leasehold.Notice) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n.Reset {
		x.told += "reset@"
	}
	x.told += fmt.Sprintf("%d", n.Seq)
	if n.Kind == leasehold.KindRefused {
		x.told += "refused"
	}
	x.told += " "
	return nil
}

// expect says what the watcher was told since the last time.
func (x *watching) expect(want string) {
	x.t.Helper()
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.told != want {
		x.t.Errorf("the watcher was told %.200q, want %.200q", x.told, want)
	}
	x.told = ""
}

// expectMany says how many notices the watcher was told since the last time.
func (x *watching) expectMany(want int) {
	x.t.Helper()
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := strings.Count(x.told, " "); n != want {
		x.t.Errorf("the watcher was told %d notices, want %d", n, want)
	}
	x.told = ""
}
