package azureapi_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// TestSourceConditions: those on the source are asked, by all operations that
// have one.
func TestSourceConditions(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	etag, other := d.upload("from", pages("x", 1), &blockblob.UploadOptions{Tags: map[string]string{"a": "b"}}), azcore.ETag(`"0x1"`)
	if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.page("page").Create(t.Context(), 512, nil); err != nil {
		t.Fatal(err)
	}
	past, future := "Wed, 01 Jan 2020 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
	operations := []struct {
		name, path string
		headers    []string
		later      bool // the source is read after the answer, in Azure
	}{
		{"Copy Blob", "copy", nil, true},
		{"Copy Blob From URL", "copy", []string{"x-ms-requires-sync", "true"}, false},
		{"Put Blob From URL", "copy", []string{"x-ms-blob-type", "BlockBlob"}, false},
		{"Put Block From URL", "staged?comp=block&blockid=AAAA", nil, false},
		{"Append Block From URL", "append?comp=appendblock", nil, false},
		{"Put Page From URL", "page?comp=page", []string{"x-ms-page-write", "update", "x-ms-range", "bytes=0-511", "x-ms-source-range", "bytes=0-511"}, false},
	}
	for _, o := range operations {
		unchanged := "304 CannotVerifyCopySource"
		if o.later {
			unchanged = "412 SourceConditionNotMet"
		}
		for _, tt := range []struct{ header, value, want string }{
			{"x-ms-source-if-match", string(etag), ""},
			{"x-ms-source-if-match", string(other), "412 SourceConditionNotMet"},
			{"x-ms-source-if-none-match", string(other), ""},
			{"x-ms-source-if-none-match", string(etag), unchanged},
			{"x-ms-source-if-modified-since", past, ""},
			{"x-ms-source-if-modified-since", future, unchanged},
			{"x-ms-source-if-unmodified-since", future, ""},
			{"x-ms-source-if-unmodified-since", past, "412 SourceConditionNotMet"},
			{"x-ms-source-if-tags", "a='b'", ""},
			{"x-ms-source-if-tags", "a='c'", "412 SourceConditionNotMet"},
			{"x-ms-source-if-match", "", "400 InvalidHeaderValue"},
			{"x-ms-source-if-modified-since", "then", "400 InvalidHeaderValue"},
		} {
			r := d.signed("PUT", d.path(o.path), "", append([]string{"x-ms-copy-source", d.readable("from"), tt.header, tt.value}, o.headers...)...)
			got := ""
			if r.status >= 300 {
				got = statusAndCode(r)
			}
			if got != tt.want {
				t.Errorf("%s with %s: %s = %q, want %q", o.name, tt.header, tt.value, got, tt.want)
			}
		}
	}
}

// TestFromURLRanges: parts of a source become blocks and pages.
func TestFromURLRanges(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	content := pages("a", 1) + pages("b", 1) + pages("c", 1)
	d.upload("from", content, nil)
	from := d.readable("from")
	middle := blob.HTTPRange{Offset: 512, Count: 512}

	r, err := d.block("block").StageBlockFromURL(t.Context(), blockID(1), from, &blockblob.StageBlockFromURLOptions{
		Range: middle, SourceContentValidation: blob.SourceContentValidationTypeMD5(md5Of(pages("b", 1))),
	})
	wantCode(t, "StageBlockFromURL", err, "")
	wantSame(t, "the MD5 that is told", r.ContentMD5, md5Of(pages("b", 1)))
	_, err = d.block("block").StageBlockFromURL(t.Context(), blockID(2), from, &blockblob.StageBlockFromURLOptions{Range: blob.HTTPRange{Offset: 1024}})
	wantCode(t, "StageBlockFromURL to the end", err, "")
	d.commit("block", blockID(2), blockID(1))
	d.wantContent(d.blob("block"), pages("c", 1)+pages("b", 1))
	_, err = d.block("block").StageBlockFromURL(t.Context(), blockID(3), from, &blockblob.StageBlockFromURLOptions{SourceContentValidation: blob.SourceContentValidationTypeMD5(md5Of("x"))})
	wantCode(t, "StageBlockFromURL with another MD5", err, "Md5Mismatch")

	if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := d.appendBlob("append").AppendBlockFromURL(t.Context(), from, nil)
		wantCode(t, "AppendBlockFromURL", err, "")
	}
	d.wantContent(d.blob("append"), content+content)

	if _, err := d.page("page").Create(t.Context(), 1024, nil); err != nil {
		t.Fatal(err)
	}
	_, err = d.page("page").UploadPagesFromURL(t.Context(), from, 1024, 0, 512, nil)
	wantCode(t, "UploadPagesFromURL", err, "")
	d.wantContent(d.blob("page"), pages("c", 1)+pages("\x00", 1))

	id := d.snapshot("from")
	d.upload("from", "another", nil)
	_, err = d.appendBlob("append").AppendBlockFromURL(t.Context(), from+"&snapshot="+id, nil)
	wantCode(t, "AppendBlockFromURL of a snapshot", err, "")
	d.wantContent(d.blob("append"), content+content+content)

	for name, tt := range map[string]struct {
		path, span string
		status     int
		code       string
	}{
		"beyond the source":     {"block?comp=block&blockid=" + blockID(9), "bytes=7-8", 416, "InvalidRange"},
		"no range":              {"block?comp=block&blockid=" + blockID(9), "7", 400, "InvalidHeaderValue"},
		"pages that do not fit": {"page?comp=page", "bytes=0-1", 400, "InvalidHeaderValue"},
	} {
		r := d.signed("PUT", d.path(tt.path), "", "x-ms-copy-source", from, "x-ms-source-range", tt.span, "x-ms-range", "bytes=0-511", "x-ms-page-write", "update")
		wantReply(t, name, r, tt.status, tt.code)
	}
	d.upload("empty", "", nil)
	_, err = d.block("block").StageBlockFromURL(t.Context(), blockID(9), d.readable("empty"), nil)
	wantCode(t, "a block of nothing", err, "InvalidHeaderValue")
	wantReply(t, "with a body", d.signed("PUT", d.path("block")+"?comp=block&blockid="+blockID(9), "x", "x-ms-copy-source", from), 400, "InvalidHeaderValue")
	d.wantContent(d.blob("block"), pages("c", 1)+pages("b", 1))
}
