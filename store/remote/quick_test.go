package remote

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// The shortcuts must take what our server sends, or they are worth nothing.

func TestQuickHeadTakesOurAnswers(t *testing.T) {
	const head = "HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nX-Request-Id: 7\r\n" +
		"Date: Sat, 31 Jan 2026 12:00:00 GMT\r\nContent-Length: 2\r\n\r\n"
	in := bufio.NewReader(strings.NewReader(head + "{}"))
	_, _ = in.Peek(1)
	a := quickHead(in)
	if a == nil || a.StatusCode != 409 || a.ContentLength != 2 || !isProblem(a) || a.Header.Get("Retry-After") != "1" {
		t.Fatalf("quickHead = %+v, want the answer", a)
	}
	if body, err := io.ReadAll(a.Body); string(body) != "{}" || err != nil {
		t.Errorf("the body is %q, %v", body, err)
	}
}

func TestQuickHeadLeavesTheRest(t *testing.T) {
	for name, head := range map[string]string{
		"the head is not all here": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
		"HTTP/1.0":                 "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n",
		"another protocol":         "ICY 200 OK and well\r\nContent-Length: 2\r\n\r\n",
		"no status":                "HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\n",
		"not the last answer":      "HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\n\r\n",
		"no body":                  "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n",
		"two lengths":              "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
		"no length":                "HTTP/1.1 200 OK\r\n\r\n",
		"a strange length":         "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n",
		"an empty length":          "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
		"chunks":                   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
		"the end":                  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n",
		"a line in the line":       "HTTP/1.1 200 \n\r\nContent-Length: 2\r\n\r\n",
		"a folded line":            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n folded: x\r\n\r\n",
		"no colon":                 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx\r\n\r\n",
		"a control character":      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx: \x01\r\n\r\n",
	} {
		in := bufio.NewReader(strings.NewReader(head))
		_, _ = in.Peek(1)
		if a := quickHead(in); a != nil || in.Buffered() != len(head) {
			t.Errorf("%s: quickHead = %+v with %d bytes left, want it left alone", name, a, in.Buffered())
		}
	}
}

func TestSizedBreaksOff(t *testing.T) {
	if body, err := io.ReadAll(&sized{strings.NewReader("half"), 8}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a body = %q, %v; want ErrUnexpectedEOF", body, err)
	}
}

// FuzzQuickHead: what the shortcut reads, net/http reads just so.
func FuzzQuickHead(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("HTTP/1.1 503 Service Unavailable\r\nretry-after:  5 \r\nCONTENT-LENGTH: 0\r\n\r\nHTTP/1.1"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		in := bufio.NewReader(bytes.NewReader(answer))
		_, _ = in.Peek(1)
		quick := quickHead(in)
		if quick == nil {
			return
		}
		got, gotErr := io.ReadAll(quick.Body)
		careful, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
		if err != nil {
			t.Fatalf("%q is read in haste and refused with care: %v", answer, err)
		}
		want, wantErr := io.ReadAll(careful.Body)
		if quick.StatusCode != careful.StatusCode || quick.ContentLength != careful.ContentLength || careful.Close ||
			!bytes.Equal(got, want) || (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%q is read as %+v %q, %v; with care as %+v %q, %v", answer, quick, got, gotErr, careful, want, wantErr)
		}
		for key := range quick.Header {
			if quick.Header.Get(key) != careful.Header.Get(key) {
				t.Fatalf("%q: %s is %q, with care %q", answer, key, quick.Header.Get(key), careful.Header.Get(key))
			}
		}
	})
}

func ourGrants() []any {
	at := time.Date(2026, 1, 31, 12, 0, 0, 5e8, time.UTC)
	l := leasehold.Lease{
		ID: leasehold.NewID(), Resource: "deploy:prod", Holder: "ci 42", Token: leasehold.MaxToken, State: leasehold.StateActive,
		TTL: time.Minute, Remaining: 59*time.Second + 123456789, AcquiredAt: at, RenewedAt: at, ExpiresAt: at, MaxRenewals: -1,
		Metadata: map[string]string{"a": "1", "b": ""},
	}
	endless := l
	endless.TTL, endless.Remaining, endless.ExpiresAt, endless.Metadata = leasehold.Infinite, leasehold.Infinite, time.Time{}, nil
	return []any{
		wire.FromLease(l), wire.FromLease(endless), wire.FromGrant(leasehold.Grant{Lease: l, Idempotent: true}, false),
		wire.FromGrant(leasehold.Grant{Lease: l, Waited: time.Hour}, true), wire.Released{Success: true, Lease: wire.FromLease(l)},
	}
}

