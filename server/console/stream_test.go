package console

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/pipenet"
	"github.com/leasehold/leasehold/server/internal/limit"
)

// listener reads a stream.
type reader struct {
	t      *testing.T
	events chan [2]string // name and data
	close  context.CancelFunc
}

func (s *site) listen(query string) *reader {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.http.URL+"/console/stream?"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.cookie != nil {
		r.AddCookie(s.cookie)
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("stream?%s = %d %s", query, a.StatusCode, a.Header.Get("Content-Type"))
	}
	l := &reader{s.t, make(chan [2]string, 1000), cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(l.events)
		defer a.Body.Close()
		var name string
		for lines := bufio.NewScanner(a.Body); lines.Scan(); {
			if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = n
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				l.events <- [2]string{name, data}
			}
		}
	}()
	s.t.Cleanup(func() { cancel(); <-done })
	l.next("hello")
	return l
}

// next waits for an event of this name and returns its data.
func (l *reader) next(name string) string {
	l.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case e, ok := <-l.events:
			if !ok {
				l.t.Fatalf("the stream ended before %q", name)
			}
			if e[0] == name {
				return e[1]
			}
		case <-limit:
			l.t.Fatalf("no event %q in 30 s", name)
		}
	}
}

// row waits for the row of a lease.
func (l *reader) row(name string) liveRow {
	l.t.Helper()
	for {
		var rows []liveRow
		if err := json.Unmarshal([]byte(l.next("rows")), &rows); err != nil {
			l.t.Fatal(err)
		}
		for _, r := range rows {
			if r.Name == name {
				return r
			}
		}
	}
}

func TestStreamOfTable(t *testing.T) {
	s := start(t, nil, "")
	l := s.listen("of=leases&prefix=a")
	hour := leasehold.AcquireRequest{Resource: "a:1", Holder: "anna", TTL: time.Hour}
	g := s.acquire(hour)
	if r := l.row("a:1"); !strings.Contains(r.HTML, "anna") || strings.Contains(r.HTML, g.ID.String()) {
		t.Errorf("the row is %q", r.HTML)
	}
	var totals totalsData
	if err := json.Unmarshal([]byte(l.next("totals")), &totals); err != nil || totals.Leases != 1 {
		t.Errorf("totals = %+v, %v; want 1 lease", totals, err)
	}
	s.queue(leasehold.AcquireRequest{Resource: "a:1", Holder: "ben", Timeout: leasehold.NoTimeout, TTL: time.Hour})
	if r := l.row("a:1"); !strings.Contains(r.HTML, "ben") {
		t.Errorf("the row with a waiter is %q", r.HTML)
	}
	if _, err := s.store.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource}); err != nil {
		t.Fatal(err)
	}
	if r := l.row("a:1"); !strings.Contains(r.HTML, "ben") {
		t.Errorf("the row after the release is %q, want ben's", r.HTML)
	}
	if _, err := s.store.(leasehold.Breaker).Break(t.Context(), leasehold.BreakRequest{Resource: "a:1"}); err != nil {
		t.Fatal(err)
	}
	for l.row("a:1").HTML != "" { // a row may be drawn once more before it goes
	}

	// Rows outside the page are not sent.
	page := s.listen("of=leases&from=m&until=p")
	for _, name := range []string{"b", "n", "z"} {
		s.acquire(leasehold.AcquireRequest{Resource: name, Holder: "anna", TTL: time.Hour})
	}
	var rows []liveRow
	if err := json.Unmarshal([]byte(page.next("rows")), &rows); err != nil || len(rows) != 1 || rows[0].Name != "n" {
		t.Errorf("the page from m to p gets %+v, %v; want n", rows, err)
	}
}

func TestStreamsOfPages(t *testing.T) {
	s := start(t, nil, "")
	resource, holder, waits, plots := s.listen("of=resource&name=a"), s.listen("of=holder&name=anna"), s.listen("of=waits"), s.listen("of=plots")
	s.acquire(leasehold.AcquireRequest{Resource: "a", Holder: "anna", TTL: time.Hour})
	for _, l := range []*reader{resource, holder, waits, plots} {
		l.next("changed")
	}
	s.queue(leasehold.AcquireRequest{Resource: "a", Holder: "ben", Timeout: leasehold.NoTimeout})
	resource.next("changed") // no record says so
	waits.next("changed")
}

