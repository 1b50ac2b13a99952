package azureapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold/azure/catalog"
)

// strange are names that URLs, XML or file systems have trouble with.
var strange = []string{
	"a", "a b", "a//b", "a/../b", "./a", "../../etc/passwd", "/", "//", "a/", "%41", "a%2Fb", "a+b", "a?b#c", "a&b;c", `a\b`,
	"<a>&amp;\"'", " a ", "☃", "é", "e\u0301", "\U0001F600", "a\tb", "a\nb", "a\rb", "a\x01b", "a\x7fb", "\uFFFD", "\uFFFE", "~sha256-a",
	strings.Repeat("x", 1024), strings.Repeat("☃", 1024),
}

func TestListBlobs(t *testing.T) {
	d := newDeployment(t)
	client := d.container("box")
	for _, name := range strange {
		d.put("box", name, name)
	}
	want := slices.Sorted(slices.Values(strange))
	for _, max := range []int32{1, 7, 5000} {
		var names []string
		pager := client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{MaxResults: &max})
		for pager.More() {
			page, err := pager.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := len(page.Segment.BlobItems); n > int(max) {
				t.Errorf("a page has %d blobs, want at most %d", n, max)
			}
			for _, b := range page.Segment.BlobItems {
				names = append(names, *b.Name)
			}
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("names, %d at a time (-want +got):\n%s", max, diff)
		}
	}
	// Each is found again under its name as the SDK sends it.
	for _, name := range strange {
		p, err := client.NewBlobClient(name).GetProperties(t.Context(), nil)
		if err != nil || *p.ContentLength != int64(len(name)) {
			t.Errorf("GetProperties(%.20q) = %d bytes, %v, want %d", name, value(p.ContentLength), err, len(name))
		}
	}
}

func TestListHierarchy(t *testing.T) {
	d := newDeployment(t)
	client := d.container("box")
	for _, name := range strings.Fields("a a/1 a/2 a/b/1 b c/1 c/2 d") {
		d.put("box", name, "")
	}
	d.put("box", "\x01/x", "")
	if _, err := d.catalog.PutEmpty(t.Context(), testRef("box", "e"), catalog.Append, 0, 0, catalog.New{}, catalog.Access{}); err != nil { // it has no MD5
		t.Fatal(err)
	}
	list := func(prefix string, max int32) (found []string) {
		t.Helper()
		pager := client.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: &prefix, MaxResults: &max})
		for pager.More() {
			page, err := pager.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := len(page.Segment.BlobItems) + len(page.Segment.BlobPrefixes); n > int(max) {
				t.Errorf("a page has %d entries, want at most %d", n, max)
			}
			for _, p := range page.Segment.BlobPrefixes {
				found = append(found, *p.Name)
			}
			for _, b := range page.Segment.BlobItems {
				found = append(found, *b.Name)
			}
		}
		slices.Sort(found)
		return found
	}
	for _, max := range []int32{1, 2, 5000} {
		if diff := cmp.Diff([]string{"\x01/", "a", "a/", "b", "c/", "d", "e"}, list("", max)); diff != "" {
			t.Errorf("the top (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"a/1", "a/2", "a/b/"}, list("a/", max)); diff != "" {
			t.Errorf("below a/ (-want +got):\n%s", diff)
		}
	}
}

// TestListShows: an entry has what the blob's own headers say.
func TestListShows(t *testing.T) {
	d := newDeployment(t)
	client := d.container("box")
	ref := testRef("box", "a")
	made, err := d.catalog.PutBlob(t.Context(), ref, catalog.New{
		Headers:  catalog.Headers{ContentType: "text/plain", ContentEncoding: "gzip", ContentLanguage: "de", ContentDisposition: `attachment; filename="a<b"`, CacheControl: "no-store"},
		Metadata: map[string]string{"color": "red & <blue>"}, Tags: map[string]string{"x": "y"}, Tier: "Cool",
	}, d.catalog.Accept([]byte("content")), catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := d.catalog.Snapshot(t.Context(), ref, nil, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.catalog.Snapshot(t.Context(), ref, map[string]string{"color": "green"}, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	(&rawLease{d, ref, "/" + testAccount + "/box/a?comp=lease", d.signed}).try("acquire A for ever")
	page, err := client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Include: container.ListBlobsInclude{Snapshots: true, Metadata: true, Tags: true, Copy: true, Deleted: true, Versions: true}}).NextPage(t.Context())
	if err != nil || len(page.Segment.BlobItems) != 3 {
		t.Fatalf("list = %+v, %v, want three entries", page.Segment, err)
	}
	items := page.Segment.BlobItems
	if value(items[0].Snapshot) != first.Snapshot.String() || value(items[1].Snapshot) != second.Snapshot.String() || items[2].Snapshot != nil {
		t.Errorf("snapshots = %q, %q, %q; want the older, the newer, the base", value(items[0].Snapshot), value(items[1].Snapshot), value(items[2].Snapshot))
	}
	if got := []string{*items[0].Metadata["color"], *items[1].Metadata["color"], *items[2].Metadata["color"]}; !slices.Equal(got, []string{"red & <blue>", "green", "red & <blue>"}) {
		t.Errorf("metadata = %q", got)
	}
	p := items[2].Properties
	got := fmt.Sprintln(*p.ContentType, *p.ContentEncoding, *p.ContentLanguage, *p.ContentDisposition, *p.CacheControl, *p.ContentLength, *p.BlobType, *p.AccessTier, *p.LeaseState, *p.LeaseStatus, *p.LeaseDuration, *p.TagCount, *p.ServerEncrypted)
	if want := `text/plain gzip de attachment; filename="a<b" no-store 7 BlockBlob Cool leased locked infinite 1 true` + "\n"; got != want {
		t.Errorf("properties = %s, want %s", got, want)
	}
	if string(*p.ETag) != strings.Trim(made.ETag(), `"`) || string(p.ContentMD5) != string(made.ContentMD5) || p.CreationTime == nil {
		t.Errorf("ETag %s, MD5 %x, created %v; want %s, %x", *p.ETag, p.ContentMD5, p.CreationTime, made.ETag(), made.ContentMD5)
	}
	if tags := items[2].BlobTags; tags == nil || len(tags.BlobTagSet) != 1 || *tags.BlobTagSet[0].Value != "y" {
		t.Errorf("tags = %+v", tags)
	}
	if items[0].Properties.LeaseState != nil {
		t.Errorf("a snapshot has the lease state %s", *items[0].Properties.LeaseState)
	}
	bare, err := client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: to.Ptr("a")}).NextPage(t.Context())
	if err != nil || len(bare.Segment.BlobItems) != 1 || bare.Segment.BlobItems[0].Metadata != nil || bare.Segment.BlobItems[0].BlobTags != nil {
		t.Errorf("a bare list = %+v, %v", bare.Segment, err)
	}
	// The main port has the base first.
	r := d.send("GET", "/blob/"+testAccount+"/box?restype=container&comp=list&include=snapshots", "")
	base, snapshot := strings.Index(r.body, "<Blob><Name>a</Name><Properties>"), strings.Index(r.body, "<Snapshot>"+first.Snapshot.String())
	if base < 0 || snapshot < 0 || base > snapshot {
		t.Errorf("the plain list has the base at %d, the snapshot at %d: %s", base, snapshot, r.body)
	}
}
