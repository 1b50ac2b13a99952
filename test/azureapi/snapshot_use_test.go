package azureapi_test

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// TestSnapshotOperations: what a snapshot can be used for, and that everything
// else is refused and changes nothing.
func TestSnapshotOperations(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "content", nil)
	id := d.snapshot("b")
	const refused = "400 InvalidQueryParameterValue"
	for _, test := range []struct {
		method, query, want string
		headers             []string
	}{
		{"GET", "", "200", nil},
		{"HEAD", "", "200", nil},
		{"GET", "metadata", "200", nil},
		{"HEAD", "metadata", "200", nil},
		{"GET", "blocklist", "200", nil},
		{"GET", "tags", "200", nil},
		{"PUT", "tier", "200", []string{"x-ms-access-tier", "Cool"}},
		{"PUT", "expiry", "200", []string{"x-ms-expiry-option", "NeverExpire"}},
		{"GET", "pagelist", "409 InvalidBlobType", nil},
		{"PUT", "", refused, []string{"x-ms-blob-type", "BlockBlob"}},
		{"PUT", "", refused, []string{"x-ms-blob-type", "AppendBlob"}},
		{"PUT", "", refused, []string{"x-ms-blob-type", "PageBlob"}},
		{"PUT", "", refused, []string{"x-ms-copy-source", testHost + d.path("b")}},
		{"PUT", "copy", refused, []string{"x-ms-copy-action", "abort"}},
		{"PUT", "snapshot", refused, nil},
		{"GET", "lineage", refused, nil},
		{"PUT", "block", refused, []string{"x-ms-copy-source", testHost + d.path("b")}},
		{"PUT", "block", refused, nil},
		{"PUT", "blocklist", refused, nil},
		{"PUT", "properties", refused, nil},
		{"PUT", "metadata", refused, nil},
		{"PUT", "tags", refused, nil},
		{"PUT", "appendblock", refused, []string{"x-ms-copy-source", testHost + d.path("b")}},
		{"PUT", "appendblock", refused, nil},
		{"PUT", "seal", refused, nil},
		{"PUT", "page", refused, []string{"x-ms-copy-source", testHost + d.path("b")}},
		{"PUT", "page", refused, []string{"x-ms-page-write", "update"}},
		{"PUT", "page", refused, []string{"x-ms-page-write", "clear"}},
		{"PUT", "lease", refused, []string{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "15"}},
		{"PUT", "lease", refused, []string{"x-ms-lease-action", "renew", "x-ms-lease-id", leaseIDs["A"]}},
		{"PUT", "lease", refused, []string{"x-ms-lease-action", "change", "x-ms-lease-id", leaseIDs["A"], "x-ms-proposed-lease-id", leaseIDs["B"]}},
		{"PUT", "lease", refused, []string{"x-ms-lease-action", "release", "x-ms-lease-id", leaseIDs["A"]}},
		{"PUT", "lease", refused, []string{"x-ms-lease-action", "break"}},
	} {
		path := d.path("b") + "?snapshot=" + id + prefixed("&comp=", test.query)
		if got := statusAndCode(d.signed(test.method, path, "", test.headers...)); got != test.want {
			t.Errorf("%s %s %q of a snapshot = %s, want %s", test.method, test.query, test.headers, got, test.want)
		}
	}
	d.wantContent(d.at("b", id), "content")
	d.wantContent(d.blob("b"), "content")
	wantReply(t, "Delete Blob", d.signed("DELETE", d.path("b")+"?snapshot="+id, ""), 202, "")
	d.wantGone(d.at("b", id))
	for _, bad := range []string{"yesterday", "2020-01-01T00:00:00.000Z", "2020-13-01T00:00:00.0000000Z", "2020-01-01T00:00:00.0000000Z'--"} {
		wantReply(t, bad, d.signed("GET", d.path("b")+"?snapshot="+strings.ReplaceAll(bad, "'", "%27"), ""), 400, "InvalidQueryParameterValue")
	}
	wantReply(t, "another id", d.signed("GET", d.path("b")+"?snapshot=2020-01-01T00:00:00.0000000Z", ""), 404, "BlobNotFound")
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// TestDeleteWithSnapshots: a base with snapshots is deleted with a word about
// them only.
func TestDeleteWithSnapshots(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	remove := func(c *blob.Client, how blob.DeleteSnapshotsOptionType) error {
		o := &blob.DeleteOptions{}
		if how != "" {
			o.DeleteSnapshots = &how
		}
		_, err := c.Delete(t.Context(), o)
		return err
	}
	d.upload("b", "x", nil)
	one, two := d.at("b", d.snapshot("b")), d.at("b", d.snapshot("b"))

	err := remove(d.blob("b"), "")
	wantCode(t, "Delete", err, "SnapshotsPresent")
	if statusOf(err) != 409 {
		t.Errorf("Delete = %d, want 409", statusOf(err))
	}
	for _, how := range []string{"include", "only"} {
		wantReply(t, how+" with a snapshot", d.signed("DELETE", strings.TrimPrefix(one.URL(), testHost), "", "x-ms-delete-snapshots", how), 400, "InvalidHeaderValue")
	}
	wantReply(t, "another word", d.signed("DELETE", d.path("b"), "", "x-ms-delete-snapshots", "some"), 400, "InvalidHeaderValue")
	d.wantContent(one, "x")

	wantCode(t, "Delete of a snapshot", remove(one, ""), "")
	d.wantGone(one)
	d.wantContent(two, "x")

	wantCode(t, "Delete only snapshots", remove(d.blob("b"), "only"), "")
	d.wantGone(two)
	d.wantContent(d.blob("b"), "x")
	wantCode(t, "Delete without snapshots", remove(d.blob("b"), ""), "")
	d.wantGone(d.blob("b"))

	d.upload("c", "x", nil)
	last := d.at("c", d.snapshot("c"))
	wantCode(t, "Delete all", remove(d.blob("c"), "include"), "")
	d.wantGone(d.blob("c"))
	d.wantGone(last)
	wantCode(t, "Delete of nothing", remove(d.blob("c"), "include"), "BlobNotFound")

	d.upload("e", "x", nil)
	raw := d.signed("DELETE", d.path("e"), "")
	wantReply(t, "Delete", raw, 202, "")
	wantReply(t, "Delete for ever", d.signed("DELETE", d.path("e")+"?deletetype=permanent", ""), 501, "NotImplemented")
}

