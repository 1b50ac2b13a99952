package surreal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/models"
	"github.com/surrealdb/surrealdb.go/surrealcbor"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/cas"
)

// execute runs a statement beside the store.
func execute(t *testing.T, s *Store, text string, v vars) {
	t.Helper()
	_, err := s.backend.run(t.Context(), text, v)
	must(t, err)
}

// A user that may only read changes nothing and is told so: SurrealDB itself answers
// its writes as if they had happened.
func TestReadOnlyUser(t *testing.T) {
	server := testserver.Surreal(t, "--user", "root", "--pass", secret)
	root(t, server.Addr, fmt.Sprintf("DEFINE USER reader ON ROOT PASSWORD %q ROLES VIEWER", secret))
	writer := openOn(t, server.Addr, Options{Username: "root", Password: secret, Database: "d"})
	g := acquire(t, writer, "held", "h", time.Minute)
	reader, err := Open(t.Context(), &Options{Address: server.Addr, Username: "reader", Password: secret, Database: "d", MustExist: true})
	must(t, err)
	defer reader.Close()
	if status, err := reader.Status(t.Context(), "held"); err != nil || !status.Locked() {
		t.Errorf("Status = %+v, %v; want the lease", status, err)
	}
	started := time.Now()
	_, err = reader.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Minute})
	wantUnavailable(t, "Acquire", started, err, "may not write")
	_, err = reader.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "held"})
	wantUnavailable(t, "Renew", started, err, "may not write")
	_, err = reader.SetSetting(t.Context(), leasehold.SettingBlocking, false)
	wantUnavailable(t, "SetSetting", started, err, "may not write")
	_, err = reader.ReleaseHolder(t.Context(), "h", "")
	wantUnavailable(t, "ReleaseHolder", started, err, "may not write")
	if status, err := writer.Status(t.Context(), "r"); err != nil || status.Locked() {
		t.Errorf("Status = %+v, %v; want it free", status, err)
	}
}

// Records that somebody else wrote are errors, and nobody is granted anything on them.
func TestForeignRecords(t *testing.T) {
	s := openOn(t, testserver.Surreal(t).Addr, Options{})
	acquire(t, s, "good", "h", time.Minute)
	for i, change := range []string{
		"state = 'banana'", "marks = []", "token = -1", "ttl_ms = -2", "renewals = -1", "max_renewals = -2",
		"holder = ''", "metadata = '{'", "lease_id = 'x'", "former_id = 'x'",
	} {
		name := fmt.Sprint("r", i)
		acquire(t, s, name, "h", time.Minute)
		execute(t, s, "UPDATE $r SET "+change, vars{"r": leaseRecord(name)})
		if _, err := s.Status(t.Context(), name); !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Status with %s = %v, want ErrUnavailable", change, err)
		}
		if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: name, Holder: "i", TTL: time.Minute}); !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Acquire with %s = %v, want ErrUnavailable", change, err)
		}
	}
	if _, err := s.List(t.Context(), leasehold.ListRequest{}); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("List = %v, want ErrUnavailable", err)
	}
	for _, text := range []string{"{", `{"max_ttl_seconds": "x"}`} {
		execute(t, s, "UPSERT lease_configs:settings SET text = $text", vars{"text": text})
		if _, err := s.Settings(t.Context()); !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Settings of %q = %v, want ErrUnavailable", text, err)
		}
		if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "good", Holder: "h"}); !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Acquire with the settings %q = %v, want ErrUnavailable", text, err)
		}
	}
	for _, records := range []string{"{", `[{"kind":"acquired","before":"banana","after":"active"}]`, `[{"before":"active","after":"banana","kept":true}]`} {
		s := openOn(t, s.backend.own.o.Address, Options{})
		execute(t, s, "INSERT INTO lease_journal { id: [1, 'x'], records: $records }", vars{"records": records})
		_, _, err := s.backend.After(t.Context(), 0, 10)
		if err == nil {
			_, err = s.History(t.Context(), leasehold.HistoryRequest{})
		}
		if !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("the history of %q = %v, want ErrUnavailable", records, err)
		}
	}
}

