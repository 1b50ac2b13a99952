package azureapi_test

import (
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/leasehold/leasehold/azure/content"
)

func md5Of(text string) []byte { sum := md5.Sum([]byte(text)); return sum[:] }

func crcOf(text string) []byte {
	return binary.LittleEndian.AppendUint64(nil, content.UpdateCRC(0, []byte(text)))
}

// TestPutBlob writes a blob with all that it can have, and overwrites it.
func TestPutBlob(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	headers := &blob.HTTPHeaders{
		BlobContentType: to.Ptr("text/plain"), BlobContentEncoding: to.Ptr("br"), BlobContentLanguage: to.Ptr("de"),
		BlobContentDisposition: to.Ptr("inline"), BlobCacheControl: to.Ptr("no-store"), BlobContentMD5: md5Of("hello"),
	}
	made, err := d.block("full").Upload(t.Context(), bodyOf("hello"), &blockblob.UploadOptions{
		HTTPHeaders: headers, Metadata: texts(map[string]string{"color": "red"}), Tags: map[string]string{"a b": "c+d"}, Tier: to.Ptr(blob.AccessTierCool),
	})
	if err != nil {
		t.Fatalf("Upload = %v", err)
	}
	wantSame(t, "the MD5 that is told", made.ContentMD5, md5Of("hello"))
	p := d.properties(d.blob("full"))
	got := []string{
		value(p.ContentType), value(p.ContentEncoding), value(p.ContentLanguage), value(p.ContentDisposition), value(p.CacheControl),
		string(p.ContentMD5), value(p.AccessTier), string(value(p.BlobType)), string(value(p.ETag)), value(p.AcceptRanges), value(p.Metadata["Color"]),
	}
	wantSame(t, "properties", got, []string{
		"text/plain", "br", "de", "inline", "no-store",
		string(md5Of("hello")), "Cool", "BlockBlob", string(value(made.ETag)), "bytes", "red",
	})
	if value(p.ContentLength) != 5 || value(p.TagCount) != 1 || value(p.AccessTierInferred) || p.AccessTierChangeTime == nil {
		t.Errorf("length %d, tags %d, inferred tier %v, want 5, 1, false", value(p.ContentLength), value(p.TagCount), value(p.AccessTierInferred))
	}
	d.wantContent(d.blob("full"), "hello")

	created := value(p.CreationTime)
	d.upload("full", "", nil)
	p = d.properties(d.blob("full"))
	if value(p.ContentType) != "application/octet-stream" || len(p.Metadata) != 0 || p.TagCount != nil || value(p.AccessTier) != "Hot" || !value(p.AccessTierInferred) {
		t.Errorf("after an overwrite something of the old blob is there: %+v", p)
	}
	if !value(p.CreationTime).Equal(created) {
		t.Errorf("created %v, want %v: a blob is created once", value(p.CreationTime), created)
	}
	d.wantContent(d.blob("full"), "")
}

// TestPutBlobReadsPlainHeaders: what a plain HTTP client sends describes the
// blob too, and the special names win.
func TestPutBlobReadsPlainHeaders(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	wantReply(t, "PUT", d.signed("PUT", d.path("plain"), "x", "x-ms-blob-type", "blockblob",
		"Content-Type", "text/css", "Content-Language", "fr", "x-ms-blob-content-language", "de", "Cache-Control", "max-age=1"), 201, "")
	got := d.signed("GET", d.path("plain"), "")
	wantSame(t, "headers", only(got.header, "Content-Type", "Content-Language", "Cache-Control"),
		map[string]string{"Content-Type": "text/css", "Content-Language": "de", "Cache-Control": "max-age=1"})
}

