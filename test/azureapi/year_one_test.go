package azureapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/leasehold/leasehold/azure/catalog"
)

// The first moment that ids and headers can name. Go's zero time is the same, so
// code that does not look takes it for "none".
const (
	firstSnapshot = "0001-01-01T00:00:00.0000000Z"
	firstDate     = "Mon, 01 Jan 0001 00:00:00 GMT"
)

// snapshotRequests are those that may name a snapshot, and others that must not.
var snapshotRequests = []conditioned{
	{name: "Get Blob", method: "GET"},
	{name: "Get Blob Properties", method: "HEAD"},
	{name: "Delete Blob", method: "DELETE"},
	{name: "Get Block List", method: "GET", query: "comp=blocklist"},
	{name: "Get Blob Metadata", method: "GET", query: "comp=metadata"},
	{name: "Get Blob Tags", method: "GET", query: "comp=tags"},
	{name: "Set Blob Tier", method: "PUT", query: "comp=tier", headers: []string{"x-ms-access-tier", "Cool"}},
	{name: "Set Blob Expiry", method: "PUT", query: "comp=expiry", headers: []string{"x-ms-expiry-option", "NeverExpire"}},
	{name: "Get Page Ranges", method: "GET", query: "comp=pagelist", kind: catalog.Page},
	{name: "Put Blob", method: "PUT", body: "new", headers: []string{"x-ms-blob-type", "BlockBlob"}, creates: true},
	{name: "Set Blob Metadata", method: "PUT", query: "comp=metadata", creates: true},
	{name: "Set Blob Tags", method: "PUT", query: "comp=tags", body: "<Tags><TagSet/></Tags>", creates: true},
	{name: "Snapshot Blob", method: "PUT", query: "comp=snapshot", creates: true},
	{name: "Put Block", method: "PUT", query: "comp=block&blockid=QUFB", body: "x", creates: true},
	{name: "Lease Blob", method: "PUT", query: "comp=lease", headers: []string{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "15"}, creates: true},
}

// TestSnapshotIsNeverTheBase: what names a snapshot in whatever way never reads
// or changes the blob itself.
func TestSnapshotIsNeverTheBase(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	const bad = "400 InvalidQueryParameterValue"
	for i, request := range snapshotRequests {
		name := "b" + string(rune('a'+i))
		before := d.tagged(name, request.kind)
		for query, want := range map[string]string{
			"snapshot=" + firstSnapshot:                          "404 BlobNotFound",
			"snapshot=0001-01-01T00:00:00.000000Z":               "404 BlobNotFound",
			"SnapShot=" + firstSnapshot:                          "404 BlobNotFound",
			"snapshot=9999-12-31T23:59:59.9999999Z":              "404 BlobNotFound",
			"snapshot=" + firstSnapshot + "&snapshot=":           bad,
			"snapshot=" + firstSnapshot + "&Snapshot=2026-01-01": bad,
			"snapshot=":                                            bad,
			"snapshot":                                             bad,
			"snapshot=0000-12-31T23:59:59.9999999Z":                bad,
			"snapshot=-001-01-01T00:00:00.0000000Z":                bad,
			"snapshot=10000-01-01T00:00:00.0000000Z":               bad,
			"versionid=" + firstSnapshot + "&" + "x=":              "501 NotImplemented",
			"versionid=&deletetype=":                               "501 NotImplemented",
			"snapshot=" + firstSnapshot + "&versionid=1&timeout=1": "501 NotImplemented",
		} {
			if request.creates && want == "404 BlobNotFound" || request.creates && strings.Contains(query, "snapshot=0001") {
				want = bad
			}
			for _, api := range []struct {
				path string
				send func(method, path, body string, headers ...string) reply
			}{{d.path(name), d.signed}, {"/blob" + d.path(name), d.send}} {
				r := api.send(request.method, api.path+"?"+request.query+"&"+query, request.body, request.headers...)
				if got := statusAndCode(r); got != want {
					t.Errorf("%s %s with %s = %s, want %s", request.name, api.path, query, got, want)
				}
			}
			after, err := d.catalog.Head(t.Context(), testRef("box", name), catalog.Access{})
			if err != nil || after.ETag() != before.ETag() || after.Tier != "" || after.Lease.State != "available" || len(after.Tags) != 1 {
				t.Fatalf("%s with %s changed the blob: %+v, %v", request.name, query, after, err)
			}
		}
	}
}

