package server

import (
	"strings"
	"testing"
)

// TestCreateOnly: whoever may create and not write makes new blobs, and
// overwrites none, by no operation and with no condition.
func TestCreateOnly(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.upload("from", "from", nil)
	source := testHost + d.path("from") + "?" + blobSAS(t, "box", "from", "r")
	operations := []struct {
		name, comp, body string
		headers          []string
	}{
		{"Put Block Blob", "", "new", []string{"x-ms-blob-type", "BlockBlob"}},
		{"Put Append Blob", "", "", []string{"x-ms-blob-type", "AppendBlob"}},
		{"Put Page Blob", "", "", []string{"x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", "512"}},
		{"Put Block", "comp=block&blockid=AAAA&", "new", nil},
		{"Put Block From URL", "comp=block&blockid=AAAA&", "", []string{"x-ms-copy-source", source}},
		{"Put Block List", "comp=blocklist&", "<BlockList/>", nil},
		{"Copy Blob", "", "", []string{"x-ms-copy-source", source}},
		{"Put Blob From URL", "", "", []string{"x-ms-copy-source", source, "x-ms-blob-type", "BlockBlob"}},
	}
	conditions := [][]string{
		nil,
		{"If-None-Match", "*"},
		{"If-None-Match", `"0x1"`},
		{"If-Modified-Since", "Wed, 01 Jan 2020 00:00:00 GMT"},
		{"If-Match", "*"},
	}
	grant := accountSAS(t, "c", "o", nil)
	for i, o := range operations {
		old := "old" + strings.Repeat("i", i)
		etag := d.upload(old, "old", nil)
		for _, condition := range conditions {
			r := d.send("PUT", d.path(old)+"?"+o.comp+grant, o.body, append(condition, o.headers...)...)
			wantReply(t, o.name+" over a blob", r, 403, "UnauthorizedBlobOverwrite")
		}
		d.wantContent(d.blob(old), "old")
		if _, staged := d.blocks(old); staged != nil || value(d.properties(d.blob(old)).ETag) != etag {
			t.Errorf("%s left something: %q", o.name, staged)
		}
		name := "new" + strings.Repeat("i", i)
		if r := d.send("PUT", d.path(name)+"?"+o.comp+grant, o.body, o.headers...); r.status >= 300 {
			t.Errorf("%s of a new blob = %d %s, want success", o.name, r.status, r.code())
		}
	}
	for _, o := range []string{"comp=metadata", "comp=properties", "comp=tier", "comp=seal", "comp=page"} {
		r := d.send("PUT", d.path("from")+"?"+o+"&"+grant, "", "x-ms-access-tier", "Cool", "x-ms-page-write", "clear", "x-ms-range", "bytes=0-511")
		wantReply(t, o, r, 403, "AuthorizationPermissionMismatch")
	}
	wantReply(t, "deleting", d.send("DELETE", d.path("from")+"?"+grant, ""), 403, "AuthorizationPermissionMismatch")
	wantReply(t, "reading", d.send("GET", d.path("from")+"?"+grant, ""), 403, "AuthorizationPermissionMismatch")
	wantReply(t, "a snapshot", d.send("PUT", d.path("from")+"?comp=snapshot&"+grant, ""), 201, "")
	tagged := d.send("PUT", d.path("tagged")+"?"+grant, "x", "x-ms-blob-type", "BlockBlob", "x-ms-tags", "a=b")
	wantReply(t, "tags without t", tagged, 403, "AuthorizationPermissionMismatch")
}