// Who waits for less than the time between two looks goes from the row again, which
// another page's look may have put there.
func TestShortWait(t *testing.T) {
	s := start(t, nil, "")
	s.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:1", TTL: time.Hour})
	v := newVisit(s.server, httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/console/stream?of=leases", nil))
	f, _, err := newFeed(v)
	if err != nil {
		t.Fatal(err)
	}
	f.look()
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = s.store.(leasehold.Waiter).Wait(ctx, leasehold.AcquireRequest{Resource: "deploy", Holder: "hasty", Timeout: leasehold.NoTimeout})
	}()
	for s.waiting() == 0 {
		time.Sleep(time.Millisecond) // the store lives in real time
	}
	s.server.waits = cached[waitTable]{} // its time is over
	rows, err := f.render([]string{"deploy"})
	if err != nil || !strings.Contains(rows[0].HTML, "hasty") {
		t.Fatalf("render = %v, %v; want the waiter", rows, err)
	}
	cancel()
	<-left
	s.server.waits = cached[waitTable]{}
	if f.look(); !f.pending["deploy"] {
		t.Error("the row still shows a waiter that has gone")
	}
}

func TestWaitChanges(t *testing.T) {
	var c waitChanges
	table := func(holders ...string) waitTable {
		by := map[string][]leasehold.Wait{}
		for _, h := range holders {
			by["r"+h] = []leasehold.Wait{{Place: leasehold.Place{Holder: h}}}
		}
		return waitTable{byLease: by}
	}
	first := c.add(table("a"))
	second := c.add(table("a", "b"))
	if names, known := c.since(first); !known || !slices.Equal(names, []string{"rb"}) {
		t.Errorf("since the first table %v changed (known: %v), want rb", names, known)
	}
	for range 3 * keptVersions {
		c.add(table("a"))
	}
	if names, known := c.since(second); known {
		t.Errorf("since long ago %v changed, want that it is not known", names)
	}
	if len(c.changed) > 0 {
		t.Errorf("%v is kept, want nothing of what changed long ago", c.changed)
	}
}

// After too many changes the table is loaded anew; so it is after a reset.
func TestFeedOverflows(t *testing.T) {
	f := &feed{of: "leases", pending: map[string]bool{}, wake: make(chan struct{}, 1)}
	for i := range maxPending + 1 {
		notice := leasehold.Notice{Record: leasehold.Record{Kind: leasehold.KindAcquired, Resource: strings.Repeat("x", i+1)}}
		_ = f.note([]*leasehold.SharedNotice{{Notice: notice}})
	}
	if !f.changed || len(f.pending) > 0 {
		t.Errorf("after %d changes: changed %v, %d pending; want the whole table", maxPending+1, f.changed, len(f.pending))
	}
	g := &feed{of: "leases", pending: map[string]bool{}, wake: make(chan struct{}, 1)}
	_ = g.note([]*leasehold.SharedNotice{{Notice: leasehold.Notice{Reset: true}}})
	if !g.changed {
		t.Error("a reset does not load the table anew")
	}
	_ = g.note([]*leasehold.SharedNotice{{Notice: leasehold.Notice{Record: leasehold.Record{Kind: leasehold.KindRefused, Resource: "y"}}}})
	if g.pending["y"] {
		t.Error("a refusal draws a row")
	}
}

func TestStreamsAreLimited(t *testing.T) {
	s := start(t, nil, "")
	s.server.o.Streams = limit.New(2, 2)
	first := s.listen("of=waits")
	s.listen("of=waits")
	s.shows("/console/stream?of=waits", http.StatusTooManyRequests)
	first.close()
	for deadline := time.Now().Add(30 * time.Second); s.server.o.Streams.Size() > 1; time.Sleep(time.Millisecond) { // until the server has noticed
		if time.Now().After(deadline) {
			t.Fatal("a closed stream still counts")
		}
	}
	s.listen("of=waits")
}

