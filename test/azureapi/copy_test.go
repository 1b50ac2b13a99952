package azureapi_test

import (
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// TestCopy: 202, done at once, with all that the source has.
func TestCopy(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("from", "content", &blockblob.UploadOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("a/b"), BlobContentLanguage: to.Ptr("de")},
		Metadata:    texts(map[string]string{"k": "v"}), Tags: map[string]string{"a": "b"}, Tier: to.Ptr(blob.AccessTierCool),
	})
	from := d.blob("from").URL()
	r, err := d.blob("to").StartCopyFromURL(t.Context(), from, nil)
	if err != nil {
		t.Fatalf("StartCopyFromURL = %v", err)
	}
	p := d.properties(d.blob("to"))
	if value(r.CopyStatus) != "success" || value(r.CopyID) == "" || value(p.CopyID) != value(r.CopyID) || value(p.ETag) != value(r.ETag) {
		t.Errorf("copy %s %s, properties %s %s", value(r.CopyID), value(r.CopyStatus), value(p.CopyID), value(p.CopyStatus))
	}
	got := []string{value(p.CopySource), value(p.CopyProgress), string(value(p.CopyStatus)), value(p.ContentType), value(p.ContentLanguage), value(p.Metadata["K"]), string(p.ContentMD5)}
	wantSame(t, "properties", got, []string{from, "7/7", "success", "a/b", "de", "v", string(md5Of("content"))})
	if p.CopyCompletionTime == nil || value(p.TagCount) != 0 || value(p.AccessTier) != "Hot" {
		t.Errorf("completed %v, tags %d, tier %s", p.CopyCompletionTime, value(p.TagCount), value(p.AccessTier))
	}
	d.wantContent(d.blob("to"), "content")

	_, err = d.blob("to").StartCopyFromURL(t.Context(), from, &blob.StartCopyFromURLOptions{
		Metadata: texts(map[string]string{"new": "1"}), BlobTags: map[string]string{"c": "d"}, Tier: to.Ptr(blob.AccessTierCold),
	})
	wantCode(t, "StartCopyFromURL", err, "")
	p = d.properties(d.blob("to"))
	wantSame(t, "metadata", plain(p.Metadata), map[string]string{"New": "1"})
	wantSame(t, "tags", d.tags(d.blob("to")), map[string]string{"c": "d"})
	if value(p.AccessTier) != "Cold" {
		t.Errorf("tier %s, want Cold", value(p.AccessTier))
	}
	_, err = d.blob("to").CopyFromURL(t.Context(), from, &blob.CopyFromURLOptions{SourceContentMD5: md5Of("content")})
	wantCode(t, "CopyFromURL", err, "")
	sync := []string{"x-ms-copy-source", from, "x-ms-requires-sync", "true", "x-ms-copy-source-tag-option"}
	wantReply(t, "a copy with its tags", d.signed("PUT", d.path("to"), "", append(sync, "COPY")...), 202, "")
	wantSame(t, "tags", d.tags(d.blob("to")), map[string]string{"a": "b"})
	wantReply(t, "two sorts of tags", d.signed("PUT", d.path("to"), "", append(sync, "COPY", "x-ms-tags", "c=d")...), 400, "BothUserTagsAndSourceTagsCopyPresentException")
	wantReply(t, "another option", d.signed("PUT", d.path("to"), "", append(sync, "MERGE")...), 400, "InvalidHeaderValue")

	if _, err := d.blob("from").Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	d.wantContent(d.blob("to"), "content")
	_, err = d.blob("to").AbortCopyFromURL(t.Context(), value(r.CopyID), nil)
	wantCode(t, "AbortCopyFromURL", err, "NoPendingCopyOperation")

	// Onto itself: how a tier or metadata are changed with a copy.
	_, err = d.blob("to").StartCopyFromURL(t.Context(), d.blob("to").URL(), &blob.StartCopyFromURLOptions{Metadata: texts(map[string]string{"self": "1"})})
	wantCode(t, "a copy onto itself", err, "")
	d.wantContent(d.blob("to"), "content")
}

