package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
)

// watching is an open stream, its lines as they came.
type watching struct {
	lines  chan string
	status int
	cancel context.CancelFunc
}

func (d *driver) watch(client *http.Client, query, last string) *watching {
	d.Helper()
	ctx, cancel := context.WithCancel(d.Context())
	r := newRequest(d.T, ctx, "GET", "/v1/events"+query, "")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := client.Do(r)
	if err != nil {
		d.Fatalf("GET /v1/events%s: %v", query, err)
	}
	w := &watching{lines: make(chan string, 100_000), status: answer.StatusCode, cancel: cancel}
	go func() {
		defer close(w.lines)
		defer answer.Body.Close()
		for s := bufio.NewScanner(answer.Body); s.Scan(); {
			w.lines <- s.Text()
		}
	}()
	synctest.Wait()
	return w
}

// seen returns what has come so far, empty lines left out.
func (w *watching) seen() []string {
	time.Sleep(2 * flushEvery)
	synctest.Wait()
	var all []string
	for {
		select {
		case line, ok := <-w.lines:
			if !ok {
				return append(all, "end")
			}
			if line != "" {
				all = append(all, line)
			}
		default:
			return all
		}
	}
}

// events keeps only the names and ids.
func (w *watching) events() string {
	var all []string
	for _, line := range w.seen() {
		if event, ok := strings.CutPrefix(line, "event: "); ok {
			all = append(all, event)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			all = append(all, id)
		}
	}
	return strings.Join(all, " ")
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		w := d.watch(client, "?prefix=prod:&holder=a", "")
		all := d.watch(client, "", "")
		d.acquire("test:x", "a")
		d.acquire("prod:y", "b")
		g := d.acquire("prod:x", "a")
		d.post("/v1/leases/acquire", wire.AcquireRequest{Resource: "prod:x", Holder: "b"}).wantProblem(http.StatusConflict, "lease_held")
		d.release(g.LeaseID)
		if got := all.events(); got != "acquired 1 acquired 2 acquired 3 refused released 4" {
			t.Errorf("all events = %q", got)
		}
		lines := w.seen()
		if len(lines) == 0 || lines[0] != ": watching" {
			t.Fatalf("the stream is %q, want it to begin with a comment", lines)
		}
		var kinds []string
		for _, line := range lines {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var r wire.Record
				if err := json.Unmarshal([]byte(data), &r); err != nil || r.Resource != "prod:x" {
					t.Errorf("data %s, %v; want a record of prod:x", data, err)
				}
				kinds = append(kinds, r.Event)
			}
		}
		if diff := cmp.Diff([]string{"acquired", "refused", "released"}, kinds); diff != "" {
			t.Errorf("the filtered events: %s", diff)
		}
		w.cancel()
		all.cancel()
		synctest.Wait()
		if n := d.server.streams.Size(); n != 0 {
			t.Errorf("%d streams are left, want none", n)
		}
	})
}

func TestEventsResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		for _, name := range []string{"a", "b", "c"} {
			d.acquire(name, "h")
		}
		for _, c := range []struct{ query, last, want string }{
			{"", "1", "acquired 2 acquired 3"},
			{"?after=2", "", "acquired 3"},
			{"?after=1", "2", "acquired 3"},
			{"", "", ""},
			{"?after=99", "", "reset 3"},
		} {
			w := d.watch(client, c.query, c.last)
			if got := w.events(); got != c.want {
				t.Errorf("events%s after %q = %q, want %q", c.query, c.last, got, c.want)
			}
			w.cancel()
		}
		w := d.watch(client, "?after=99", "")
		if lines := w.seen(); !strings.Contains(strings.Join(lines, "\n"), "event: reset\nid: 3\ndata: {\"seq\":3}") {
			t.Errorf("the reset is %q", lines)
		}
		w.cancel()
	})
}

func TestEventsHeartbeatAndDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		w := d.watch(client, "", "")
		time.Sleep(45*time.Second + 10*time.Millisecond)
		if diff := cmp.Diff([]string{": watching", ": still here", ": still here", ": still here"}, w.seen()); diff != "" {
			t.Errorf("45 quiet seconds: %s", diff)
		}
		d.server.Drain()
		lines := w.seen()
		if len(lines) != 2 || !strings.Contains(lines[0], "shutting down") || lines[1] != "end" {
			t.Errorf("after Drain: %q, want a last word and the end", lines)
		}
		d.send("GET", "/v1/events", "").wantProblem(http.StatusServiceUnavailable, "store_unavailable")
	})
}

func TestEventsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, &Options{MaxStreams: 1})
		_, client := d.listen()
		w := d.watch(client, "", "")
		d.send("GET", "/v1/events", "").wantProblem(http.StatusTooManyRequests, "rate_limited")
		w.cancel()
	})
}

