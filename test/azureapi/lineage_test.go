package azureapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold/azure/server"
)

// lineage reads one.
func (d driver) lineage(name string) server.Lineage {
	d.Helper()
	r := d.signed("GET", d.path(name)+"?comp=lineage", "")
	var l server.Lineage
	if err := json.Unmarshal([]byte(r.body), &l); err != nil || r.status != 200 || r.header.Get("Content-Type") != "application/json" {
		d.Fatalf("lineage of %s = %d %s", name, r.status, r.body)
	}
	return l
}

func wantRestored(l server.Lineage, from string) error {
	if l.Base == nil || l.Base.RestoredFrom != from {
		return fmt.Errorf("the lineage %+v is not restored from %s", l.Base, from)
	}
	return nil
}

// TestLineage: where snapshots come from, and what they cost.
func TestLineage(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	big := make([]byte, 100_000)
	first := d.upload("b", string(big), nil)
	one := d.snapshot("b")
	shared := d.lineage("b")
	if shared.Base.Own != 0 || shared.Snapshots[0].Own != 0 {
		t.Errorf("a fresh snapshot and its base have %d and %d bytes of their own, want none", shared.Snapshots[0].Own, shared.Base.Own)
	}
	second := d.upload("b", "small", nil)
	two := d.snapshot("b")
	l := d.lineage("b")
	type row struct {
		id, etag, of string
		size, own    int64
	}
	var got []row
	for _, e := range append(l.Snapshots, *l.Base) {
		got = append(got, row{e.Snapshot, e.ETag, e.Of, e.Size, e.Own})
	}
	want := []row{
		{one, string(first), string(first), 100_000, 100_000},
		{two, string(second), string(second), 5, 0},
		{"", string(second), "", 5, 0},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || l.Blob != "b" {
		t.Errorf("lineage = %+v, want %+v", got, want)
	}
	wantReply(t, "the lineage of nothing", d.signed("GET", d.path("none")+"?comp=lineage", ""), 404, "BlobNotFound")
	wantReply(t, "the lineage of a snapshot", d.signed("GET", d.path("b")+"?comp=lineage&snapshot="+one, ""), 400, "InvalidQueryParameterValue")
}

// TestSnapshotExpires: a snapshot that was given a time goes by itself; its base
// and the others stay.
func TestSnapshotExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t)
		d.upload("b", "x", nil)
		ids := []string{d.snapshot("b"), d.snapshot("b"), d.snapshot("b"), d.snapshot("b")}
		set := func(id string, headers ...string) reply {
			return d.signed("PUT", d.path("b")+"?comp=expiry&snapshot="+id, "", headers...)
		}
		in := time.Now().Add(time.Hour).UTC()
		wantReply(t, "relative", set(ids[0], "x-ms-expiry-option", "RelativeToNow", "x-ms-expiry-time", "60000"), 200, "")
		wantReply(t, "absolute", set(ids[1], "x-ms-expiry-option", "Absolute", "x-ms-expiry-time", in.Format(http.TimeFormat)), 200, "")
		wantReply(t, "relative", set(ids[2], "x-ms-expiry-option", "RelativeToNow", "x-ms-expiry-time", "60000"), 200, "")
		wantReply(t, "never", set(ids[2], "x-ms-expiry-option", "NeverExpire"), 200, "")
		if l := d.lineage("b"); l.Snapshots[0].Expires == nil || l.Snapshots[1].Expires.Sub(in).Abs() > time.Second || l.Snapshots[2].Expires != nil {
			t.Errorf("the lineage tells %+v", l.Snapshots)
		}
		wantThere := func(there ...bool) {
			t.Helper()
			for i, id := range ids {
				if r := d.signed("HEAD", d.path("b")+"?snapshot="+id, ""); (r.status == 200) != there[i] {
					t.Errorf("snapshot %d = %d, want it to be there: %v", i, r.status, there[i])
				}
			}
		}
		time.Sleep(59 * time.Second)
		wantThere(true, true, true, true)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantThere(false, true, true, true)
		time.Sleep(time.Hour)
		synctest.Wait()
		wantThere(false, false, true, true)
		d.wantContent(d.blob("b"), "x")
	})
}

func TestExpiryRefusals(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "x", nil)
	id := d.snapshot("b")
	tests := []struct {
		name, query string
		headers     []string
		status      int
		code        string
	}{
		{"a base", "", []string{"x-ms-expiry-option", "NeverExpire"}, 501, "NotImplemented"},
		{"no option", "&snapshot=" + id, nil, 400, "MissingRequiredHeader"},
		{"another option", "&snapshot=" + id, []string{"x-ms-expiry-option", "Sometime"}, 400, "InvalidHeaderValue"},
		{"no time", "&snapshot=" + id, []string{"x-ms-expiry-option", "RelativeToNow"}, 400, "InvalidHeaderValue"},
		{"a negative time", "&snapshot=" + id, []string{"x-ms-expiry-option", "RelativeToNow", "x-ms-expiry-time", "-1"}, 400, "InvalidHeaderValue"},
		{"a time beyond all", "&snapshot=" + id, []string{"x-ms-expiry-option", "RelativeToNow", "x-ms-expiry-time", "9223372036854775807"}, 400, "InvalidHeaderValue"},
		{"the past", "&snapshot=" + id, []string{"x-ms-expiry-option", "Absolute", "x-ms-expiry-time", "Wed, 01 Jan 2020 00:00:00 GMT"}, 400, "InvalidHeaderValue"},
		{"a condition", "&snapshot=" + id, []string{"x-ms-expiry-option", "NeverExpire", "If-Match", "*"}, 400, "ConditionHeadersNotSupported"},
		{"nothing", "&snapshot=2020-01-01T00:00:00.0000000Z", []string{"x-ms-expiry-option", "NeverExpire"}, 404, "BlobNotFound"},
	}
	for _, tt := range tests {
		wantReply(t, tt.name, d.signed("PUT", d.path("b")+"?comp=expiry"+tt.query, "", tt.headers...), tt.status, tt.code)
	}
}