// openToReaders lets everybody read the blobs of the box, as the source of a copy
// must be.
func (d driver) openToReaders() {
	d.Helper()
	if r := d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=acl", "", "x-ms-blob-public-access", "blob"); r.status != http.StatusOK {
		d.Fatalf("opening the container = %s", statusAndCode(r))
	}
}

// TestSnapshotOfTheYearOneElsewhere: the other places that name a snapshot.
func TestSnapshotOfTheYearOneElsewhere(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.openToReaders()
	before := d.tagged("source", catalog.Block)
	d.tagged("pages", catalog.Page)
	d.tagged("log", catalog.Append)
	source := func(query string) []string {
		return []string{"x-ms-copy-source", testHost + d.path("source") + query}
	}
	for _, test := range []struct {
		method, path, want string
		headers            []string
	}{
		{"GET", d.path("pages") + "?comp=pagelist&prevsnapshot=" + firstSnapshot, "409 PreviousSnapshotNotFound", nil},
		{"GET", d.path("pages") + "?comp=pagelist&prevsnapshot=", "400 InvalidQueryParameterValue", nil},
		{"PUT", d.path("copy"), "404 BlobNotFound", source("?snapshot=" + firstSnapshot)},
		{"PUT", d.path("copy"), "400 InvalidHeaderValue", source("?snapshot=")},
		{"PUT", d.path("copy"), "400 InvalidHeaderValue", source("?snapshot=" + firstSnapshot + "&snapshot=" + firstSnapshot)},
		{"PUT", d.path("copy"), "501 NotImplemented", source("?versionid=" + firstSnapshot)},
		{"PUT", d.path("copy"), "404 CannotVerifyCopySource", append(source("?snapshot="+firstSnapshot), "x-ms-blob-type", "BlockBlob")},
		{"PUT", d.path("copy") + "?comp=block&blockid=QUFB", "404 CannotVerifyCopySource", source("?snapshot=" + firstSnapshot)},
		{"PUT", d.path("log") + "?comp=appendblock", "404 CannotVerifyCopySource", source("?snapshot=" + firstSnapshot)},
	} {
		if got := statusAndCode(d.signed(test.method, test.path, "", test.headers...)); got != test.want {
			t.Errorf("%s %s %q = %s, want %s", test.method, test.path, test.headers, got, test.want)
		}
	}
	const one = "DELETE /blob/" + testAccount + "/box/source?snapshot=" + firstSnapshot + " HTTP/1.1\r\n\r\n"
	if r := d.send("POST", "/blob/"+testAccount+"?comp=batch", parts(one), "Content-Type", batchType); !strings.Contains(r.body, "HTTP/1.1 404") {
		t.Errorf("a batch that deletes a snapshot of the year 1 = %d %s", r.status, r.body)
	}
	after, err := d.catalog.Head(t.Context(), testRef("box", "source"), catalog.Access{})
	if err != nil || after.ETag() != before.ETag() {
		t.Errorf("after all, the blob is %+v, %v", after, err)
	}
}

// TestDeleteSnapshotsEmpty: a header that would spare the blob is not passed
// over because it is empty.
func TestDeleteSnapshotsEmpty(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.tagged("b", catalog.Block)
	for path, send := range map[string]func(string, string, string, ...string) reply{d.path("b"): d.signed, "/blob" + d.path("b"): d.send} {
		if got := statusAndCode(send("DELETE", path, "", "x-ms-delete-snapshots", "")); got != "400 InvalidHeaderValue" {
			t.Errorf("DELETE %s = %s, want a refusal", path, got)
		}
	}
	if !d.has("box", "b") {
		t.Error("the blob is gone")
	}
}

