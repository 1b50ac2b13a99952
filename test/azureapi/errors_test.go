package azureapi_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/catalog"
)

// TestClosedEngine: what is refused because the server is closing can be tried
// again elsewhere.
func TestClosedEngine(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	if err := d.store.Close(); err != nil {
		t.Fatal(err)
	}
	r := d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=lease", "", parseOperation("acquire A").headers()...)
	if got := statusAndCode(r); got != "503 ServerBusy" {
		t.Errorf("acquire = %s, want 503 ServerBusy", got)
	}
}

// TestNotModified: a read is not modified where a write's condition fails.
func TestNotModified(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	etag := d.signed("GET", "/"+testAccount+"/box?restype=container", "").header.Get("ETag")
	r := d.signed("GET", "/"+testAccount+"/box?restype=container", "", "If-None-Match", etag)
	if r.status != http.StatusNotModified || r.body != "" || r.code() != "ConditionNotMet" {
		t.Errorf("GET = %d %s %q, want 304 without a body", r.status, r.code(), r.body)
	}
	r = d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=metadata", "", "If-None-Match", etag)
	if got := statusAndCode(r); got != "412 ConditionNotMet" {
		t.Errorf("PUT = %s, want 412 ConditionNotMet", got)
	}
}

// TestTruncatedBody: a body that ends early writes nothing.
func TestTruncatedBody(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	text := "PUT /blob/" + testAccount + "/box?restype=container&comp=acl HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nx-ms-blob-public-access: blob\r\n\r\n<SignedIdentifiers/>"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if got := statusAndCode(reply{w.Code, w.Header(), w.Body.String()}); got != "400 InvalidInput" {
		t.Errorf("a truncated body = %s, want 400 InvalidInput", got)
	}
	if found, err := d.catalog.Container(t.Context(), testRef("box", ""), catalog.Access{}); err != nil || found.Public != "" {
		t.Errorf("the container is open to everybody: %+v, %v", found, err)
	}
}
