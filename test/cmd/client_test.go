package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// client speaks plain HTTP and JSON to a server, as a program in any language
// would.
type client struct {
	t       *testing.T
	url     string
	secret  string // of a token, if any
	http    *http.Client
	observe func(method, path string, a answer) // is called with every answer; may be nil
}

func newClient(t *testing.T, url string) *client {
	transport := &http.Transport{MaxIdleConnsPerHost: 300}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t: t, url: url, http: &http.Client{Transport: transport, Timeout: 2 * time.Minute}}
}

// as returns a client of the same server with another token.
func (c *client) as(secret string, observe func(method, path string, a answer)) *client {
	other := newClient(c.t, c.url)
	other.secret, other.observe = secret, observe
	return other
}

// answer is a response that was read.
type answer struct {
	t       *testing.T
	request string
	status  int
	header  http.Header
	body    string
}

// send makes one request; it must be answered.
func (c *client) send(method, path, body string) answer {
	c.t.Helper()
	a, err := c.trySend(context.Background(), method, path, body)
	if err != nil {
		c.t.Fatalf("%s %.80s: %v", method, path, err)
	}
	return a
}

// trySend is send for other goroutines, and for requests that may fail.
func (c *client) trySend(ctx context.Context, method, path, body string, headers ...string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.secret != "" {
		r.Header.Set("Authorization", "Bearer "+c.secret)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	got, err := c.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	a := answer{c.t, method + " " + path + " " + body, got.StatusCode, got.Header, string(text)}
	if err == nil && c.observe != nil {
		c.observe(method, path, a)
	}
	return a, err
}

func (c *client) post(path, body string) answer {
	c.t.Helper()
	return c.send(http.MethodPost, path, body)
}

// acquire must be granted.
func (c *client) acquire(resource, holder, more string) answer {
	c.t.Helper()
	return c.post("/v1/leases/acquire", acquireBody(resource, holder, more)).want(http.StatusCreated)
}

func (c *client) release(id string) {
	c.t.Helper()
	c.post("/v1/leases/release", `{"lease_id":"`+id+`"}`).want(http.StatusOK)
}

func (c *client) status(resource string) answer {
	c.t.Helper()
	return c.send(http.MethodGet, "/v1/resource?resource="+resource, "").want(http.StatusOK)
}

// acquireBody is the JSON of an acquire; more are further fields, with a comma
// before each.
func acquireBody(resource, holder, more string) string {
	name, _ := json.Marshal(resource) // a string can always be written
	return fmt.Sprintf(`{"resource":%s,"holder":%q%s}`, name, holder, more)
}

// want checks the status.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%.200s = %d %.400s, want %d", a.request, a.status, a.body, status)
	}
	return a
}

// wantCode checks the status and the code of a problem.
func (a answer) wantCode(status int, code string) answer {
	a.t.Helper()
	a.want(status)
	if a.at("code") != code || a.header.Get("Content-Type") != "application/problem+json" {
		a.t.Errorf("%.200s = %s %.400s, want the problem %s", a.request, a.header.Get("Content-Type"), a.body, code)
	}
	return a
}

// at returns a value of the answer by its path, such as current.holder or
// waiters.0.position; "" if it is not there.
func (a answer) at(path string) string {
	d := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return ""
	}
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return ""
			}
			v = x[i]
		default:
			return ""
		}
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// number is at for a number that has to be there.
func (a answer) number(path string) float64 {
	a.t.Helper()
	n, err := strconv.ParseFloat(a.at(path), 64)
	if err != nil {
		a.t.Fatalf("%.200s = %.400s, want a number at %s", a.request, a.body, path)
	}
	return n
}

// size is how many elements a list of the answer has.
func (a answer) size(list string) (n int) {
	for a.at(fmt.Sprintf("%s.%d", list, n)) != "" {
		n++
	}
	return n
}
