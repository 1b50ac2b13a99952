package azureapi_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// TestSetHeaders: all headers are set together; what is not sent is cleared.
func TestSetHeaders(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
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
	d := newDriver(t)
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

func TestTier(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	etag := d.upload("b", "x", nil)
	snapshot := d.snapshot("b")
	for _, tier := range []blob.AccessTier{blob.AccessTierCool, blob.AccessTierCold, blob.AccessTierHot} {
		if _, err := d.blob("b").SetTier(t.Context(), tier, nil); err != nil {
			t.Fatalf("SetTier(%s) = %v", tier, err)
		}
		p := d.properties(d.blob("b"))
		if value(p.AccessTier) != string(tier) || value(p.AccessTierInferred) || p.AccessTierChangeTime == nil || value(p.ETag) != etag {
			t.Errorf("after SetTier(%s): %+v", tier, p)
		}
	}
	if _, err := d.at("b", snapshot).SetTier(t.Context(), blob.AccessTierCool, nil); err != nil {
		t.Errorf("SetTier of a snapshot = %v", err)
	}
	if got := value(d.properties(d.at("b", snapshot)).AccessTier); got != "Cool" {
		t.Errorf("the snapshot's tier is %s, want Cool", got)
	}
	if got := value(d.properties(d.blob("b")).AccessTier); got != "Hot" {
		t.Errorf("the blob's tier is %s, want Hot", got)
	}

	if _, err := d.page("page").Create(t.Context(), 512, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		tier blob.AccessTier
		code string
	}{
		{"page", "P20", ""},
		{"page", blob.AccessTierHot, "AccessTierNotSupportedForBlobType"},
		{"b", "P20", "AccessTierNotSupportedForBlobType"},
		{"append", blob.AccessTierHot, "AccessTierNotSupportedForBlobType"},
		{"b", "Lukewarm", "InvalidHeaderValue"},
		{"none", blob.AccessTierHot, "BlobNotFound"},
	} {
		_, err := d.blob(tt.name).SetTier(t.Context(), tt.tier, nil)
		wantCode(t, tt.name+" to "+string(tt.tier), err, tt.code)
	}
	wantReply(t, "no tier", d.signed("PUT", d.path("b")+"?comp=tier", ""), 400, "MissingRequiredHeader")
}

// TestArchive: what is in the archive is described and listed, and nothing else.
func TestArchive(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("cold", "content", &blockblob.UploadOptions{Tier: to.Ptr(blob.AccessTierArchive), Tags: map[string]string{"a": "b"}})
	cold := d.blob("cold")
	if got := value(d.properties(cold).AccessTier); got != "Archive" {
		t.Errorf("tier %s, want Archive", got)
	}
	url := cold.URL()
	refused := map[string]func() error{
		"Get":          func() error { _, err := cold.DownloadStream(t.Context(), nil); return err },
		"Get a range":  func() error { return firstByte(t, cold) },
		"Snapshot":     func() error { _, err := cold.CreateSnapshot(t.Context(), nil); return err },
		"Set metadata": func() error { _, err := cold.SetMetadata(t.Context(), nil, nil); return err },
		"Set headers":  func() error { _, err := cold.SetHTTPHeaders(t.Context(), blob.HTTPHeaders{}, nil); return err },
		"Copy":         func() error { _, err := d.blob("copy").StartCopyFromURL(t.Context(), url, nil); return err },
		"Stage from URL": func() error {
			_, err := d.block("copy").StageBlockFromURL(t.Context(), blockID(1), d.readable("cold"), nil)
			return err
		},
	}
	for name, try := range refused {
		err := try()
		if want := "BlobArchived"; statusOf(err) != 409 || codeOf(err) != want && codeOf(err) != "CannotVerifyCopySource" {
			t.Errorf("%s = %v, want 409 %s", name, err, want)
		}
	}
	wantSame(t, "tags", d.tags(cold), map[string]string{"a": "b"})
	if _, err := d.blob("warm").StartCopyFromURL(t.Context(), url, &blob.StartCopyFromURLOptions{Tier: to.Ptr(blob.AccessTierHot)}); err != nil {
		t.Errorf("a copy to another tier = %v", err)
	}
	d.wantContent(d.blob("warm"), "content")
	if _, err := cold.SetTier(t.Context(), blob.AccessTierHot, &blob.SetTierOptions{RehydratePriority: to.Ptr(blob.RehydratePriorityHigh)}); err != nil {
		t.Fatalf("SetTier = %v", err)
	}
	d.wantContent(cold, "content")
}

func firstByte(t *testing.T, c *blob.Client) error {
	_, err := c.DownloadStream(t.Context(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Count: 1}})
	return err
}
