package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// failing is a door whose one operation fails like this.
func failing(t *testing.T, err error) *door {
	t.Helper()
	d := newDoor(t)
	fail := operation{Name: "Fail", Level: atService, Method: "GET HEAD PUT", Comp: "fail", Handle: func(*Server, *call) error { return err }}
	d.server.routes = newRoutes([]operation{fail})
	return d
}

// TestFailures: what is our own trouble is told in general and logged in full.
func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
		logs bool
	}{
		"unavailable":     {&leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: errors.New("secret disk")}, "503 ServerBusy", true},
		"unknown":         {fmt.Errorf("wrapped: %w", &leasehold.Error{Reason: leasehold.ReasonUnknown}), "500 OperationTimedOut", true},
		"anything else":   {errors.New("secret disk"), "500 InternalError", true},
		"a fault":         {azerr.New(azerr.BlobNotFound), "404 BlobNotFound", false},
		"a wrapped fault": {fmt.Errorf("wrapped: %w", azerr.New(azerr.BlobNotFound)), "404 BlobNotFound", false},
		"a lease":         {fmt.Errorf("wrapped: %w", &catalog.LeaseError{Action: catalog.Write, Reason: leasehold.ReasonMissing}), "412 LeaseIdMissing", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := failing(t, test.err)
			r := d.send("GET", "/blob/"+testAccount+"?comp=fail", "")
			if got := statusAndCode(r); got != test.want || strings.Contains(r.body, "secret") {
				t.Errorf("GET = %s, want %s: %s", got, test.want, r.body)
			}
			if logged := strings.Contains(d.log.String(), "blob request failed"); logged != test.logs {
				t.Errorf("logged: %t, want %t", logged, test.logs)
			}
			if !strings.Contains(d.log.String(), r.header.Get("X-Ms-Request-Id")) {
				t.Error("the log does not have the request's id")
			}
			if head := d.send("HEAD", "/blob/"+testAccount+"?comp=fail", ""); statusAndCode(head) != test.want || head.body != "" {
				t.Errorf("HEAD = %s %q, want %s without a body", statusAndCode(head), head.body, test.want)
			}
		})
	}
}

// TestClosedEngine: what is refused because the house is closing can be tried
// again elsewhere.
func TestClosedEngine(t *testing.T) {
	d := newDoor(t)
	d.ensure("box")
	if err := d.store.Close(); err != nil {
		t.Fatal(err)
	}
	r := d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=lease", "", parseOrder("acquire A").headers()...)
	if got := statusAndCode(r); got != "503 ServerBusy" {
		t.Errorf("acquire = %s, want 503 ServerBusy", got)
	}
}

// TestNotModified: a read is not modified where a write's condition fails.
func TestNotModified(t *testing.T) {
	d := newDoor(t)
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
	d := newDoor(t)
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

// TestUnbuiltHeaders: encryption and protection are not pretended.
func TestUnbuiltHeaders(t *testing.T) {
	d := newDoor(t)
	d.ensure("box")
	for _, u := range unsupportedHeaders {
		r := d.signed("PUT", "/"+testAccount+"/box/a", "x", "x-ms-blob-type", "BlockBlob", u.name, "x")
		if got := statusAndCode(r); got != "501 NotImplemented" {
			t.Errorf("%s = %s, want 501 NotImplemented", u.name, got)
		}
	}
	if d.has("box", "a") {
		t.Error("the blob was written")
	}
}

// TestHalfAnAnswer: an answer that breaks off does not look whole.
func TestHalfAnAnswer(t *testing.T) {
	d := newDoor(t)
	half := operation{Name: "Half", Level: atService, Method: "GET", Comp: "half", Handle: func(_ *Server, c *call) error {
		c.writeHeader(http.StatusOK)
		_, _ = io.WriteString(c.w, "half")
		return errors.New("the disk is gone")
	}}
	d.server.routes = newRoutes([]operation{half})
	answer, err := d.client.Do(d.request("GET", "/blob/"+testAccount+"?comp=half", ""))
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("half an answer was taken for whole")
	}
}
