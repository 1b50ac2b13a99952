package blob

import (
	"encoding/xml"
	"strings"
	"testing"
)

// TestDialectOrphans: on the main port a base goes alone. Its snapshots stay,
// at both doors, and belong to a new base of that name.
func TestDialectOrphans(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
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
	wantSame(t, "listed by Azure's door", d.order(d.signed, ""), []string{"b@" + one, "b@" + two})
	wantSame(t, "listed on the main port", d.order(d.send, "/blob"), []string{"b@" + one, "b@" + two})
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
	wantSame(t, "Azure's order", d.order(d.signed, ""), []string{"b@" + two, "b@" + three, "b"})
	wantSame(t, "the dialect's order", d.order(d.send, "/blob"), []string{"b", "b@" + two, "b@" + three})
	wantReply(t, "Azure refuses", d.signed("DELETE", d.path("b"), ""), 409, "SnapshotsPresent")
	wantReply(t, "deleting all", d.send("DELETE", "/blob"+d.path("b"), "", "x-ms-delete-snapshots", "include"), 202, "")
	wantSame(t, "nothing left", d.order(d.signed, ""), []string(nil))
	wantReply(t, "deleting nothing", d.send("DELETE", "/blob"+d.path("b"), ""), 404, "BlobNotFound")
}

// order lists blobs and snapshots.
func (d desk) order(send func(method, path, body string, headers ...string) reply, prefix string) []string {
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

// TestDialectSnapshotIDs: ids with six fractional digits are understood.
func TestDialectSnapshotIDs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
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
