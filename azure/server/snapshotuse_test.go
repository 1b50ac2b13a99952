package server

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// TestSnapshotOperations: what may be asked of a snapshot, and that everything
// else is refused and changes nothing.
func TestSnapshotOperations(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.upload("b", "content", nil)
	id := d.snapshot("b")
	allowed := map[string]int{
		"GET /": 200, "HEAD /": 200, "GET comp=metadata": 200, "HEAD comp=metadata": 200, "GET comp=blocklist": 200, "GET comp=tags": 200,
		"PUT comp=tier": 200, "PUT comp=expiry": 200, "DELETE /": 202, "GET comp=pagelist": 409,
	}
	ask := func(o operation) reply {
		path := d.path("b") + "?snapshot=" + id
		if o.Comp != "" {
			path += "&comp=" + o.Comp
		}
		headers := []string{
			"x-ms-access-tier", "Cool", "x-ms-lease-duration", "15", "x-ms-lease-id", cast["A"], "x-ms-proposed-lease-id", cast["B"],
			"x-ms-expiry-option", "NeverExpire",
		}
		if o.Comp == "" || strings.Contains(o.Method, "GET") {
			headers = nil // an id would be a condition
		}
		if o.Comp == "tier" || o.Comp == "expiry" {
			headers = slices.Concat(headers[:2], headers[8:])
		}
		value := o.Value
		if o.Header == "x-ms-copy-source" {
			value = testHost + d.path("b")
		}
		if o.Header != "" {
			headers = append(headers, o.Header, value)
		}
		return d.signed(strings.Fields(o.Method)[0], path, "", headers...)
	}
	var deletion operation
	for _, o := range operations {
		key := strings.Fields(o.Method)[0] + " " + orElse(prefixed("comp=", o.Comp), "/")
		status, ok := allowed[key]
		switch {
		case o.Level != atBlob || o.Restype != "":
		case o.Name == "Delete Blob":
			deletion = o
		case ok && o.Header == "":
			if r := ask(o); r.status != status {
				t.Errorf("%s of a snapshot = %d %s, want %d", o.Name, r.status, r.code(), status)
			}
		default:
			wantReply(t, o.Name+" of a snapshot", ask(o), 400, "InvalidQueryParameterValue")
		}
	}
	d.wantContent(d.at("b", id), "content")
	d.wantContent(d.blob("b"), "content")
	wantReply(t, "Delete Blob", ask(deletion), 202, "")
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
	d := newDesk(t)
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
	d := newDesk(t)
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
	if err := d.lineage("b").wantRestored(id); err != nil {
		t.Error(err)
	}
}

// listed shows a listing with snapshots: "name@snapshot" or "name".
func (d desk) listed(max int32, o container.ListBlobsFlatOptions) []string {
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
	d := newDesk(t)
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
