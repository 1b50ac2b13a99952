package azureapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/catalog"
)

// conditioned is a request that has conditional headers.
type conditioned struct {
	name, method, query, body string
	kind                      catalog.Kind
	headers                   []string
	creates                   bool // it makes blobs: If-None-Match: * is about that
}

func (c conditioned) reads() bool { return c.method != "PUT" && c.method != "DELETE" }

var conditionedRequests = []conditioned{
	{name: "Get Blob", method: "GET"},
	{name: "Get Blob Properties", method: "HEAD"},
	{name: "Get Blob Metadata", method: "GET", query: "comp=metadata"},
	{name: "Get Blob Tags", method: "GET", query: "comp=tags"},
	{name: "Get Block List", method: "GET", query: "comp=blocklist"},
	{name: "Get Page Ranges", method: "GET", query: "comp=pagelist", kind: catalog.Page},
	{name: "Put Block Blob", method: "PUT", body: "new", headers: []string{"x-ms-blob-type", "BlockBlob"}, creates: true},
	{name: "Put Append Blob", method: "PUT", headers: []string{"x-ms-blob-type", "AppendBlob"}, creates: true, kind: catalog.Append},
	{name: "Put Page Blob", method: "PUT", headers: []string{"x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", "512"}, creates: true, kind: catalog.Page},
	{name: "Put Block List", method: "PUT", query: "comp=blocklist", body: "<BlockList/>", creates: true},
	{name: "Copy Blob", method: "PUT", headers: []string{"x-ms-copy-source", testHost + "/" + testAccount + "/box/source"}, creates: true},
	{name: "Put Blob From URL", method: "PUT", headers: []string{"x-ms-blob-type", "BlockBlob", "x-ms-copy-source", testHost + "/" + testAccount + "/box/source"}, creates: true},
	{name: "Set Blob Properties", method: "PUT", query: "comp=properties"},
	{name: "Set Blob Metadata", method: "PUT", query: "comp=metadata"},
	{name: "Set Blob Tags", method: "PUT", query: "comp=tags", body: "<Tags><TagSet/></Tags>"},
	{name: "Set Blob Tier", method: "PUT", query: "comp=tier", headers: []string{"x-ms-access-tier", "Cool"}},
	{name: "Snapshot Blob", method: "PUT", query: "comp=snapshot"},
	{name: "Append Block", method: "PUT", query: "comp=appendblock", body: "x", kind: catalog.Append},
	{name: "Append Block From URL", method: "PUT", query: "comp=appendblock", kind: catalog.Append, headers: []string{"x-ms-copy-source", testHost + "/" + testAccount + "/box/source"}},
	{name: "Append Blob Seal", method: "PUT", query: "comp=seal", kind: catalog.Append},
	{name: "Put Page", method: "PUT", query: "comp=page", body: strings.Repeat("x", 512), kind: catalog.Page, headers: []string{"x-ms-page-write", "update", "x-ms-range", "bytes=0-511"}},
	{name: "Clear Page", method: "PUT", query: "comp=page", kind: catalog.Page, headers: []string{"x-ms-page-write", "clear", "x-ms-range", "bytes=0-511"}},
	{name: "Resize", method: "PUT", query: "comp=properties", kind: catalog.Page, headers: []string{"x-ms-blob-content-length", "1024"}},
	{name: "Lease Blob", method: "PUT", query: "comp=lease", headers: []string{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "15"}},
	{name: "Delete Blob", method: "DELETE"},
}