// unread opens a stream on a connection of its own, of which nothing is read yet.
func (d *driver) unread() net.Conn {
	d.Helper()
	l, _ := d.listen()
	conn, err := l.Dial(d.Context(), "", "")
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { conn.Close() })
	io.WriteString(conn, "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
	return conn
}

func TestSlowReaderIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		d.unread() // and never reads
		time.Sleep(time.Second)
		if n := d.server.streams.Size(); n != 1 {
			t.Fatalf("%d streams, want 1", n)
		}
		began := time.Now()
		d.release(d.acquire("r", "a").LeaseID)
		if took := time.Since(began); took != 0 {
			t.Errorf("a slow reader held up others for %v", took)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := d.server.streams.Size(); n != 0 {
			t.Errorf("%d streams, want the slow one cut off after 10 s", n)
		}
	})
}

// A caller has so many streams and no more; another one has its own.
func TestEventsLimitPerCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		stream := func(caller string) (status func() int, cancel context.CancelFunc) {
			ctx, cancel := context.WithCancel(auth.With(t.Context(), auth.Caller{Name: caller, Roles: []auth.Role{auth.RoleReader}}))
			w := httptest.NewRecorder()
			go d.server.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/v1/events", nil).WithContext(ctx))
			return func() int { synctest.Wait(); time.Sleep(headerDelay); synctest.Wait(); return w.Code }, cancel
		}
		var cancels []context.CancelFunc
		for range 32 {
			_, cancel := stream("a")
			cancels = append(cancels, cancel)
		}
		synctest.Wait()
		if status, _ := stream("a"); status() != http.StatusTooManyRequests {
			t.Errorf("the 33rd stream of a caller = %d, want 429", status())
		}
		if status, cancel := stream("b"); status() != http.StatusOK {
			t.Errorf("the first stream of another caller = %d, want 200", status())
		} else {
			cancel()
		}
		cancels[0]()
		synctest.Wait()
		if status, cancel := stream("a"); status() != http.StatusOK {
			t.Errorf("a stream in the place of one that ended = %d, want 200", status())
		} else {
			cancel()
		}
		for _, cancel := range cancels {
			cancel()
		}
		synctest.Wait()
		if n := d.server.streams.Size(); n != 0 {
			t.Errorf("%d streams are left, want none", n)
		}
	})
}

// flushes counts how often something is written through.
type flushes struct {
	*httptest.ResponseRecorder
	n int
}

func (f *flushes) Flush() { f.n++ }

// What happens while a stream rests is written together.
func TestEventsAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		ctx, cancel := context.WithCancel(auth.With(t.Context(), auth.Local))
		w := &flushes{ResponseRecorder: httptest.NewRecorder()}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			d.server.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/v1/events", nil).WithContext(ctx))
		}()
		time.Sleep(headerDelay)
		for range 100 {
			d.release(d.acquire("r", "a").LeaseID)
			synctest.Wait()
		}
		time.Sleep(2 * flushEvery)
		cancel()
		<-ended
		if n := strings.Count(w.Body.String(), "event: "); n != 200 {
			t.Errorf("%d events, want 200", n)
		}
		if w.n != 3 { // the comment, the first event, all others
			t.Errorf("200 events were flushed %d times, want 3", w.n)
		}
	})
}

// A reader that lags too far gets a reset on the same stream.
func TestLaggingReaderIsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		conn := d.unread()
		time.Sleep(headerDelay)
		g := d.acquire("r", "a")
		for range 5000 {
			d.post("/v1/leases/renew", wire.RenewRequest{LeaseID: g.LeaseID})
			synctest.Wait()
		}
		lines := make(chan string, 100_000)
		go func() {
			for s := bufio.NewScanner(conn); s.Scan(); {
				lines <- s.Text()
			}
			close(lines)
		}()
		w := &watching{lines: lines}
		time.Sleep(time.Second)
		got := w.events()
		if !strings.HasPrefix(got, "acquired 1 ") || !strings.HasSuffix(got, " reset 5001") {
			t.Errorf("a reader that lagged saw %.60q…, want the grant and a reset to 5001", got)
		}
		d.release(g.LeaseID)
		if got := w.events(); got != "released 5002" {
			t.Errorf("after that it saw %q, want the release", got)
		}
	})
}

// cutting is a store that cuts every watcher off after one notice.
type cutting struct{ leasehold.Store }

func (cutting) Watch(_ context.Context, _ leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	if err := each(leasehold.Notice{Record: leasehold.Record{Seq: 1, Kind: leasehold.KindAcquired}}); err != nil {
		return err
	}
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable}
}

func TestCutOffIsSaid(t *testing.T) {
	store := newDriver(t, nil, nil).server.store
	d := newDriver(t, plain{store}, nil)
	d.server.store = cutting{store}
	r := d.send("GET", "/v1/events", "")
	if got := string(r.body); r.status != http.StatusOK || !strings.HasSuffix(got, ": cut off; come back with Last-Event-ID\n\n") {
		t.Errorf("events = %d %q, want an event and the reason of the end", r.status, got)
	}
}