// An id whose lease ended more than an hour ago may be used again, elsewhere.
func TestForgottenID(t *testing.T) {
	s := openOn(t, testserver.Surreal(t).Addr, Options{})
	for i, released := range []bool{true, false} {
		id := leasehold.NewID()
		old, next := fmt.Sprint("old", i), fmt.Sprint("next", i)
		g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: old, Holder: "h", ID: id, TTL: time.Hour})
		must(t, err)
		if released {
			_, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: old})
			must(t, err)
		}
		r := leasehold.AcquireRequest{Resource: next, Holder: "h", ID: id, TTL: time.Minute}
		if _, err := s.Acquire(t.Context(), r); err == nil {
			t.Fatal("Acquire with an id that is known = success, want a refusal")
		}
		execute(t, s, "UPDATE $r SET expires_at = time::now() - 2h, due = 1", vars{"r": leaseRecord(old)})
		if _, err := s.Acquire(t.Context(), r); err != nil {
			t.Errorf("Acquire with a forgotten id (released %v) = %v, want a grant", released, err)
		}
	}
}

// Records that are not kept reach watchers, and are dropped after a while.
func TestNoticesAreDropped(t *testing.T) {
	s := openOn(t, testserver.Surreal(t).Addr, Options{})
	b := s.backend
	for i, at := range []time.Time{time.Now().Add(-time.Hour), time.Now()} {
		for _, kept := range []bool{false, true} {
			must(t, b.Append(t.Context(), cas.Record{Kept: kept, Record: leasehold.Record{At: at, Kind: leasehold.KindFailed, Resource: fmt.Sprint("r", i)}}))
		}
	}
	records, oldest, err := b.After(t.Context(), 0, 10)
	if err != nil || len(records) != 4 || oldest != 1 {
		t.Fatalf("After(0) = %v, oldest %d, %v; want 4 records", records, oldest, err)
	}
	if _, err := b.Purge(t.Context(), time.Now().Add(-24*time.Hour), 100); err != nil {
		t.Fatal(err)
	}
	records, oldest, err = b.After(t.Context(), 0, 10)
	if err != nil || len(records) != 3 || oldest != 2 {
		t.Errorf("After(0) = %v, oldest %d, %v; want the old notice gone", records, oldest, err)
	}
	page, err := s.History(t.Context(), leasehold.HistoryRequest{})
	if err != nil || len(page.Records) != 2 {
		t.Errorf("History = %v, %v; want the two that are kept", page.Records, err)
	}
}

// What the server says is never shown from the first value on.
func TestFailures(t *testing.T) {
	failed := func(messages ...string) error {
		var err error
		for _, m := range messages {
			err = errors.Join(err, &surrealdb.QueryError{Message: m})
		}
		return classify(err)
	}
	generic := "The query was not executed due to a failed transaction"
	for what, try := range map[string]struct {
		err    error
		raced  bool
		reason leasehold.Reason
	}{
		"thrown":     {failed(generic, "An error occurred: leasehold: raced"), true, ""},
		"conflict":   {failed(generic, "Transaction conflict: Resource busy. This transaction can be retried"), true, ""},
		"generic":    {failed(generic, "The query was not executed due to a cancelled transaction"), true, ""},
		"duplicate":  {failed("Database index `leases_lease_id` already contains '" + secret + "', with record `leases:x`"), true, ""},
		"refused":    {failed("An error occurred: leasehold: refused"), false, leasehold.ReasonUnavailable},
		"iam":        {failed("IAM error: Not enough permissions to perform this action"), false, leasehold.ReasonUnavailable},
		"commit":     {failed(generic, "Cannot COMMIT: the disk is gone"), false, leasehold.ReasonUnknown},
		"other":      {failed("Found '" + secret + "' for field `token`"), false, leasehold.ReasonUnavailable},
		"rpc":        {classify(&connection.RPCError{Message: "Parse error: '" + secret + "'"}), false, leasehold.ReasonUnavailable},
		"rpc busy":   {classify(&connection.RPCError{Message: "Transaction conflict. This transaction can be retried"}), true, ""},
		"not sent":   {classify(notSent{errClosed}), false, leasehold.ReasonUnavailable},
		"lost":       {classify(context.DeadlineExceeded), false, ""},
		"no failure": {classify(nil), false, ""},
	} {
		if errors.Is(try.err, cas.ErrRaced) != try.raced || leasehold.ReasonOf(try.err) != try.reason {
			t.Errorf("%s = %v, want reason %q, raced %v", what, try.err, try.reason, try.raced)
		}
		if strings.Contains(fmt.Sprintf("%v %+v", try.err, try.err), secret) {
			t.Errorf("%s gives the secret away: %v", what, try.err)
		}
	}
}