// TestCopyKinds: append and page blobs are copied as what they are.
func TestCopyKinds(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.appendBlob("append").AppendBlock(t.Context(), bodyOf("one"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.page("page").Create(t.Context(), 1024, nil); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "UploadPages", d.writePages("page", 1, pages("a", 1), nil), "")
	d.upload("block", "block", nil)

	sealed := &blob.StartCopyFromURLOptions{SealBlob: to.Ptr(true)}
	_, err := d.blob("append2").StartCopyFromURL(t.Context(), d.blob("append").URL(), sealed)
	wantCode(t, "a copy of an append blob", err, "")
	_, err = d.appendBlob("append2").AppendBlock(t.Context(), bodyOf("x"), nil)
	wantCode(t, "AppendBlock to the sealed copy", err, "BlobIsSealed")
	d.wantContent(d.blob("append2"), "one")
	_, err = d.blob("page2").StartCopyFromURL(t.Context(), d.blob("page").URL(), nil)
	wantCode(t, "a copy of a page blob", err, "")
	wantCode(t, "UploadPages", d.writePages("page2", 0, pages("b", 1), nil), "")
	d.wantContent(d.blob("page2"), pages("b", 1)+pages("a", 1))
	d.wantContent(d.blob("page"), pages("\x00", 1)+pages("a", 1))

	_, err = d.blob("page").StartCopyFromURL(t.Context(), d.blob("block").URL(), nil)
	wantCode(t, "a block blob onto a page blob", err, "InvalidBlobType")
	_, err = d.block("flat").UploadBlobFromURL(t.Context(), d.readable("page"), nil)
	wantCode(t, "Put Blob From URL of a page blob", err, "")
	d.wantContent(d.blob("flat"), pages("\x00", 1)+pages("a", 1))
	if kind := value(d.properties(d.blob("flat")).BlobType); kind != blob.BlobTypeBlockBlob {
		t.Errorf("Put Blob From URL makes a %s, want a block blob", kind)
	}
}

// TestPutBlobFromURL: a new block blob of another one's content.
func TestPutBlobFromURL(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("from", "content", &blockblob.UploadOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("a/b"), BlobContentLanguage: to.Ptr("de")}, Metadata: texts(map[string]string{"k": "v"})})
	from := d.readable("from")
	r, err := d.block("to").UploadBlobFromURL(t.Context(), from, &blockblob.UploadBlobFromURLOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("c/d")}, SourceContentMD5: md5Of("content"), Tier: to.Ptr(blob.AccessTierCool),
	})
	if err != nil {
		t.Fatalf("UploadBlobFromURL = %v", err)
	}
	wantSame(t, "the MD5 that is told", r.ContentMD5, md5Of("content"))
	p := d.properties(d.blob("to"))
	if value(p.ContentType) != "c/d" || value(p.ContentLanguage) != "de" || value(p.Metadata["K"]) != "v" || p.CopyID != nil || value(p.AccessTier) != "Cool" {
		t.Errorf("properties: %+v", p)
	}
	d.wantContent(d.blob("to"), "content")
	_, err = d.block("to").UploadBlobFromURL(t.Context(), from, &blockblob.UploadBlobFromURLOptions{CopySourceBlobProperties: to.Ptr(false)})
	wantCode(t, "UploadBlobFromURL", err, "")
	if p := d.properties(d.blob("to")); value(p.ContentType) != "application/octet-stream" || p.ContentLanguage != nil {
		t.Errorf("the source's properties were not to be copied: %+v", p)
	}
	_, err = d.block("to").UploadBlobFromURL(t.Context(), from, &blockblob.UploadBlobFromURLOptions{SourceContentMD5: md5Of("other")})
	wantCode(t, "UploadBlobFromURL with another MD5", err, "Md5Mismatch")
	_, err = d.blob("to").CopyFromURL(t.Context(), from, &blob.CopyFromURLOptions{SourceContentMD5: md5Of("other")})
	wantCode(t, "CopyFromURL with another MD5", err, "Md5Mismatch")
	wantReply(t, "with a body", d.signed("PUT", d.path("to"), "x", "x-ms-blob-type", "BlockBlob", "x-ms-copy-source", from), 400, "InvalidHeaderValue")
	d.wantContent(d.blob("to"), "content")
}

// TestCopyLeases: the destination's lease guards it; an id for the source is a
// condition.
func TestCopyLeases(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	from, to := sdkBlob(d.deployment, "from"), sdkBlob(d.deployment, "to")
	for _, l := range []leased{from, to} {
		if status, code, _, _ := l.try("acquire A for -1"); status != 201 {
			t.Fatalf("acquire = %d %s", status, code)
		}
	}
	path := "/" + testAccount + "/blobs/to"
	source := testHost + "/" + testAccount + "/blobs/from"
	for _, tt := range []struct{ own, of, want string }{
		{"", "", "412 LeaseIdMissing"},
		{"B", "", "412 LeaseIdMismatchWithBlobOperation"},
		{"A", "B", "412 LeaseIdMismatchWithBlobOperation"},
		{"A", "A", "202"},
		{"A", "", "202"},
	} {
		headers := []string{"x-ms-copy-source", source}
		if tt.own != "" {
			headers = append(headers, "x-ms-lease-id", leaseIDs[tt.own])
		}
		if tt.of != "" {
			headers = append(headers, "x-ms-source-lease-id", leaseIDs[tt.of])
		}
		got := statusAndCode(d.signed("PUT", path, "", headers...))
		if strings.TrimSpace(got) != tt.want {
			t.Errorf("a copy with %q, and %q for the source = %s, want %s", tt.own, tt.of, got, tt.want)
		}
	}
}