// TestConditions: every conditional header, on every request that has them.
// What is refused changes nothing.
func TestConditions(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("source", "source", nil)
	grant := "?" + blobSAS(t, "box", "source", "r")
	const past, future = "Wed, 01 Jan 2020 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
	const failed = "412 ConditionNotMet"
	for n, request := range conditionedRequests {
		known, exists := failed, failed // has this version; exists at all
		empty := "400 InvalidHeaderValue"
		switch {
		case request.reads():
			known, exists, empty = "304 ConditionNotMet", "304 ConditionNotMet", ""
		case request.creates:
			exists = "409 BlobAlreadyExists"
		}
		tests := []struct{ header, value, want string }{
			{"If-Match", "ETAG", ""},
			{"If-Match", "*", ""},
			{"If-Match", `"0x1"`, failed},
			{"If-None-Match", `"0x1"`, ""},
			{"If-None-Match", "ETAG", known},
			{"If-None-Match", "*", exists},
			{"If-Modified-Since", past, ""},
			{"If-Modified-Since", future, known},
			{"If-Unmodified-Since", future, ""},
			{"If-Unmodified-Since", past, failed},
			{"x-ms-if-tags", "a='b'", ""},
			{"x-ms-if-tags", "a='c'", failed},
			{"x-ms-if-tags", "a=", "400 InvalidHeaderValue"},
			{"If-Modified-Since", "soon", "400 InvalidHeaderValue"},
			{"If-Modified-Since", firstDate, ""},
			{"If-Unmodified-Since", firstDate, failed},
			{"If-Unmodified-Since", "", empty},
			{"If-Match", "", empty},
			{"If-None-Match", "", empty},
			{"x-ms-if-tags", "", empty},
		}
		for i, tt := range tests {
			name := fmt.Sprintf("b%d-%d", n, i)
			before := d.tagged(name, request.kind)
			headers := append([]string{tt.header, strings.ReplaceAll(tt.value, "ETAG", before.ETag())}, request.headers...)
			for i := 0; i+1 < len(headers); i += 2 {
				if headers[i] == "x-ms-copy-source" {
					headers[i+1] += grant
				}
			}
			r := d.signed(request.method, d.path(name)+"?"+request.query, request.body, headers...)
			got := ""
			if r.status >= 300 {
				got = statusAndCode(r)
			}
			if got != tt.want {
				t.Errorf("%s with %s: %s = %q, want %q", request.name, tt.header, tt.value, got, tt.want)
			}
			if after, err := d.catalog.Head(t.Context(), testRef("box", name), catalog.Access{}); tt.want != "" && (err != nil || after.ETag() != before.ETag() || after.Lease.State != "available") {
				t.Errorf("%s with %s: %s was refused and changed the blob", request.name, tt.header, tt.value)
			}
		}
	}
}

// tagged makes a blob of any kind, with a tag.
func (d driver) tagged(name string, kind catalog.Kind) *catalog.Item {
	d.Helper()
	ref, n := testRef("box", name), catalog.New{Tags: map[string]string{"a": "b"}}
	var made *catalog.Item
	var err error
	switch kind {
	case catalog.Append, catalog.Page:
		size := int64(kind-catalog.Append) * 512
		made, err = d.catalog.PutEmpty(d.Context(), ref, kind, size, 0, n, catalog.Access{})
	default:
		made, err = d.catalog.PutBlob(d.Context(), ref, n, d.catalog.Accept([]byte("content")), catalog.Access{})
	}
	if err != nil {
		d.Fatal(err)
	}
	return made
}

// TestConditionsOnNothing: a blob that is not there has no version, and is not
// found by readers whatever they ask.
func TestConditionsOnNothing(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	for _, tt := range []struct{ header, value, put, get string }{
		{"If-Match", "*", "412 ConditionNotMet", "404 BlobNotFound"},
		{"If-Match", `"0x1"`, "412 ConditionNotMet", "404 BlobNotFound"},
		{"If-None-Match", "*", "201", "404 BlobNotFound"},
		{"If-None-Match", `"0x1"`, "201", "404 BlobNotFound"},
		{"If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT", "201", "404 BlobNotFound"},
		{"If-Unmodified-Since", "Wed, 01 Jan 2020 00:00:00 GMT", "201", "404 BlobNotFound"},
		{"x-ms-if-tags", "a='b'", "412 ConditionNotMet", "404 BlobNotFound"},
	} {
		if got := strings.TrimSpace(statusAndCode(d.signed("GET", d.path("b"), "", tt.header, tt.value))); got != tt.get {
			t.Errorf("GET with %s: %s = %s, want %s", tt.header, tt.value, got, tt.get)
		}
		if got := strings.TrimSpace(statusAndCode(d.signed("PUT", d.path("b"), "x", tt.header, tt.value, "x-ms-blob-type", "BlockBlob"))); got != tt.put {
			t.Errorf("PUT with %s: %s = %s, want %s", tt.header, tt.value, got, tt.put)
		}
		d.signed("DELETE", d.path("b"), "")
	}
}

// TestConditionsTogether: of If-None-Match and If-Modified-Since one that says
// no is enough for a reader to be sent the blob: a second is long.
func TestConditionsTogether(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	first := d.signed("PUT", d.path("b"), "first", "x-ms-blob-type", "BlockBlob")
	second := d.signed("PUT", d.path("b"), "second", "x-ms-blob-type", "BlockBlob")
	get := func(etag string) reply {
		return d.signed("GET", d.path("b"), "", "If-None-Match", etag, "If-Modified-Since", second.header.Get("Last-Modified"))
	}
	if r := get(first.header.Get("ETag")); r.body != "second" {
		t.Errorf("a reader of the version before = %d %s, want the new one", r.status, r.body)
	}
	if r := get(second.header.Get("ETag")); r.status != 304 {
		t.Errorf("a reader of this version = %d, want 304", r.status)
	}
	several := d.signed("GET", d.path("b"), "", "If-None-Match", first.header.Get("ETag")+", "+second.header.Get("ETag"))
	if several.status != 304 {
		t.Errorf("a reader of several versions = %d, want 304", several.status)
	}
}
