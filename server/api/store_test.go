package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
)

// slow is a store that answers after a while, or when the caller loses
// patience.
type slow struct {
	*local.Engine
	takes time.Duration
	fails error // instead of the engine's answer
}

func (s *slow) pause(ctx context.Context) error {
	select {
	case <-time.After(s.takes):
		return s.fails
	case <-ctx.Done():
		return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: context.Cause(ctx)}
	}
}

func (s *slow) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := s.pause(ctx); err != nil {
		return leasehold.Grant{}, err
	}
	return s.Engine.Acquire(ctx, r)
}

func (s *slow) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := s.pause(ctx); err != nil {
		return leasehold.Grant{}, err
	}
	return s.Engine.Wait(ctx, r)
}

func (s *slow) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	if err := s.pause(ctx); err != nil {
		return leasehold.Status{}, err
	}
	return s.Engine.Status(ctx, resource)
}

func TestStoreTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, &slow{Engine: memory.New(), takes: time.Hour}, nil)
		for body, limit := range map[string]time.Duration{
			`{"resource":"r","holder":"a"}`:                                      5 * time.Second,
			`{"resource":"r","holder":"a","blocking":true,"timeout_ms":60000}`:   65 * time.Second,
			`{"resource":"r","holder":"a","blocking":true}`:                      35 * time.Second,
			`{"resource":"r","holder":"a","blocking":true,"timeout_ms":0}`:       5 * time.Second,
			`{"resource":"r","holder":"a","blocking":true,"timeout_ms":3600000}`: 0, // an hour and 5 s: it makes it
		} {
			began := time.Now()
			r := d.send("POST", "/v1/leases/acquire", body)
			if limit == 0 {
				if r.status != http.StatusCreated {
					t.Errorf("acquire %s = %d %s, want 201", body, r.status, r.body)
				}
				continue
			}
			p := r.wantProblem(http.StatusGatewayTimeout, "store_timeout")
			if took := time.Since(began); took != limit || !strings.Contains(p.Detail, "may have happened") {
				t.Errorf("acquire %s took %v: %s, want %v and that the outcome is open", body, took, r.body, limit)
			}
		}
		d.send("GET", "/v1/leases/r", "").wantProblem(http.StatusGatewayTimeout, "store_timeout")
		if !strings.Contains(d.log.String(), "the store did not answer in time") {
			t.Error("the log does not tell of the timeout")
		}
	})
}

// queueing is a store that waits but has no settings.
type queueing struct{ *slow }

func (queueing) Settings(context.Context) ([]leasehold.Setting, error) {
	return nil, &leasehold.Error{Reason: leasehold.ReasonUnsupported}
}

func TestWaitWithoutSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, queueing{&slow{Engine: memory.New()}}, nil)
		d.acquire("r", "a")
		began := time.Now()
		d.send("POST", "/v1/leases/acquire", blocking("b", "")).wantProblem(http.StatusConflict, "acquire_timeout")
		if took := time.Since(began); took != defaultWait {
			t.Errorf("the wait took %v, want %v", took, defaultWait)
		}
	})
}

func TestStoreFailures(t *testing.T) {
	secret := errors.New("open /var/lib/leasehold/secret.db: no space left")
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{&leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: secret}, 503, "store_unavailable"},
		{&leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: secret}, 504, "store_timeout"},
		{fmt.Errorf("strange: %w", secret), 500, "internal"},
		{&leasehold.Error{Reason: "something_new", Cause: secret}, 500, "something_new"},
	} {
		d := newDriver(t, &slow{Engine: memory.New(), fails: c.err}, nil)
		r := d.send("POST", "/v1/leases/acquire", `{"resource":"r","holder":"a"}`)
		r.wantProblem(c.status, c.code)
		if strings.Contains(string(r.body), "secret.db") || !strings.Contains(d.log.String(), "secret.db") {
			t.Errorf("%v: answer %s; want the cause in the log only", c.err, r.body)
		}
		if retry := r.header.Get("Retry-After"); (retry != "") != (c.status == 503) {
			t.Errorf("%v: Retry-After = %q", c.err, retry)
		}
	}
}

// talk sends raw bytes and returns the first line of the answer, or "".
func (d *driver) talk(l *pipes, text string) string {
	d.Helper()
	conn, err := l.Dial(d.Context(), "", "")
	if err != nil {
		d.Fatal(err)
	}
	defer conn.Close()
	go io.WriteString(conn, text)
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		l, _ := d.listen()
		for head, answer := range map[string]string{
			"POST /v1/leases/acquire HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{":                 "HTTP/1.1 400 Bad Request",
			"POST /v1/leases/acquire HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n": "HTTP/1.1 400 Bad Request",
			"POST /v1/leases/acquire HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10000000\r\n\r\n{":            "HTTP/1.1 413 Request Entity Too Large",
			"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{":                                                             "HTTP/1.1 404 Not Found",
		} {
			began := time.Now()
			if got := d.talk(l, head); got != answer {
				t.Errorf("%q = %q, want %q", head, got, answer)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%q took %v, want 10 s at most", head, took)
			}
		}
		time.Sleep(time.Second) // a connection that is cut lingers for a moment
	})
}

func TestLargeBodies(t *testing.T) {
	d := newDriver(t, nil, nil)
	_, client := d.listen()
	huge := `{"resource":"` + strings.Repeat("x", 10<<20) + `"}`
	for _, announced := range []bool{true, false} {
		r := newRequest(t, t.Context(), "POST", "/v1/leases/acquire", huge)
		if !announced {
			r.ContentLength = -1
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatalf("10 MB, announced %v: %v", announced, err)
		}
		body := readAll(t, answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, `"code":"too_large"`) {
			t.Errorf("10 MB, announced %v = %d %s, want 413", announced, answer.StatusCode, body)
		}
	}
	// The largest valid request passes, however it is escaped.
	metadata := make([]string, 8)
	for i := range metadata {
		metadata[i] = fmt.Sprintf(`"%d":"%s"`, i, strings.Repeat(`\u0041`, 1023))
	}
	r := d.send("POST", "/v1/leases/acquire", `{"resource":"`+strings.Repeat(`\u0041`, 1024)+`","holder":"`+strings.Repeat(`\u0041`, 256)+`","metadata":{`+strings.Join(metadata, ",")+`}}`)
	if r.status != http.StatusCreated {
		t.Errorf("the largest request = %d %s, want 201", r.status, r.body)
	}
}

func TestCutOffBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		l, _ := d.listen()
		conn, err := l.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "POST /v1/leases/acquire HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"resource\":\"r\",\"holder\":\"a\"}")
		conn.Close()
		time.Sleep(time.Second) // as above
		if d.status("r").Lease != nil {
			t.Error("half a body was granted a lease")
		}
	})
}