// TestSourceConditionsOfTheYearOne: as TestConditions, for the source of a copy.
func TestSourceConditionsOfTheYearOne(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.openToReaders()
	d.tagged("source", catalog.Page)
	for _, request := range []conditioned{
		{name: "Copy Blob"},
		{name: "Put Blob From URL", headers: []string{"x-ms-blob-type", "BlockBlob"}},
		{name: "Put Block From URL", query: "comp=block&blockid=QUFB"},
		{name: "Append Block From URL", query: "comp=appendblock", kind: catalog.Append},
		{name: "Put Page From URL", query: "comp=page", kind: catalog.Page, headers: []string{"x-ms-page-write", "update", "x-ms-range", "bytes=0-511", "x-ms-source-range", "bytes=0-511"}},
	} {
		for header, want := range map[string]string{
			"x-ms-source-if-unmodified-since: " + firstDate: "412 SourceConditionNotMet",
			"x-ms-source-if-unmodified-since: ":             "400 InvalidHeaderValue",
			"x-ms-source-if-match: ":                        "400 InvalidHeaderValue",
		} {
			name := strings.ReplaceAll(request.name, " ", "")
			before := d.tagged(name, request.kind)
			key, value, _ := strings.Cut(header, ": ")
			headers := append([]string{"x-ms-copy-source", testHost + d.path("source"), key, value}, request.headers...)
			if got := statusAndCode(d.signed("PUT", d.path(name)+"?"+request.query, "", headers...)); got != want {
				t.Errorf("%s with %s = %s, want %s", request.name, header, got, want)
			}
			if after, err := d.catalog.Head(t.Context(), testRef("box", name), catalog.Access{}); err != nil || after.ETag() != before.ETag() {
				t.Errorf("%s with %s changed the blob", request.name, header)
			}
		}
	}
}

// TestContainerConditionsOfTheYearOne: containers have conditions too.
func TestContainerConditionsOfTheYearOne(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	for _, request := range []string{"DELETE ", "PUT &comp=metadata", "PUT &comp=acl", "PUT &comp=lease"} {
		method, query, _ := strings.Cut(request, " ")
		r := d.signed(method, "/"+testAccount+"/box?restype=container"+query, "", "If-Unmodified-Since", firstDate,
			"x-ms-lease-action", "acquire", "x-ms-lease-duration", "15")
		if got := statusAndCode(r); got != "412 ConditionNotMet" {
			t.Errorf("%s unmodified since the year 1 = %s, want 412 ConditionNotMet", request, got)
		}
	}
}

// TestPolicyOfTheYearOne: an expiry of the year 1 withdraws a grant as any other
// that has passed, whether the signature states one of its own or not.
func TestPolicyOfTheYearOne(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.tagged("b", catalog.Block)
	soon := time.Now().Add(time.Hour).UTC()
	grant := func(start, expiry time.Time, permissions string) string {
		q, err := sas.BlobSignatureValues{ContainerName: "box", Identifier: "p", StartTime: start, ExpiryTime: expiry, Permissions: permissions}.SignWithSharedKey(credential(t))
		if err != nil {
			t.Fatal(err)
		}
		return q.Encode()
	}
	var none time.Time
	const refused = "403 AuthenticationFailed"
	for _, test := range []struct{ policy, grant, want string }{
		{"<Expiry>" + soon.Format(time.RFC3339) + "</Expiry><Permission>r</Permission>", grant(none, none, ""), "200"},
		{"<Expiry>0001-01-01T00:00:00Z</Expiry><Permission>r</Permission>", grant(none, none, ""), refused},
		{"<Expiry>0001-01-01T00:00:00Z</Expiry>", grant(none, soon, "r"), refused},
		{"<Expiry>0001-01-01T00:00Z</Expiry>", grant(none, soon, "r"), refused},
		{"<Expiry>0001-01-01</Expiry>", grant(none, soon, "r"), refused},
		{"<Expiry>0000-01-01</Expiry>", grant(none, soon, "r"), refused},
		{"<Expiry>0001-01-01T01:00:00+01:00</Expiry>", grant(none, soon, "r"), refused},
		{"<Start>0001-01-01T00:00:00Z</Start>", grant(soon.Add(-2*time.Hour), soon, "r"), refused}, // both state it
		{"<Start>0001-01-01T00:00:00Z</Start>", grant(none, soon, "r"), "200"},
		{"<Permission>r</Permission>", grant(none, none, ""), refused}, // nobody states an expiry
	} {
		body := "<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy>" + test.policy + "</AccessPolicy></SignedIdentifier></SignedIdentifiers>"
		if r := d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=acl", body); r.status != http.StatusOK {
			t.Fatalf("setting the policy %s = %s", test.policy, statusAndCode(r))
		}
		if got := statusAndCode(d.send("GET", d.path("b")+"?"+test.grant, "")); got != test.want {
			t.Errorf("GET with the policy %s = %s, want %s", test.policy, got, test.want)
		}
	}
}