func TestDrainEndsStreams(t *testing.T) {
	s := start(t, nil, "")
	l := s.listen("of=leases")
	s.server.Drain()
	for range l.events {
	}
}

// A browser that accepts nothing is cut off, and delays nobody meanwhile.
func TestSlowBrowserIsCutOff(t *testing.T) {
	s := start(t, nil, "")
	s.server.o.WriteTimeout = time.Second
	listener := pipenet.Listen() // its connections buffer nothing
	server := &http.Server{Handler: s.server.Handler(), ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() { server.Close(); <-served })
	slow, err := listener.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "GET /console/stream?of=leases HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for buffer, got := make([]byte, 1024), ""; !strings.Contains(got, "event: hello"); {
		n, err := slow.Read(buffer)
		if got += string(buffer[:n]); err != nil {
			t.Fatalf("the stream begins %q, and ends with %v", got, err)
		}
	}
	fast := s.listen("of=leases")
	s.acquire(leasehold.AcquireRequest{Resource: "a", Holder: "anna", TTL: time.Hour})
	fast.row("a")
	for deadline := time.Now().Add(30 * time.Second); s.server.o.Streams.Size() > 1; time.Sleep(time.Millisecond) { // as above
		if time.Now().After(deadline) {
			t.Fatal("the stream of a browser that accepts nothing still stands")
		}
	}
	s.acquire(leasehold.AcquireRequest{Resource: "b", Holder: "anna", TTL: time.Hour})
	fast.row("b")
}

// A logout ends the streams of its session.
func TestLogoutEndsStreams(t *testing.T) {
	file, secrets := tokenFile(t)
	s := start(t, nil, file)
	s.logIn(secrets["reader"])
	l := s.listen("of=leases")
	secret := secretField.FindStringSubmatch(s.get("/console/").body)[1]
	s.post("/console/logout", map[string][]string{"secret": {secret}})
	for range l.events {
	}
}

func TestRefusals(t *testing.T) {
	s := start(t, nil, "")
	s.shows("/console/waits", http.StatusOK, "None.")
	ids := map[string]leasehold.ID{}
	for resource, holder := range map[string]string{"left": "ann", "right": "ben"} {
		ids[resource] = s.acquire(leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: time.Hour, Sequence: true}).ID
	}
	s.queue(leasehold.AcquireRequest{Resource: "right", Holder: "ann", Sequence: true, Timeout: leasehold.NoTimeout})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) { // until the console watches
		_, err := s.store.(leasehold.Waiter).Wait(t.Context(), leasehold.AcquireRequest{Resource: "left", Holder: "ben", Sequence: true, Timeout: time.Minute})
		if leasehold.ReasonOf(err) != leasehold.ReasonDeadlock {
			t.Fatalf("Wait = %v, want deadlock", err)
		}
		if len(latest(s)) > 0 || time.Now().After(deadline) {
			break
		}
	}
	s.shows("/console/waits", http.StatusOK, "<bdi>ben</bdi> was refused", "class=\"edge refused\" marker-end=\"url(#arrow)\"><title>ben waits for left of ann", "ann waits for right of ben")
	// The wait that a refused transfer would have closed to a cycle stands already.
	_, err := s.store.(leasehold.Transferer).Transfer(t.Context(), leasehold.TransferRequest{ID: ids["right"], To: "ann"})
	if leasehold.ReasonOf(err) != leasehold.ReasonDeadlock {
		t.Fatalf("Transfer = %v, want deadlock", err)
	}
	for len(latest(s)) < 2 {
		time.Sleep(5 * time.Millisecond) // until the console has noted it
	}
	s.shows("/console/waits", http.StatusOK, "a transfer of <bdi>right</bdi> to <bdi>ann</bdi> was refused")
}

func latest(s *site) []refusal {
	kept, _ := s.server.refusals.latest()
	return kept
}