// TestChecksums: content that is not what the client sent is not written,
// whichever operation brings it.
func TestChecksums(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	page := strings.Repeat("p", 512)
	if _, err := d.page("page").Create(t.Context(), 512, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	operations := []struct{ name, path, body, header, value string }{
		{"Put Blob", "put", "body", "x-ms-blob-type", "BlockBlob"},
		{"Put Block", "staged?comp=block&blockid=AAAA", "body", "", ""},
		{"Append Block", "append?comp=appendblock", "body", "", ""},
		{"Put Page", "page?comp=page", page, "x-ms-page-write", "update"},
		{"Put Block List", "list?comp=blocklist", "<BlockList/>", "", ""},
		{"Set Blob Tags", "tagged?comp=tags", "<Tags><TagSet/></Tags>", "", ""},
	}
	d.upload("tagged", "x", nil)
	text := base64.StdEncoding.EncodeToString
	for _, o := range operations {
		sums := []struct {
			name, header, value, code string
		}{
			{"another MD5", "Content-MD5", text(md5Of("other")), "Md5Mismatch"},
			{"a short MD5", "Content-MD5", "AAAA", "InvalidMd5"},
			{"no base64", "Content-MD5", "!", "InvalidMd5"},
			{"another CRC", "x-ms-content-crc64", text(crcOf("other")), "Crc64Mismatch"},
			{"a short CRC", "x-ms-content-crc64", "AAAA", "InvalidHeaderValue"},
			{"the MD5", "Content-MD5", text(md5Of(o.body)), ""},
			{"the CRC", "x-ms-content-crc64", text(crcOf(o.body)), ""},
		}
		for _, s := range sums {
			r := d.signed("PUT", d.path(o.path), o.body, s.header, s.value, "x-ms-range", "bytes=0-511", cmp.Or(o.header, "x-ms-none"), o.value)
			if r.code() != s.code {
				t.Errorf("%s with %s = %d %s, want %q", o.name, s.name, r.status, r.code(), s.code)
			}
			if told := r.header.Get(s.header); s.code == "" && told != "" && told != s.value {
				t.Errorf("%s with %s tells %s %q, want %q", o.name, s.name, s.header, told, s.value)
			}
		}
		both := d.signed("PUT", d.path(o.path), o.body, "Content-MD5", text(md5Of(o.body)), "x-ms-content-crc64", text(crcOf(o.body)),
			"x-ms-range", "bytes=0-511", cmp.Or(o.header, "x-ms-none"), o.value)
		wantReply(t, o.name+" with both", both, 400, "InvalidHeaderValue")
	}
	// Of each the two good ones were written: nothing of the others.
	if p := d.properties(d.blob("append")); value(p.ContentLength) != 8 || value(p.BlobCommittedBlockCount) != 2 {
		t.Errorf("the append blob has %d bytes in %d blocks, want 8 in 2", value(p.ContentLength), value(p.BlobCommittedBlockCount))
	}
}

// TestBlobMD5IsChecked: of a blob that comes in one piece the MD5 that it shall
// have is that of the body. Of one in blocks it is the client's own affair.
func TestBlobMD5IsChecked(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	wrong := &blob.HTTPHeaders{BlobContentMD5: md5Of("other")}
	_, err := d.block("b").Upload(t.Context(), bodyOf("body"), &blockblob.UploadOptions{HTTPHeaders: wrong})
	wantCode(t, "Upload", err, "Md5Mismatch")
	d.wantGone(d.blob("b"))
	d.stage("b", "AAAA", "body")
	if _, err := d.block("b").CommitBlockList(t.Context(), []string{"AAAA"}, &blockblob.CommitBlockListOptions{HTTPHeaders: wrong}); err != nil {
		t.Errorf("CommitBlockList = %v, want success", err)
	}
	wantSame(t, "MD5", d.properties(d.blob("b")).ContentMD5, md5Of("other"))
}

func TestPutBlobRefusals(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	tests := []struct {
		name, body string
		headers    []string
		status     int
		code       string
	}{
		{"no type", "", nil, 400, "MissingRequiredHeader"},
		{"another type", "", []string{"x-ms-blob-type", "RoundBlob"}, 400, "InvalidHeaderValue"},
		{"another tier", "", []string{"x-ms-blob-type", "BlockBlob", "x-ms-access-tier", "P10"}, 400, "InvalidHeaderValue"},
		{"a tier of an append blob", "", []string{"x-ms-blob-type", "AppendBlob", "x-ms-access-tier", "Hot"}, 400, "InvalidHeaderValue"},
		{"an append blob with a body", "x", []string{"x-ms-blob-type", "AppendBlob"}, 400, "InvalidHeaderValue"},
		{"a page blob without a size", "", []string{"x-ms-blob-type", "PageBlob"}, 400, "MissingRequiredHeader"},
		{"a page blob of an odd size", "", []string{"x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", "513"}, 400, "InvalidHeaderValue"},
		{"a page blob of a negative size", "", []string{"x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", "-512"}, 400, "InvalidHeaderValue"},
		{"a page blob that is too large", "", []string{"x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", "8796093022720"}, 400, "InvalidHeaderValue"},
		{"a page blob with a body", "x", []string{"x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", "512"}, 400, "InvalidHeaderValue"},
		{"a bad date", "", []string{"x-ms-blob-type", "BlockBlob", "If-Modified-Since", "yesterday"}, 400, "InvalidHeaderValue"},
		{"no GUID", "", []string{"x-ms-blob-type", "BlockBlob", "x-ms-lease-id", "mine"}, 400, "InvalidHeaderValue"},
	}
	for _, tt := range tests {
		r := d.signed("PUT", d.path("refused"), tt.body, tt.headers...)
		wantReply(t, tt.name, r, tt.status, tt.code)
	}
	d.wantGone(d.blob("refused"))

	endless := d.request("PUT", d.path("refused"), "", "x-ms-blob-type", "BlockBlob")
	endless.Body, endless.ContentLength = bodyOf("x"), -1
	signRequest(endless, developmentAccount)
	wantReply(t, "no length", d.exchange(endless), http.StatusLengthRequired, "MissingContentLengthHeader")
	wantReply(t, "no container", d.signed("PUT", "/"+testAccount+"/none/b", "x", "x-ms-blob-type", "BlockBlob"), 404, "ContainerNotFound")
}

// TestCreateOnly: a caller that may create and not write makes new blobs, and
// overwrites none, by no operation and with no condition.
func TestCreateOnly(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
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