func TestQuickGrantTakesOurAnswers(t *testing.T) {
	for _, a := range ourGrants() {
		text, _ := json.Marshal(a)
		text = append(text, '\n')
		quick, ok := quickGrant(text)
		var careful wire.Grant
		_ = json.Unmarshal(text, &careful)
		if diff := cmp.Diff(careful, quick); diff != "" || !ok {
			t.Errorf("quickGrant(%s) = %v (-careful +quick):\n%s", text, ok, diff)
		}
		var l wire.Lease
		if err := decode(text, &l); err != nil || l.Token != leasehold.MaxToken {
			t.Errorf("decode(%s) = %+v, %v", text, l, err)
		}
	}
}

func TestDecodeOfWhatIsNotPlain(t *testing.T) {
	for _, text := range []string{
		`{"resource":"\u0041"}`, `{"resource":"ü"}`, ` {"resource":"A"}`, `{"new_field":[1],"token":7}`, `{"TOKEN":7}`, `{"ttl_seconds":1e3}`,
	} {
		if _, ok := quickGrant([]byte(text)); ok {
			t.Errorf("quickGrant(%s) = success, want it left to encoding/json", text)
		}
		if err := decode([]byte(text), new(wire.Grant)); err != nil {
			t.Errorf("decode(%s) = %v, want success", text, err)
		}
	}
}

// FuzzQuickGrant: what the shortcut reads, encoding/json reads just so.
func FuzzQuickGrant(f *testing.F) {
	for _, a := range ourGrants() {
		text, _ := json.Marshal(a)
		f.Add(text)
	}
	f.Add([]byte(`{"token":01,"ttl_seconds":-0.5,"success":false,"metadata":{},"expires_at":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		quick, ok := quickGrant(text)
		if !ok {
			return
		}
		var careful wire.Grant
		if err := json.Unmarshal(text, &careful); err != nil {
			t.Fatalf("%q is read in haste and refused with care: %v", text, err)
		}
		if diff := cmp.Diff(careful, quick); diff != "" {
			t.Fatalf("%q is read differently (-careful +quick):\n%s", text, diff)
		}
	})
}

func TestQuickAnswersTakesOurAnswers(t *testing.T) {
	var w wire.BatchAnswer
	for _, a := range ourGrants() {
		text, _ := json.Marshal(a)
		w.Answers = append(w.Answers, wire.Answer{Status: 201, Body: text})
	}
	w.Answers = append(w.Answers, wire.Answer{Status: 409, Body: []byte(`{"detail":"held by \"}]\\\" {","current":{"metadata":{}}}`)})
	text, _ := json.Marshal(w)
	if got, ok := quickAnswers(append(text, '\n')); !ok || cmp.Diff(w.Answers, got) != "" {
		t.Errorf("quickAnswers(%s) = %v, %v", text, got, ok)
	}
}

func TestAnswersThatAreNotPlain(t *testing.T) {
	for _, text := range []string{
		` {"answers":[{"status":200,"body":{}}]}`, `{"answers":[{"body":{},"status":200}]}`, `{"answers":[{"status":200,"body":[]}]}`,
		`{"answers":[{"status":200,"body":{}}],"new_field":1}`, `{"answers":[{"status":200,"body":{ }, "x":1}]}`,
	} {
		if _, ok := quickAnswers([]byte(text)); ok {
			t.Errorf("quickAnswers(%s) = success, want it left to encoding/json", text)
		}
		if got := answersIn([]byte(text)); len(got) != 1 || got[0].Status != 200 {
			t.Errorf("answersIn(%s) = %v, want one answer", text, got)
		}
	}
	for _, text := range []string{``, `{"answers":[`, `{"answers":[{"status":200,"body":{`, `{"answers":[{"status":200,"body":"}"}`} {
		if got := answersIn([]byte(text)); got != nil {
			t.Errorf("answersIn(%s) = %v, want nothing", text, got)
		}
	}
}

// FuzzQuickAnswers: what the shortcut cuts out, encoding/json finds just so,
// unless one of the answers is no JSON, which its reader will find out.
func FuzzQuickAnswers(f *testing.F) {
	f.Add([]byte(`{"answers":[{"status":201,"body":{"a":"\"}","b":{}}},{"status":404,"body":{}}]}` + "\n"))
	f.Add([]byte(`{"answers":[{"status":-1,"body":{"a":[{}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		quick, ok := quickAnswers(text)
		if !ok {
			return
		}
		for _, a := range quick {
			if !json.Valid(a.Body) {
				return
			}
		}
		var careful wire.BatchAnswer
		if err := json.Unmarshal(text, &careful); err != nil {
			t.Fatalf("%q is read in haste and refused with care: %v", text, err)
		}
		if diff := cmp.Diff(careful.Answers, quick); diff != "" {
			t.Fatalf("%q is read differently (-careful +quick):\n%s", text, diff)
		}
	})
}
