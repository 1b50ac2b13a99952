package cosmos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/store/cosmos"
)

// fake is Cosmos as far as the store uses it, as the transport of its client:
// answers can be lost, replaced and dated.
type fake struct {
	mu         sync.Mutex
	account    map[string]any
	containers map[string]map[string]any            // by path
	documents  map[string]map[string]map[string]any // by container and partition key + id
	etags      int
	requests   []string // method and kind of each request
	sessions   []string // session tokens shown
	clock      func() time.Time

	// before answers instead of the service, if it returns something; after
	// replaces the answer of a request that was carried out.
	before, after func(req *http.Request, kind string) (*http.Response, error)
}

func newFake() *fake {
	return &fake{
		account: map[string]any{
			"writableLocations": []any{map[string]string{"name": "here", "databaseAccountEndpoint": "https://fake.documents.azure.com"}},
			"readableLocations": []any{map[string]string{"name": "here", "databaseAccountEndpoint": "https://fake.documents.azure.com"}},
		},
		containers: map[string]map[string]any{}, documents: map[string]map[string]map[string]any{}, clock: time.Now,
	}
}

// Do implements policy.Transporter.
func (f *fake) Do(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	kind := f.kind(req)
	f.requests = append(f.requests, kind)
	if token := req.Header.Get("x-ms-session-token"); token != "" {
		f.sessions = append(f.sessions, token)
	}
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil {
		if resp, err := before(req, kind); resp != nil || err != nil {
			return resp, err
		}
	}
	f.mu.Lock()
	status, body := f.serve(req, kind)
	f.mu.Unlock()
	if after != nil {
		if resp, err := after(req, kind); resp != nil || err != nil {
			return resp, err
		}
	}
	return f.answer(req, status, body), nil
}

// serviceClock is a clock that a test sets while the SDK asks for it.
type serviceClock struct{ nanos atomic.Int64 }

func (c *serviceClock) set(t time.Time) { c.nanos.Store(t.UnixNano()) }
func (c *serviceClock) now() time.Time  { return time.Unix(0, c.nanos.Load()) }

// dated sets the service's clock.
func (f *fake) dated(t time.Time) *serviceClock {
	c := &serviceClock{}
	c.set(t)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = c.now
	return c
}

func (f *fake) answer(req *http.Request, status int, body any) *http.Response {
	b, _ := json.Marshal(body)
	f.mu.Lock()
	clock := f.clock
	f.mu.Unlock()
	h := http.Header{"Date": {clock().UTC().Format(http.TimeFormat)}, "Content-Type": {"application/json"}}
	h.Set("x-ms-session-token", "0:-1#7")
	h.Set("x-ms-activity-id", "some-activity")
	if d, ok := body.(map[string]any); ok && d["_etag"] != nil {
		h.Set("etag", d["_etag"].(string))
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: h, Body: io.NopCloser(bytes.NewReader(b)), Request: req}
}

// refusal is an answer with a status and headers.
func (f *fake) refusal(req *http.Request, status int, headers ...string) *http.Response {
	resp := f.answer(req, status, map[string]any{"code": "x", "message": "the text of an answer that may say too much"})
	for i := 0; i < len(headers); i += 2 {
		resp.Header.Set(headers[i], headers[i+1])
	}
	return resp
}

func (f *fake) kind(req *http.Request) string {
	path := strings.Trim(req.URL.Path, "/")
	depth := len(strings.Split(path, "/"))
	switch {
	case path == "":
		return "account"
	case req.Header.Get("x-ms-documentdb-query") != "":
		return "query"
	case depth == 6:
		return map[string]string{"GET": "read", "PUT": "replace"}[req.Method]
	case depth == 5 && req.Method == "POST":
		return "create"
	case depth == 4:
		return "read container"
	case depth == 3:
		return "create container"
	}
	return "create database"
}

func (f *fake) serve(req *http.Request, kind string) (int, any) {
	path := strings.Trim(req.URL.Path, "/")
	parts := strings.Split(path, "/")
	var body map[string]any
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		_ = json.Unmarshal(b, &body)
	}
	switch kind {
	case "account":
		return 200, f.account
	case "create database":
		return f.create(parts[0]+"/"+body["id"].(string), body)
	case "create container":
		return f.create(path+"/"+body["id"].(string), body)
	case "read container":
		if c, ok := f.containers[path]; ok {
			return 200, c
		}
		return 404, nil
	}
	container := strings.Join(parts[:4], "/")
	key := req.Header.Get("x-ms-documentdb-partitionkey")
	if kind == "query" {
		return f.query(container, body)
	}
	if f.documents[container] == nil {
		f.documents[container] = map[string]map[string]any{}
	}
	return f.document(container, key, kind, parts, req, body)
}

func (f *fake) create(path string, body map[string]any) (int, any) {
	if _, ok := f.containers[path]; ok {
		return 409, nil
	}
	f.containers[path] = body
	return 201, body
}

func (f *fake) document(container, key, kind string, parts []string, req *http.Request, body map[string]any) (int, any) {
	id := ""
	if kind == "create" {
		id = key + body["id"].(string)
	} else {
		id = key + parts[5]
	}
	old := f.documents[container][id]
	switch {
	case kind == "create" && old != nil:
		return 409, nil
	case kind != "create" && old == nil:
		return 404, nil
	case kind == "read":
		return 200, old
	case kind == "replace" && req.Header.Get("If-Match") != old["_etag"]:
		return 412, nil
	}
	f.etags++
	body["_etag"] = fmt.Sprintf("%q", fmt.Sprint("e", f.etags))
	f.documents[container][id] = body
	return 201, body
}

func (f *fake) query(container string, body map[string]any) (int, any) {
	param := body["parameters"].([]any)[0].(map[string]any)
	value := param["value"].(string)
	found := []any{}
	for _, d := range f.documents[container] {
		name, _ := d["leaseName"].(string)
		if param["name"] == "@id" && (d["leaseId"] == value || d["formerId"] == value) || param["name"] == "@prefix" && strings.HasPrefix(name, value) {
			found = append(found, d)
		}
	}
	return 200, map[string]any{"Documents": found}
}

// count returns how many requests of a kind there were.
func (f *fake) count(kind string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.requests {
		if r == kind {
			n++
		}
	}
	return n
}

func (f *fake) set(before, after func(*http.Request, string) (*http.Response, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after, f.requests = before, after, nil
}

// one returns the only document.
func (f *fake) one(t testing.TB) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, docs := range f.documents {
		for _, d := range docs {
			return d
		}
	}
	t.Fatal("there is no document")
	return nil
}

func (f *fake) options() *cosmos.Options {
	return &cosmos.Options{
		Endpoint: "https://fake.documents.azure.com", Key: testserver.CosmosKey,
		Client: &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: f}},
	}
}

// open opens a store on the fake.
func (f *fake) open(t testing.TB) *cas.Store {
	t.Helper()
	s, err := cosmos.Open(t.Context(), f.options())
	if err != nil {
		t.Fatalf("Open = %v, want a store", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
