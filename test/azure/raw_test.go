//go:build unix

package azuretest

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// raw speaks plain HTTP to the main port, as a program in any language would.
type raw struct {
	testing.TB
	url    string
	secret string // of a token, if any
	client *http.Client
}

func (s *server) raw() *raw {
	return &raw{TB: s.TB, url: s.doors.API, client: &http.Client{Transport: s.newTransport(8), Timeout: time.Minute}}
}

// as is the same caller with a token.
func (r *raw) as(t testing.TB, secret string) *raw {
	other := *r
	other.TB, other.secret = t, secret
	return &other
}

// reply is what came back.
type reply struct {
	testing.TB
	asked  string
	status int
	header http.Header
	body   string
}

// send makes one request; it must be answered. Headers are pairs of name and
// value.
func (r *raw) send(method, path, body string, headers ...string) reply {
	r.Helper()
	answer, err := r.do(r.Context(), method, path, body, headers...)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	return answer
}

// do is send for those who expect trouble.
func (r *raw) do(ctx context.Context, method, path, body string, headers ...string) (reply, error) {
	q, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if r.secret != "" {
		q.Header.Set("Authorization", "Bearer "+r.secret)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	got, err := r.client.Do(q)
	if err != nil {
		return reply{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return reply{r.TB, method + " " + path, got.StatusCode, got.Header, string(text)}, err
}

// post sends JSON.
func (r *raw) post(path, body string) reply {
	r.Helper()
	return r.send(http.MethodPost, path, body, "Content-Type", "application/json")
}

// want checks the status, and the code of an error, on which header and body
// agree.
func (a reply) want(status int, code string) reply {
	a.Helper()
	var body struct{ Code string }
	if a.status >= 400 && a.body != "" && strings.HasPrefix(a.header.Get("Content-Type"), "application/xml") {
		if err := xml.Unmarshal([]byte(a.body), &body); err != nil || body.Code != code {
			a.Errorf("%s has the body %.300q, %v; want the code %s", a.asked, a.body, err, code)
		}
	}
	if got := a.header.Get("X-Ms-Error-Code"); a.status != status || got != code {
		a.Fatalf("%s = %d %s, want %d %s; %.300s", a.asked, a.status, got, status, code, a.body)
	}
	return a
}

// wantBody checks what was read.
func (a reply) wantBody(body string) {
	a.Helper()
	if a.want(http.StatusOK, ""); a.body != body {
		a.Errorf("%s = %.300q, want %q", a.asked, a.body, body)
	}
}

// read reads JSON.
func (a reply) read(into any) {
	a.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		a.Fatalf("%s = %.300q: %v", a.asked, a.body, err)
	}
}
