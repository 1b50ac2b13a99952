package azureapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/leasehold/leasehold/azure/catalog/tagquery"
)

// tags of a blob or a snapshot.
func (d driver) tags(c *blob.Client) map[string]string {
	d.Helper()
	r, err := c.GetTags(d.Context(), nil)
	if err != nil {
		d.Fatalf("GetTags = %v", err)
	}
	found := map[string]string{}
	for _, tag := range r.BlobTagSet {
		found[value(tag.Key)] = value(tag.Value)
	}
	return found
}

func TestTags(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	first := map[string]string{"color": "dark blue", "a/b:c=d.e_f-g": "+1", "empty": ""}
	etag := d.upload("b", "x", &blockblob.UploadOptions{Tags: first})
	wantSame(t, "tags of the upload", d.tags(d.blob("b")), first)
	snapshot := d.snapshot("b")
	second := map[string]string{"color": "red"}
	if _, err := d.blob("b").SetTags(t.Context(), second, nil); err != nil {
		t.Fatalf("SetTags = %v", err)
	}
	wantSame(t, "tags that were set", d.tags(d.blob("b")), second)
	wantSame(t, "tags of the snapshot", d.tags(d.at("b", snapshot)), first)
	if got := value(d.properties(d.blob("b")).ETag); got != etag {
		t.Errorf("setting tags made the ETag %s, want %s", got, etag)
	}
	found, err := d.service().FilterBlobs(t.Context(), "color='red'", nil)
	if err != nil || len(found.Blobs) != 1 || value(found.Blobs[0].Name) != "b" {
		t.Errorf("FilterBlobs = %+v, %v, want b", found.Blobs, err)
	}
	if _, err := d.blob("b").SetTags(t.Context(), nil, nil); err != nil {
		t.Fatalf("SetTags(none) = %v", err)
	}
	wantSame(t, "no tags", d.tags(d.blob("b")), map[string]string{})
}

// TestTagConditions: the SDK sends conditions on a blob under names of their own
// when it asks for tags.
func TestTagConditions(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	etag := d.upload("b", "x", nil)
	other := azcore.ETag(`"0x1"`)
	for _, match := range []*azcore.ETag{&etag, &other} {
		code, status := "", 0
		if match == &other {
			code, status = "ConditionNotMet", 412
		}
		conditions := &blob.BlobModifiedAccessConditions{IfMatch: match}
		_, err := d.blob("b").SetTags(t.Context(), map[string]string{"a": "b"}, &blob.SetTagsOptions{BlobModifiedAccessConditions: conditions})
		wantCode(t, "SetTags if "+string(*match), err, code)
		_, err = d.blob("b").GetTags(t.Context(), &blob.GetTagsOptions{BlobModifiedAccessConditions: conditions})
		wantCode(t, "GetTags if "+string(*match), err, code)
		if statusOf(err) != status {
			t.Errorf("GetTags = %d, want %d", statusOf(err), status)
		}
	}
	unless := &blob.BlobModifiedAccessConditions{IfNoneMatch: &etag}
	_, err := d.blob("b").GetTags(t.Context(), &blob.GetTagsOptions{BlobModifiedAccessConditions: unless})
	if statusOf(err) != http.StatusNotModified {
		t.Errorf("GetTags of the same version = %v, want 304", err)
	}
	tagged := &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfTags: to.Ptr("a='c'")}}
	_, err = d.blob("b").SetTags(t.Context(), nil, &blob.SetTagsOptions{AccessConditions: tagged})
	wantCode(t, "SetTags if tagged", err, "ConditionNotMet")
}

func TestTagRefusals(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "x", nil)
	many := url.Values{}
	for i := range tagquery.MaxTags + 1 {
		many.Set(fmt.Sprint("k", i), "v")
	}
	tests := []struct{ name, header, code string }{
		{"no name", "=v", "EmptyTagName"},
		{"nothing between", "a=1&&b=2", "EmptyTagName"},
		{"twice", "a=1&a=2", "DuplicateTagNames"},
		{"too many", many.Encode(), "TagsTooLarge"},
		{"a long name", strings.Repeat("k", tagquery.MaxKey+1) + "=v", "InvalidTag"},
		{"a long value", "k=" + strings.Repeat("v", tagquery.MaxValue+1), "InvalidTag"},
		{"a letter beyond ASCII", "k=%C3%A4", "InvalidTag"},
		{"a line break", "k=%0A", "InvalidTag"},
		{"no escape", "k=%zz", "InvalidHeaderValue"},
	}
	for _, tt := range tests {
		r := d.signed("PUT", d.path("new"), "x", "x-ms-blob-type", "BlockBlob", "x-ms-tags", tt.header)
		wantReply(t, tt.name, r, 400, tt.code)
	}
	d.wantGone(d.blob("new"))
	for body, code := range map[string]string{
		"":               "InvalidXmlDocument",
		"<Tags><TagSet>": "InvalidXmlDocument",
		"<Labels/>":      "InvalidXmlDocument",
		"<Tags><TagSet><Tag><Key>a</Key><Value>\u00e4</Value></Tag></TagSet></Tags>":                                     "InvalidTag",
		"<Tags><TagSet><Tag><Key>a</Key></Tag><Tag><Key>a</Key></Tag></TagSet></Tags>":                                   "DuplicateTagNames",
		"<Tags><TagSet><Tag><Value>a</Value></Tag></TagSet></Tags>":                                                      "EmptyTagName",
		"<Tags><TagSet>" + strings.Repeat("<Tag><Key>a</Key></Tag>", 1) + strings.Repeat("<x>", 16) + "</TagSet></Tags>": "InvalidXmlDocument",
	} {
		wantReply(t, fmt.Sprintf("%.60s", body), d.signed("PUT", d.path("b")+"?comp=tags", body), 400, code)
	}
	wantSame(t, "tags", d.tags(d.blob("b")), map[string]string{})
	wantReply(t, "tags of nothing", d.signed("GET", d.path("none")+"?comp=tags", ""), 404, "BlobNotFound")
}
