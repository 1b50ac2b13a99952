package azureapi_test

import (
	"encoding/xml"
	"strings"
	"testing"
)

// TestPlainDeleteKeepsSnapshots: on the main port a base goes alone. Its snapshots stay,
// in both APIs, and belong to a new base of that name.
func TestPlainDeleteKeepsSnapshots(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "first", nil)
	one, two := d.snapshot("b"), d.snapshot("b")
	wantReply(t, "deleting a base", d.send("DELETE", "/blob"+d.path("b"), ""), 202, "")
	d.wantGone(d.blob("b"))
	for _, id := range []string{one, two} {
		d.wantContent(d.at("b", id), "first")
		if r := d.send("GET", "/blob"+d.path("b")+"?snapshot="+id, ""); r.body != "first" {
			t.Errorf("the snapshot on the main port = %d %s", r.status, r.body)
		}
	}
	wantSame(t, "listed by Azure's API", d.listWith(d.signed, ""), []string{"b@" + one, "b@" + two})
	wantSame(t, "listed on the main port", d.listWith(d.send, "/blob"), []string{"b@" + one, "b@" + two})
	if l := d.lineage("b"); l.Base != nil || len(l.Snapshots) != 2 {
		t.Errorf("lineage = %+v, want no base and two snapshots", l)
	}

	wantReply(t, "deleting an orphan", d.send("DELETE", "/blob"+d.path("b")+"?snapshot="+one, ""), 202, "")
	d.wantGone(d.at("b", one))
	d.upload("b", "second", nil)
	three := d.snapshot("b")
	if three <= two {
		t.Errorf("the new base's snapshot %s is not after %s", three, two)
	}
	wantSame(t, "Azure's order", d.listWith(d.signed, ""), []string{"b@" + two, "b@" + three, "b"})
	wantSame(t, "the order of the plain API", d.listWith(d.send, "/blob"), []string{"b", "b@" + two, "b@" + three})
	wantReply(t, "Azure refuses", d.signed("DELETE", d.path("b"), ""), 409, "SnapshotsPresent")
	wantReply(t, "deleting all", d.send("DELETE", "/blob"+d.path("b"), "", "x-ms-delete-snapshots", "include"), 202, "")
	wantSame(t, "nothing left", d.listWith(d.signed, ""), []string(nil))
	wantReply(t, "deleting nothing", d.send("DELETE", "/blob"+d.path("b"), ""), 404, "BlobNotFound")
}

// listWith lists blobs and snapshots.
func (d driver) listWith(send func(method, path, body string, headers ...string) reply, prefix string) []string {
	d.Helper()
	r := send("GET", prefix+"/"+testAccount+"/box?restype=container&comp=list&include=snapshots", "")
	var list struct {
		Blobs []struct{ Name, Snapshot string } `xml:"Blobs>Blob"`
	}
	if err := xml.Unmarshal([]byte(r.body), &list); err != nil {
		d.Fatalf("the list is %d %s: %v", r.status, r.body, err)
	}
	var names []string
	for _, b := range list.Blobs {
		names = append(names, b.Name+prefixed("@", b.Snapshot))
	}
	return names
}

// TestPlainSnapshotIDs: ids with six fractional digits are understood.
func TestPlainSnapshotIDs(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "x", nil)
	for range 1000 {
		id := d.snapshot("b")
		short, even := strings.CutSuffix(id, "0Z")
		if !even {
			continue
		}
		if r := d.send("GET", "/blob"+d.path("b")+"?snapshot="+short+"Z", ""); r.body != "x" {
			t.Errorf("GET with six digits = %d %s", r.status, r.body)
		}
		if r := d.send("DELETE", "/blob"+d.path("b")+"?snapshot="+short+"Z", ""); r.status != 202 {
			t.Errorf("DELETE with six digits = %d %s", r.status, r.body)
		}
		d.wantGone(d.at("b", id))
		return
	}
	t.Error("of a thousand ids none ends in zero")
}

