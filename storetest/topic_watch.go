package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

var watchChecks = []check{
	{name: "TellsInOrder", run: watchInOrder, needs: []Capability{Watching, History}},
	{name: "Filters", run: watchFilters, needs: []Capability{Watching, History}},
	{name: "Resumes", run: watchResumes, needs: []Capability{Watching, History}},
	{name: "ResetsWhenTooFarAhead", run: watchResets, needs: []Capability{Watching, History}},
	{name: "TellsOfRefusals", run: watchRefusals, needs: []Capability{Watching, History}},
	{name: "EndsWithItsFunction", run: watchEnds, needs: []Capability{Watching, History}},
	{name: "Invalid", run: watchInvalid, needs: []Capability{Watching}},
}

// watching collects the notices of one watcher.
type watching struct {
	e      *env
	cancel context.CancelFunc
	ended  chan error

	mu      sync.Mutex
	notices []leasehold.Notice
}

// watch starts a watcher. It resumes after a record that exists, so that it
// does not matter how soon it gets there.
func (e *env) watch(r leasehold.WatchRequest) *watching {
	ctx, cancel := context.WithCancel(e.Context())
	w := &watching{e: e, cancel: cancel, ended: make(chan error, 1)}
	watcher := power[leasehold.Watcher](e)
	go func() {
		w.ended <- watcher.Watch(ctx, r, func(n leasehold.Notice) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.notices = append(w.notices, n)
			return nil
		})
	}()
	return w
}

// collect waits for so many notices, checks that there are no more, ends the
// watch, and returns them as text.
func (w *watching) collect(n int) []string {
	w.e.Helper()
	for waited := 0; w.count() < n && waited < 500; waited++ {
		w.e.pass(10 * time.Millisecond)
	}
	w.e.pass(50 * time.Millisecond)
	w.cancel()
	if err := <-w.ended; !errors.Is(err, context.Canceled) {
		w.e.Errorf("Watch = %v, want the end of its context", err)
	}
	var texts []string
	for _, notice := range w.notices {
		texts = append(texts, describe(notice))
	}
	if len(texts) != n {
		w.e.Errorf("a watcher was told %v, want %d notices", texts, n)
	}
	return texts
}

func (w *watching) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.notices)
}

func describe(n leasehold.Notice) string {
	if n.Reset {
		return "reset"
	}
	return fmt.Sprintf("%s %s by %s, token %d", n.Kind, n.Resource, n.Holder, n.Token)
}

// firstRecord makes a first record and returns its number.
func (e *env) firstRecord() uint64 {
	e.Helper()
	e.acquire("begin", "h")
	page, err := power[leasehold.Historian](e).History(e.Context(), leasehold.HistoryRequest{Limit: 1})
	if err != nil || len(page.Records) != 1 {
		e.Fatalf("History = %d records, %v; want the newest", len(page.Records), err)
	}
	return page.Records[0].Seq
}

func watchInOrder(e *env) {
	after := e.firstRecord()
	w := e.watch(leasehold.WatchRequest{After: after})
	a := e.acquire("r", "a")
	e.renew(a.Lease)
	e.release(a.Lease)
	b := e.acquire("r", "b")
	e.notices(w, "acquired r by a, token ", a.Token, "renewed r by a, token ", a.Token,
		"released r by a, token ", a.Token, "acquired r by b, token ", b.Token)
	for i, n := range w.notices {
		if n.Seq != after+uint64(i)+1 || n.At.IsZero() {
			e.Errorf("notice %d has seq %d at %v, want seq %d", i, n.Seq, n.At, after+uint64(i)+1)
		}
	}
	if first := w.notices[0]; first.Before != leasehold.StateAvailable || first.After != leasehold.StateActive {
		e.Errorf("the grant went from %v to %v, want available to active", first.Before, first.After)
	}
}

// notices expects just these notices, each given as text and token.
func (e *env) notices(w *watching, want ...any) {
	e.Helper()
	var texts []string
	for i := 0; i < len(want); i += 2 {
		texts = append(texts, fmt.Sprint(want[i], want[i+1]))
	}
	if got := w.collect(len(texts)); !slices.Equal(got, texts) {
		e.Fatalf("a watcher was told %q, want %q", got, texts)
	}
}

func watchFilters(e *env) {
	after := e.firstRecord()
	prefix := e.watch(leasehold.WatchRequest{After: after, Prefix: "prod:"})
	holder := e.watch(leasehold.WatchRequest{After: after, Holder: "b"})
	a := e.acquire("prod:x", "a")
	b := e.acquire("test:x", "b")
	c := e.acquire("prod:y", "b")
	e.acquire("prox", "a")
	e.notices(prefix, "acquired prod:x by a, token ", a.Token, "acquired prod:y by b, token ", c.Token)
	e.notices(holder, "acquired test:x by b, token ", b.Token, "acquired prod:y by b, token ", c.Token)
}

func watchResumes(e *env) {
	after := e.firstRecord()
	a := e.acquire("r", "a")
	b := e.acquire("s", "b")
	e.notices(e.watch(leasehold.WatchRequest{After: after}), "acquired r by a, token ", a.Token, "acquired s by b, token ", b.Token)
	e.notices(e.watch(leasehold.WatchRequest{After: after + 1}), "acquired s by b, token ", b.Token)
	e.notices(e.watch(leasehold.WatchRequest{After: after + 2}))
}

func watchResets(e *env) {
	after := e.firstRecord()
	w := e.watch(leasehold.WatchRequest{After: after + 1000})
	if got := w.collect(1); len(got) != 1 || got[0] != "reset" || w.notices[0].Seq != after {
		e.Errorf("a watcher from nowhere was told %q, want a reset to %d", got, after)
	}
}

func watchRefusals(e *env) {
	after := e.firstRecord()
	g := e.acquire("r", "a")
	w := e.watch(leasehold.WatchRequest{After: after, Prefix: "r"})
	for waited := 0; w.count() == 0 && waited < 500; waited++ {
		e.pass(10 * time.Millisecond) // the watch has started when it has told of the grant
	}
	e.refused(e.request("r", "b"), leasehold.ReasonHeld)
	e.notices(w, "acquired r by a, token ", g.Token, "refused r by a, token ", g.Token)
	if n := w.notices[1]; n.Seq != 0 || n.Why != string(leasehold.ReasonHeld) {
		e.Errorf("the refusal has seq %d and reason %q, want none and %q", n.Seq, n.Why, leasehold.ReasonHeld)
	}
}

func watchEnds(e *env) {
	after := e.firstRecord()
	e.acquire("r", "a")
	enough := errors.New("enough")
	err := power[leasehold.Watcher](e).Watch(e.Context(), leasehold.WatchRequest{After: after}, func(leasehold.Notice) error { return enough })
	if !errors.Is(err, enough) {
		e.Errorf("Watch = %v, want the function's own error", err)
	}
}

func watchInvalid(e *env) {
	for _, r := range []leasehold.WatchRequest{{Prefix: "a\x00"}, {Holder: "\xff"}} {
		err := power[leasehold.Watcher](e).Watch(e.Context(), r, func(leasehold.Notice) error { return nil })
		e.reason("Watch", err, leasehold.ReasonInvalid)
	}
}
