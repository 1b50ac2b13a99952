package azureapi_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

var snapshotID = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$`)

// TestSnapshotAnswer: 201, an id with 100 ns, the ETag and the time of the base.
func TestSnapshotAnswer(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "x", nil)
	base := d.properties(d.blob("b"))
	last := ""
	for range 3 {
		r, err := d.blob("b").CreateSnapshot(t.Context(), nil)
		if err != nil {
			t.Fatalf("CreateSnapshot = %v", err)
		}
		id := value(r.Snapshot)
		if !snapshotID.MatchString(id) || id <= last {
			t.Errorf("the id is %q after %q", id, last)
		}
		if value(r.ETag) != value(base.ETag) || !value(r.LastModified).Equal(value(base.LastModified)) {
			t.Errorf("ETag %s, time %v, want the base's %s, %v", value(r.ETag), value(r.LastModified), value(base.ETag), value(base.LastModified))
		}
		last = id
	}
	if raw := d.signed("PUT", d.path("b")+"?comp=snapshot", ""); raw.status != 201 || raw.header.Get("X-Ms-Snapshot") <= last {
		t.Errorf("PUT comp=snapshot = %d %v", raw.status, raw.header)
	}
	if got := value(d.properties(d.blob("b")).ETag); got != value(base.ETag) {
		t.Errorf("a snapshot changed the base's ETag from %s to %s", value(base.ETag), got)
	}
	_, err := d.blob("none").CreateSnapshot(t.Context(), nil)
	wantCode(t, "CreateSnapshot of nothing", err, "BlobNotFound")
}

// TestSnapshotCopiesEverything: content, committed blocks, headers, MD5,
// metadata and tags.
func TestSnapshotCopiesEverything(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.stage("b", blockID(1), "one")
	d.stage("b", blockID(2), "two")
	_, err := d.block("b").CommitBlockList(t.Context(), []string{blockID(1), blockID(2)}, &blockblob.CommitBlockListOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("a/b"), BlobContentMD5: md5Of("onetwo"), BlobCacheControl: to.Ptr("no-store")},
		Metadata:    texts(map[string]string{"k": "v"}), Tags: map[string]string{"a": "b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := d.at("b", d.snapshot("b"))
	d.upload("b", "another", nil)
	d.wantContent(at, "onetwo")
	p := d.properties(at)
	got := []string{value(p.ContentType), value(p.CacheControl), string(p.ContentMD5), value(p.Metadata["K"])}
	wantSame(t, "properties", got, []string{"a/b", "no-store", string(md5Of("onetwo")), "v"})
	wantSame(t, "tags", d.tags(at), map[string]string{"a": "b"})
	blocks := d.signed("GET", strings.TrimPrefix(at.URL(), testHost)+"&comp=blocklist&blocklisttype=all", "")
	if !strings.Contains(blocks.body, "<Name>"+blockID(1)+"</Name><Size>3</Size>") || !strings.Contains(blocks.body, "<Name>"+blockID(2)+"</Name>") {
		t.Errorf("the snapshot's blocks: %s", blocks.body)
	}
}

// TestSnapshotMetadataReplaces: metadata that comes along takes the place of the
// base's, all of it.
func TestSnapshotMetadataReplaces(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "x", &blockblob.UploadOptions{Metadata: texts(map[string]string{"old": "1", "both": "1"})})
	r, err := d.blob("b").CreateSnapshot(t.Context(), &blob.CreateSnapshotOptions{Metadata: texts(map[string]string{"both": "2"})})
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "the snapshot's", plain(d.properties(d.at("b", value(r.Snapshot))).Metadata), map[string]string{"Both": "2"})
	wantSame(t, "the base's", plain(d.properties(d.blob("b")).Metadata), map[string]string{"Old": "1", "Both": "1"})
}

// TestSnapshotHasNoLeaseAndNoUncommittedBlocks of its base.
func TestSnapshotHasNoLeaseAndNoUncommittedBlocks(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "x", nil)
	d.stage("b", blockID(1), "staged")
	holder, err := lease.NewBlobClient(d.blob("b"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.AcquireLease(t.Context(), -1, nil); err != nil {
		t.Fatal(err)
	}
	id := d.snapshot("b") // without the lease's id: it changes nothing
	p := d.properties(d.at("b", id))
	if p.LeaseState != nil || p.LeaseStatus != nil || p.LeaseDuration != nil {
		t.Errorf("the snapshot shows a lease: %v %v", value(p.LeaseState), value(p.LeaseStatus))
	}
	if blocks := d.signed("GET", d.path("b")+"?comp=blocklist&blocklisttype=all&snapshot="+id, ""); strings.Contains(blocks.body, blockID(1)) {
		t.Errorf("the snapshot has uncommitted blocks: %s", blocks.body)
	}
	if _, err := d.at("b", id).Delete(t.Context(), nil); err != nil {
		t.Errorf("Delete of a snapshot, without the id = %v", err)
	}
}

// TestSnapshotNeverChanges: overwriting, appending and writing pages leave
// snapshots as they were.
func TestSnapshotNeverChanges(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("block", "before", nil)
	if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.appendBlob("append").AppendBlock(t.Context(), bodyOf("before"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.page("page").Create(t.Context(), 1024, nil); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "UploadPages", d.writePages("page", 0, pages("a", 2), nil), "")
	ids := map[string]string{}
	for _, name := range []string{"block", "append", "page"} {
		ids[name] = d.snapshot(name)
	}
	d.upload("block", "after", nil)
	_, err := d.appendBlob("append").AppendBlock(t.Context(), bodyOf(" and after"), nil)
	wantCode(t, "AppendBlock", err, "")
	wantCode(t, "UploadPages", d.writePages("page", 1, pages("b", 1), nil), "")
	_, err = d.blob("block").SetMetadata(t.Context(), texts(map[string]string{"k": "v"}), nil)
	wantCode(t, "SetMetadata", err, "")

	d.wantContent(d.at("block", ids["block"]), "before")
	d.wantContent(d.at("append", ids["append"]), "before")
	d.wantContent(d.at("page", ids["page"]), pages("a", 2))
	d.wantContent(d.blob("block"), "after")
	d.wantContent(d.blob("append"), "before and after")
	d.wantContent(d.blob("page"), pages("a", 1)+pages("b", 1))
	if p := d.properties(d.at("block", ids["block"])); len(p.Metadata) != 0 {
		t.Errorf("the snapshot's metadata changed: %v", plain(p.Metadata))
	}
}