// TestPlainShortForms: the calls of LocalZure's own documents, as they stand
// there.
func TestPlainShortForms(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	const box = "/blob/anyaccount/box"
	acquire := []string{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "-1", "x-ms-proposed-lease-id", leaseIDs["A"]}
	wantReply(t, "a container of any account", d.send("PUT", box+"?restype=container", ""), 201, "")
	wantReply(t, "Put Blob without a type", d.send("PUT", box+"/b", "text", "Content-Type", "text/plain"), 201, "")
	got := d.send("GET", box+"/b", "")
	if h := got.header; got.body != "text" || h.Get("X-Ms-Blob-Type") != "BlockBlob" || h.Get("Content-Type") != "text/plain" {
		t.Errorf("GET = %d %q, %v", got.status, got.body, h)
	}
	wantReply(t, "the container's lease without restype", d.send("PUT", box+"?comp=lease", "", acquire...), 201, "")
	wantReply(t, "deleting the container without its lease", d.send("DELETE", box+"?restype=container", ""), 412, "LeaseIdMissing")
	if h := d.send("GET", box+"?restype=container", "").header; h.Get("X-Ms-Lease-State") != "leased" {
		t.Errorf("the container's lease state is %q, want leased", h.Get("X-Ms-Lease-State"))
	}
	if h := d.send("HEAD", box+"/b", "").header; h.Get("X-Ms-Lease-State") != "available" {
		t.Errorf("the blob's lease state is %q, want available", h.Get("X-Ms-Lease-State"))
	}
	wantReply(t, "breaking it", d.send("PUT", box+"?comp=lease", "", "x-ms-lease-action", "break", "x-ms-lease-break-period", "0"), 202, "")

	id := d.send("PUT", box+"/b?comp=snapshot", "").header.Get("X-Ms-Snapshot")
	for _, method := range []string{"GET", "HEAD"} {
		if got := d.send(method, box+"/b?snapshot="+id, "").header.Get("X-Ms-Snapshot"); got != id || id == "" {
			t.Errorf("%s of the snapshot %q has x-ms-snapshot %q", method, id, got)
		}
	}

	wantReply(t, "another type", d.send("PUT", box+"/a", "", "x-ms-blob-type", "AppendBlob"), 201, "")
	wantReply(t, "what is no type", d.send("PUT", box+"/c", "", "x-ms-blob-type", "Blob"), 400, "InvalidHeaderValue")
	wantReply(t, "no copy without a type", d.send("PUT", box+"/d", "", "x-ms-copy-source", testHost+box+"/b"), 202, "")
	lost := d.send("PUT", "/blob/anyaccount/container", "")
	wantReply(t, "a container without restype", lost, 404, "ContainerNotFound")
	if !strings.Contains(lost.body, "restype=container") {
		t.Errorf("the refusal does not say what is missing: %s", lost.body)
	}
	wantReply(t, "what is no account", d.send("GET", "/blob/No-Account?comp=list", ""), 404, "ResourceNotFound")

	wantReply(t, "Azure's API: no type", d.signed("PUT", "/"+testAccount+"/box/b", "x"), 400, "MissingRequiredHeader")
	wantReply(t, "Azure's API: no restype", d.signed("PUT", "/"+testAccount+"/box?comp=lease", "", acquire...), 404, "ContainerNotFound")
	wantReply(t, "Azure's API: any account", d.signed("GET", "/anyaccount?comp=list", ""), 404, "ResourceNotFound")
}

// TestPlainRoot: a blob in the root container is leased by its full name.
func TestPlainRoot(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.ensure("$root")
	const root = "/blob/" + testAccount
	wantReply(t, "Put Blob of a lone name", d.send("PUT", root+"/b", "x"), 201, "")
	lease := func(path string) reply {
		return d.send("PUT", root+path+"?comp=lease", "", "x-ms-lease-action", "acquire", "x-ms-lease-duration", "-1")
	}
	wantReply(t, "its lease", lease("/$root/b"), 201, "")
	wantReply(t, "again", lease("/$root/b"), 409, "LeaseAlreadyPresent")
	wantReply(t, "the container's own", lease("/$root"), 201, "")
	wantReply(t, "a container of that name", lease("/bbb"), 404, "ContainerNotFound")
}