// TestEmptyLeaseID: a write with an empty id is refused, not treated as one
// without.
func TestEmptyLeaseID(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.tagged("b", catalog.Block)
	for _, test := range []struct {
		method, query, want string
		headers             []string
	}{
		{"GET", "", "200", []string{"x-ms-lease-id", ""}},
		{"DELETE", "", "400 InvalidHeaderValue", []string{"x-ms-lease-id", ""}},
		{"DELETE", "", "400 InvalidHeaderValue", []string{"x-ms-lease-id", leaseIDs["A"], "x-ms-lease-id", ""}},
		{"PUT", "comp=metadata", "400 InvalidHeaderValue", []string{"x-ms-lease-id", ""}},
		{"PUT", "comp=lease", "400 InvalidHeaderValue", []string{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "15", "x-ms-proposed-lease-id", ""}},
		{"PUT", "comp=lease", "400 InvalidHeaderValue", []string{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "0"}},
		{"PUT", "comp=lease", "400 InvalidHeaderValue", []string{"x-ms-lease-action", "break", "x-ms-lease-break-period", ""}},
		{"PUT", "comp=lease", "409 LeaseNotPresentWithLeaseOperation", []string{"x-ms-lease-action", "break", "x-ms-lease-break-period", "0"}},
	} {
		if got := statusAndCode(d.signed(test.method, d.path("b")+"?"+test.query, "", test.headers...)); got != test.want {
			t.Errorf("%s %s with %q = %s, want %s", test.method, test.query, test.headers, got, test.want)
		}
	}
	if !d.has("box", "b") {
		t.Error("the blob is gone")
	}
}

// TestZeroIsANumber: a number 0 that was sent is a condition, a place or a size
// like any other.
func TestZeroIsANumber(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.tagged("b", catalog.Block)
	d.tagged("log", catalog.Append)
	d.tagged("disk", catalog.Page)
	page := strings.Repeat("x", 512)
	write := []string{"x-ms-page-write", "update", "x-ms-range", "bytes=0-511"}
	for _, test := range []struct {
		request, body, want string
		headers             []string
	}{
		{"PUT log?comp=appendblock", "first", "201", []string{"x-ms-blob-condition-appendpos", "0"}},
		{"PUT log?comp=appendblock", "again", "412 AppendPositionConditionNotMet", []string{"x-ms-blob-condition-appendpos", "0"}},
		{"PUT log?comp=appendblock", "again", "412 MaxBlobSizeConditionNotMet", []string{"x-ms-blob-condition-maxsize", "0"}},
		{"PUT disk?comp=page", page, "412 SequenceNumberConditionNotMet", append(write, "x-ms-if-sequence-number-lt", "0")},
		{"PUT disk?comp=page", page, "201", append(write, "x-ms-if-sequence-number-le", "0")},
		{"PUT disk?comp=page", page, "201", append(write, "x-ms-if-sequence-number-eq", "0")},
		{"PUT disk?comp=properties", "", "200", []string{"x-ms-sequence-number-action", "update", "x-ms-blob-sequence-number", "3"}},
		{"PUT disk?comp=page", page, "412 SequenceNumberConditionNotMet", append(write, "x-ms-if-sequence-number-le", "0")},
		{"PUT disk?comp=page", page, "412 SequenceNumberConditionNotMet", append(write, "x-ms-if-sequence-number-eq", "0")},
		{"PUT disk?comp=properties", "", "200", []string{"x-ms-sequence-number-action", "update", "x-ms-blob-sequence-number", "0"}},
		{"PUT disk?comp=page", page, "201", append(write, "x-ms-if-sequence-number-eq", "0")},
		{"PUT disk?comp=properties", "", "200", []string{"x-ms-blob-content-length", "0"}},
		{"PUT disk?comp=page", page, "416 InvalidPageRange", write},
		{"GET b", "", "206", []string{"x-ms-range", "bytes=0-0"}},
		{"PUT b", "", "201", []string{"x-ms-blob-type", "BlockBlob"}},
		{"GET b", "", "416 InvalidRange", []string{"x-ms-range", "bytes=0-0"}},
		{"PUT b?comp=block&blockid=QUFB", "", "400 InvalidHeaderValue", nil},
		{"GET ?restype=container&comp=list&maxresults=0", "", "400 OutOfRangeQueryParameterValue", nil},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		if got := statusAndCode(d.signed(method, strings.TrimSuffix(d.path(""), "/")+prefixedPath(path), test.body, test.headers...)); got != test.want {
			t.Errorf("%s with %q = %s, want %s", test.request, test.headers, got, test.want)
		}
	}
}

// prefixedPath is the path of a blob below its container, or the query of the
// container itself.
func prefixedPath(path string) string {
	if strings.HasPrefix(path, "?") {
		return path
	}
	return "/" + path
}