// speak starts a server that says something to whoever connects.
func speak(t *testing.T, say func(*websocket.Conn)) Options {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{Subprotocols: []string{"cbor"}}
		socket, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer socket.Close()
		say(socket)
		_, _, _ = socket.ReadMessage()
	}))
	t.Cleanup(server.Close)
	return Options{Address: strings.TrimPrefix(server.URL, "http://")}.withPlace()
}

// A server that says nonsense is no server, and its notices harm nobody.
func TestNonsenseServer(t *testing.T) {
	o := speak(t, func(c *websocket.Conn) {
		_, _, _ = c.ReadMessage()
		_ = c.WriteMessage(websocket.BinaryMessage, []byte("nonsense"))
	})
	started := time.Now()
	_, err := Open(t.Context(), &o)
	wantUnavailable(t, "Open", started, err, "no answer")
}

// A live query whose notices nobody reads ends, and one that nobody asked for is
// passed over.
func TestUnreadNotices(t *testing.T) {
	id := models.UUID{}
	id.UUID[0] = 7
	notice, err := surrealcbor.Marshal(map[string]any{"result": map[string]any{"id": id, "action": "UPDATE", "result": map[string]any{"resource": "r"}}})
	must(t, err)
	started := make(chan struct{})
	o := speak(t, func(c *websocket.Conn) {
		_ = c.WriteMessage(websocket.BinaryMessage, notice)
		<-started
		for range notices + 2 {
			_ = c.WriteMessage(websocket.BinaryMessage, notice)
		}
	})
	l, err := dialLink(t.Context(), o)
	must(t, err)
	defer l.close()
	channel, err := l.follow(id.String())
	must(t, err)
	close(started)
	n := 0
	for range time.Tick(time.Millisecond) {
		l.mu.Lock()
		over := len(l.live) == 0
		l.mu.Unlock()
		if over {
			break
		}
	}
	for got := range channel {
		if resource, ok := resourceOf(got); !ok || resource != "r" {
			t.Fatalf("notice %+v is about %q", got, resource)
		}
		n++
	}
	if n != notices {
		t.Errorf("%d notices before the end, want %d", n, notices)
	}
	l.close()
	if _, err := l.follow("x"); err == nil {
		t.Error("follow on a closed connection = success, want an error")
	}
	if _, err := l.call(t.Context(), &connection.RPCRequest{Method: "ping"}); !errors.As(err, new(notSent)) {
		t.Errorf("call on a closed connection = %v, want that nothing was sent", err)
	}
}

// A closed connection stays closed, and a caller that has left does not wait for one.
func TestClosedConnection(t *testing.T) {
	c := newConn(speak(t, func(*websocket.Conn) {}))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c.turn <- struct{}{}
	if _, err := c.current(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("current with an ended context = %v, want its cause", err)
	}
	<-c.turn
	c.close()
	if _, err := c.Send(t.Context(), "ping"); !errors.Is(err, errClosed) {
		t.Errorf("Send after close = %v, want that it is closed", err)
	}
}

func FuzzCursor(f *testing.F) {
	for _, c := range []string{"", cursor(1), cursor(1 << 40), "1.", "zz.00000000", "0.f4dbdf21"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, c string) {
		seq, err := parseCursor(c)
		if err == nil && c != "" && cursor(uint64(seq)) != c {
			t.Errorf("parseCursor(%q) = %d, whose cursor is %q", c, seq, cursor(uint64(seq)))
		}
	})
}
