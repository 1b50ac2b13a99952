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

// raw sends plain HTTP to the JSON API's port, as a program in any language
// would.
type raw struct {
	testing.TB
	url    string
	secret string // of a token; "" if none
	client *http.Client
}

func (s *server) raw() *raw {
	return &raw{TB: s.TB, url: s.address.API, client: &http.Client{Transport: s.newTransport(8), Timeout: time.Minute}}
}

// as is the same caller with a token.
func (r *raw) as(t testing.TB, secret string) *raw {
	other := *r
	other.TB, other.secret = t, secret
	return &other
}

// reply is an answer.
type reply struct {
	testing.TB
	sent   string
	status int
	header http.Header
	body   string
}

// send sends a request and fails the test without an answer. Headers are pairs of
// name and value.
func (r *raw) send(method, path, body string, headers ...string) reply {
	r.Helper()
	answer, err := r.request(r.Context(), method, path, body, headers...)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	return answer
}

// request is send that returns the error.
func (r *raw) request(ctx context.Context, method, path, body string, headers ...string) (reply, error) {
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

// want checks the status and the code of an error, in the header and the body.
func (a reply) want(status int, code string) reply {
	a.Helper()
	var body struct{ Code string }
	if a.status >= 400 && a.body != "" && strings.HasPrefix(a.header.Get("Content-Type"), "application/xml") {
		if err := xml.Unmarshal([]byte(a.body), &body); err != nil || body.Code != code {
			a.Errorf("%s has the body %.300q, %v; want the code %s", a.sent, a.body, err, code)
		}
	}
	if got := a.header.Get("X-Ms-Error-Code"); a.status != status || got != code {
		a.Fatalf("%s = %d %s, want %d %s; %.300s", a.sent, a.status, got, status, code, a.body)
	}
	return a
}

// wantBody checks for 200 and the body.
func (a reply) wantBody(body string) {
	a.Helper()
	if a.want(http.StatusOK, ""); a.body != body {
		a.Errorf("%s = %.300q, want %q", a.sent, a.body, body)
	}
}

// decode decodes JSON.
func (a reply) decode(into any) {
	a.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		a.Fatalf("%s = %.300q: %v", a.sent, a.body, err)
	}
}