// TestRestoreFromSnapshot: a copy from a snapshot onto its base brings its state
// back; the snapshot stays.
func TestRestoreFromSnapshot(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "first", &blockblob.UploadOptions{Metadata: texts(map[string]string{"k": "1"})})
	id := d.snapshot("b")
	d.upload("b", "second", nil)
	r, err := d.blob("b").StartCopyFromURL(t.Context(), d.at("b", id).URL(), nil)
	if err != nil || value(r.CopyStatus) != blob.CopyStatusTypeSuccess {
		t.Fatalf("StartCopyFromURL = %v, %v", value(r.CopyStatus), err)
	}
	d.wantContent(d.blob("b"), "first")
	p := d.properties(d.blob("b"))
	if value(p.Metadata["K"]) != "1" || !strings.HasSuffix(value(p.CopySource), "?snapshot="+id) {
		t.Errorf("metadata %v, source %s", plain(p.Metadata), value(p.CopySource))
	}
	d.wantContent(d.at("b", id), "first")
	if err := wantRestored(d.lineage("b"), id); err != nil {
		t.Error(err)
	}
}

// listed shows a listing with snapshots: "name@snapshot" or "name".
func (d driver) listed(max int32, o container.ListBlobsFlatOptions) []string {
	d.Helper()
	o.MaxResults = &max
	o.Include.Snapshots = true
	var names []string
	for pager := d.box.NewListBlobsFlatPager(&o); pager.More(); {
		page, err := pager.NextPage(d.Context())
		if err != nil {
			d.Fatalf("ListBlobsFlat = %v", err)
		}
		if n := len(page.Segment.BlobItems); n > int(max) {
			d.Errorf("a page has %d blobs, want %d at most", n, max)
		}
		for _, b := range page.Segment.BlobItems {
			names = append(names, value(b.Name)+prefixed("@", value(b.Snapshot)))
		}
	}
	return names
}

// TestListSnapshots: oldest first, base last, every page complete whatever its
// size.
func TestListSnapshots(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	var want []string
	for _, name := range []string{"a", "a/b", "b"} {
		d.upload(name, "x", nil)
		for range 5 {
			want = append(want, name+"@"+d.snapshot(name))
		}
		want = append(want, name)
	}
	for max := range int32(len(want) + 2) {
		wantSame(t, fmt.Sprintf("maxresults=%d", max+1), d.listed(max+1, container.ListBlobsFlatOptions{}), want)
	}
	raw := d.signed("GET", "/"+testAccount+"/box?restype=container&comp=list&include=snapshots&prefix=b", "")
	if !regexp.MustCompile(`<Blob><Name>b</Name><Snapshot>[^<]+</Snapshot>`).MatchString(raw.body) {
		t.Errorf("no <Snapshot> after <Name>: %s", raw.body)
	}
	var parsed struct {
		Names []string `xml:"Blobs>Blob>Name"`
	}
	plainList := d.signed("GET", "/"+testAccount+"/box?restype=container&comp=list", "")
	if err := xml.Unmarshal([]byte(plainList.body), &parsed); err != nil {
		t.Fatal(err)
	}
	wantSame(t, "without snapshots", parsed.Names, []string{"a", "a/b", "b"})
}
