package server

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// TestSetHeaders: all headers are set together; what is not sent is cleared.
func TestSetHeaders(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	etag := d.upload("b", "x", &blockblob.UploadOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("a/b"), BlobCacheControl: to.Ptr("no-store")}, Metadata: texts(map[string]string{"k": "v"})})
	set, err := d.blob("b").SetHTTPHeaders(t.Context(), blob.HTTPHeaders{BlobContentLanguage: to.Ptr("de"), BlobContentMD5: md5Of("anything")}, nil)
	if err != nil {
		t.Fatalf("SetHTTPHeaders = %v", err)
	}
	p := d.properties(d.blob("b"))
	if value(set.ETag) == etag || value(p.ETag) != value(set.ETag) {
		t.Errorf("ETags %s, %s, %s: want a new one", etag, value(set.ETag), value(p.ETag))
	}
	got := []string{value(p.ContentType), value(p.CacheControl), value(p.ContentLanguage), string(p.ContentMD5), value(p.Metadata["K"])}
	wantSame(t, "headers", got, []string{"", "", "de", string(md5Of("anything")), "v"})

	if _, err := d.blob("b").SetHTTPHeaders(t.Context(), blob.HTTPHeaders{}, nil); err != nil {
		t.Fatalf("SetHTTPHeaders = %v", err)
	}
	if p := d.properties(d.blob("b")); p.ContentLanguage != nil || p.ContentMD5 != nil || p.ContentType != nil {
		t.Errorf("after all are cleared: %+v", p)
	}
	// The headers of this request are not the blob's.
	wantReply(t, "plain headers", d.signed("PUT", d.path("b")+"?comp=properties", "", "Content-Type", "text/x", "Content-Language", "fr"), 200, "")
	if p := d.properties(d.blob("b")); p.ContentLanguage != nil || p.ContentType != nil {
		t.Errorf("plain headers became the blob's: %+v", p)
	}
	for name, r := range map[string]reply{
		"a size":   d.signed("PUT", d.path("b")+"?comp=properties", "", "x-ms-blob-content-length", "512"),
		"a number": d.signed("PUT", d.path("b")+"?comp=properties", "", "x-ms-sequence-number-action", "increment"),
	} {
		wantReply(t, name+" of a block blob", r, 409, "InvalidBlobType")
	}
	_, err = d.blob("none").SetHTTPHeaders(t.Context(), blob.HTTPHeaders{}, nil)
	wantCode(t, "SetHTTPHeaders of nothing", err, "BlobNotFound")
}

func TestSetMetadata(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	etag := d.upload("b", "x", &blockblob.UploadOptions{Metadata: texts(map[string]string{"old": "1"})})
	set, err := d.blob("b").SetMetadata(t.Context(), texts(map[string]string{"new": "2"}), nil)
	if err != nil || value(set.ETag) == etag {
		t.Fatalf("SetMetadata = %s, %v, want a new ETag", value(set.ETag), err)
	}
	r := d.signed("GET", d.path("b")+"?comp=metadata", "")
	wantSame(t, "metadata", only(r.header, "X-Ms-Meta-New", "X-Ms-Meta-Old", "ETag"), map[string]string{"X-Ms-Meta-New": "2", "ETag": string(value(set.ETag))})
	if head := d.signed("HEAD", d.path("b")+"?comp=metadata", ""); head.header.Get("X-Ms-Meta-New") != "2" {
		t.Errorf("HEAD comp=metadata has %v", head.header)
	}
	if _, err := d.blob("b").SetMetadata(t.Context(), nil, nil); err != nil {
		t.Fatalf("SetMetadata(none) = %v", err)
	}
	if p := d.properties(d.blob("b")); len(p.Metadata) != 0 {
		t.Errorf("metadata %v, want none", plain(p.Metadata))
	}
	d.wantContent(d.blob("b"), "x")
	_, err = d.blob("b").SetMetadata(t.Context(), texts(map[string]string{"no-name": "x"}), nil)
	wantCode(t, "SetMetadata", err, "InvalidMetadata")
}
