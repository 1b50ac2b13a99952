package azureapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/catalog"
)

// TestLeaseRefusals: what cannot be read is refused by name, and nothing is
// leased.
func TestLeaseRefusals(t *testing.T) {
	d := newDeployment(t)
	d.ensure("blobs")
	d.put("blobs", "a", "content")
	snapshot, err := d.catalog.Snapshot(t.Context(), testRef("blobs", "a"), nil, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	const blob, container = "/blobs/a?comp=lease", "/blobs?restype=container&comp=lease"
	const action, duration, id, proposed, period = "x-ms-lease-action", "x-ms-lease-duration", "x-ms-lease-id", "x-ms-proposed-lease-id", "x-ms-lease-break-period"
	a := leaseIDs["A"]
	for _, test := range []struct {
		path    string
		want    string
		headers []string
	}{
		{blob, "400 MissingRequiredHeader", []string{action, "acquire"}},
		{container, "400 MissingRequiredHeader", []string{action, "acquire"}},
		{blob, "400 InvalidHeaderValue", []string{action, "acquire", duration, "14"}},
		{blob, "400 InvalidHeaderValue", []string{action, "acquire", duration, "61"}},
		{blob, "400 InvalidHeaderValue", []string{action, "acquire", duration, "0"}},
		{blob, "400 InvalidHeaderValue", []string{action, "acquire", duration, "-2"}},
		{blob, "400 InvalidHeaderValue", []string{action, "acquire", duration, "15.5"}},
		{blob, "400 InvalidHeaderValue", []string{action, "acquire", duration, "99999999999999999999"}},
		{blob, "400 InvalidHeaderValue", []string{action, "acquire", duration, "15", proposed, "not a guid"}},
		{container, "400 InvalidHeaderValue", []string{action, "acquire", duration, "15", proposed, a[:35]}},
		{blob, "400 MissingRequiredHeader", []string{action, "renew"}},
		{blob, "400 InvalidHeaderValue", []string{action, "renew", id, "1"}},
		{blob, "400 MissingRequiredHeader", []string{action, "release"}},
		{blob, "400 InvalidHeaderValue", []string{action, "release", id, a + "0"}},
		{blob, "400 MissingRequiredHeader", []string{action, "change", id, a}},
		{blob, "400 MissingRequiredHeader", []string{action, "change", proposed, a}},
		{blob, "400 InvalidHeaderValue", []string{action, "break", period, "61"}},
		{blob, "400 InvalidHeaderValue", []string{action, "break", period, "-1"}},
		{container, "400 InvalidHeaderValue", []string{action, "break", period, "soon"}},
		{blob, "400 InvalidHeaderValue", []string{action, "steal"}},
		{blob, "400 MissingRequiredHeader", nil},
		{blob + "&snapshot=" + snapshot.Snapshot.String(), "400 InvalidQueryParameterValue", []string{action, "acquire", duration, "15"}},
		{"/blobs/missing?comp=lease", "404 BlobNotFound", []string{action, "acquire", duration, "15"}},
		{"/missing/a?comp=lease", "404 ContainerNotFound", []string{action, "acquire", duration, "15"}},
		{"/missing?restype=container&comp=lease", "404 ContainerNotFound", []string{action, "acquire", duration, "15"}},
		{blob, "412 ConditionNotMet", []string{action, "acquire", duration, "15", "If-Match", `"0x1"`}},
		{blob, "412 ConditionNotMet", []string{action, "acquire", duration, "15", "If-Unmodified-Since", "Mon, 02 Jan 2006 15:04:05 GMT"}},
		{blob, "412 ConditionNotMet", []string{action, "acquire", duration, "15", "If-None-Match", "*"}},
		{blob, "400 InvalidHeaderValue", []string{action, "acquire", duration, "15", "If-Modified-Since", "yesterday"}},
	} {
		r := d.signed("PUT", "/"+testAccount+test.path, "", test.headers...)
		if got := statusAndCode(r); got != test.want {
			t.Errorf("PUT %s %q = %s, want %s", test.path, test.headers, got, test.want)
		}
		if strings.Contains(strings.ToLower(r.body), a) {
			t.Errorf("PUT %s %q tells the id: %s", test.path, test.headers, r.body)
		}
	}
	page, err := d.store.List(t.Context(), leasehold.ListRequest{})
	if err != nil || len(page.Leases) != 0 {
		t.Errorf("List = %v, %v, want no lease", page.Leases, err)
	}
}

// TestLeaseTouchesNothing: lease operations change neither ETag nor time.
func TestLeaseTouchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeployment(t)
		d.ensure("blobs")
		item := d.put("blobs", "a", "content")
		for _, o := range []string{"acquire A", "renew A", "change A to B", "break 10", "release B"} {
			time.Sleep(2 * time.Second)
			r := d.signed("PUT", "/"+testAccount+"/blobs/a?comp=lease", "", parseOperation(o).headers()...)
			if r.status >= 300 || r.header.Get("ETag") != item.ETag() || r.header.Get("Last-Modified") != item.Ticks.Time().Format(http.TimeFormat) {
				t.Errorf("%s = %d, %s, %s, want %s and %s", o, r.status, r.header.Get("ETag"), r.header.Get("Last-Modified"), item.ETag(), item.Ticks.Time().Format(http.TimeFormat))
			}
		}
	})
}

// TestBreakRoundsUp: a client that waits x-ms-lease-time seconds has waited enough.
func TestBreakRoundsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeployment(t)
		thing := sdkBlob(d, "a")
		thing.try("acquire A for 15")
		time.Sleep(3*time.Second + time.Millisecond)
		if _, _, _, seconds := thing.try("break, no period"); seconds != 12 {
			t.Errorf("break with 11.999 s left: x-ms-lease-time = %d, want 12", seconds)
		}
		time.Sleep(12 * time.Second)
		if got := thing.state(); got != "broken" {
			t.Errorf("after that time the lease is %s, want broken", got)
		}
	})
}

// TestRenewAfterWrite: an expired lease comes back only if nobody wrote since.
func TestRenewAfterWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeployment(t)
		thing := sdkBlob(d, "a")
		enterState(t, thing, "expired(A)")
		d.put("blobs", "a", "somebody else's")
		if status, code, _, _ := thing.try("renew A"); status != 409 || code != "LeaseIdMismatchWithLeaseOperation" {
			t.Errorf("renew after a write = %d %s, want 409 LeaseIdMismatchWithLeaseOperation", status, code)
		}
		box := sdkContainer(d, "box")
		enterState(t, box, "expired(A)")
		if _, err := d.service().NewContainerClient("box").SetMetadata(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if status, code, _, _ := box.try("renew A"); status != 200 {
			t.Errorf("renew of a container that was written to = %d %s, want 200", status, code)
		}
	})
}

// TestLeaseIsOrdinary: it is a lease like any other to the rest of the system.
func TestLeaseIsOrdinary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeployment(t)
		thing := sdkBlob(d, "a/b")
		enterState(t, thing, "expired(A)")
		if status, _, _, _ := thing.try("renew A"); status != 200 {
			t.Fatalf("renew = %d, want 200", status)
		}
		resource := "blob:" + testAccount + "/blobs/a/b"
		page, err := d.store.History(t.Context(), leasehold.HistoryRequest{Resource: resource})
		if err != nil || len(page.Records) != 3 {
			t.Fatalf("History = %d records, %v; want acquired, expired, acquired", len(page.Records), err)
		}
		newest, oldest := page.Records[0], page.Records[2]
		if newest.Kind != leasehold.KindAcquired || newest.Details["revived"] != "true" || newest.Holder != "azure:"+testAccount || newest.Token <= oldest.Token {
			t.Errorf("newest record = %+v, want a revived grant with a new token", newest)
		}
		if oldest.Details["caller"] != "127.0.0.1" {
			t.Errorf("oldest record = %+v, want the caller's address", oldest)
		}
		if n, err := d.store.ReleaseHolder(t.Context(), "azure:"+testAccount, "maintenance"); err != nil || n != 1 {
			t.Errorf("ReleaseHolder = %d, %v, want 1", n, err)
		}
		if got := thing.state(); got != "available" {
			t.Errorf("after an operator released it, the lease is %s, want available", got)
		}
	})
}

func statusAndCode(r reply) string {
	return strings.TrimSpace(strconv.Itoa(r.status) + " " + r.code())
}

// TestTooManyBlobLeases: blob leases count among all leases; one too many is
// Azure's word for a server that can take no more.
func TestTooManyBlobLeases(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("a", "x", nil)
	d.upload("b", "x", nil)
	if _, err := d.store.SetSetting(t.Context(), leasehold.SettingMaxLeases, 1); err != nil {
		t.Fatal(err)
	}
	lease := func(name string) reply {
		t.Helper()
		return d.signed("PUT", d.path(name)+"?comp=lease", "", "x-ms-lease-action", "acquire", "x-ms-lease-duration", "60")
	}
	wantReply(t, "the first lease", lease("a"), 201, "")
	wantReply(t, "the second lease", lease("b"), 503, "ServerBusy")
	wantReply(t, "a lease that is in the way", lease("a"), 409, "LeaseAlreadyPresent")
}
