package azureapi_test

import (
	"encoding/xml"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// The rows of TestRecordedFacts that are about refusals.

func sdkUncommitted(d driver) {
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for name, tt := range map[string]struct {
		given blob.ModifiedAccessConditions
		code  string
	}{
		"If-Modified-Since, before":  {blob.ModifiedAccessConditions{IfModifiedSince: &past}, ""},
		"If-Modified-Since, after":   {blob.ModifiedAccessConditions{IfModifiedSince: &future}, "ConditionNotMet"},
		"If-Unmodified-Since, after": {blob.ModifiedAccessConditions{IfUnmodifiedSince: &future}, ""},
		"If-Unmodified-Since before": {blob.ModifiedAccessConditions{IfUnmodifiedSince: &past}, "ConditionNotMet"},
		"If-Match any":               {blob.ModifiedAccessConditions{IfMatch: to.Ptr(azcore.ETagAny)}, "ConditionNotMet"},
		"If-None-Match any":          {blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}, ""}, // it was never committed
	} {
		d.stage(name, blockID(1), "x")
		conditions := &blob.AccessConditions{ModifiedAccessConditions: &tt.given}
		_, err := d.block(name).CommitBlockList(d.Context(), []string{blockID(1)}, &blockblob.CommitBlockListOptions{AccessConditions: conditions})
		wantCode(d, "CommitBlockList with "+name, err, tt.code)
	}
}

func rawUncommitted(d driver) {
	const past, future = "Wed, 01 Jan 2020 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
	for _, tt := range []struct {
		header, value string
		status        int
		code          string
	}{
		{"If-Modified-Since", future, 412, "ConditionNotMet"},
		{"If-Unmodified-Since", past, 412, "ConditionNotMet"},
		{"If-Match", `"0x1"`, 412, "ConditionNotMet"},
		{"x-ms-if-tags", "a='b'", 412, "ConditionNotMet"},
		{"If-None-Match", `"0x1"`, 201, ""},
		{"If-None-Match", "*", 201, ""},
		{"If-Modified-Since", past, 201, ""},
		{"If-Unmodified-Since", future, 201, ""},
	} {
		d.signed("DELETE", d.path("b"), "")
		d.signed("PUT", d.path("b")+"?comp=block&blockid=AAAA", "x")
		put := d.signed("PUT", d.path("b")+"?comp=blocklist", "<BlockList><Latest>AAAA</Latest></BlockList>", tt.header, tt.value)
		wantReply(d, "Put Block List with "+tt.header+": "+tt.value, put, tt.status, tt.code)
	}
}

func sdkArchived(d driver) {
	d.upload("b", "x", nil)
	snapshot := d.at("b", d.snapshot("b"))
	for name, c := range map[string]*blob.Client{"blob": d.blob("b"), "snapshot": snapshot} {
		if _, err := c.SetTier(d.Context(), blob.AccessTierArchive, nil); err != nil {
			d.Fatalf("SetTier(Archive) of the %s = %v", name, err)
		}
		_, err := c.DownloadStream(d.Context(), nil)
		wantCode(d, "reading the archived "+name, err, "BlobArchived")
		if got := value(d.properties(c).AccessTier); got != "Archive" {
			d.Errorf("the tier of the %s is %s, want Archive", name, got)
		}
	}
	_, err := snapshot.SetTier(d.Context(), blob.AccessTierHot, nil)
	wantCode(d, "SetTier(Hot) of the snapshot", err, "BlobArchived")
	if _, err := d.blob("b").SetTier(d.Context(), blob.AccessTierCool, nil); err != nil {
		d.Errorf("SetTier(Cool) of the blob = %v", err)
	}
	d.wantContent(d.blob("b"), "x")
	if _, err := d.blob("copy").StartCopyFromURL(d.Context(), snapshot.URL(), &blob.StartCopyFromURLOptions{Tier: to.Ptr(blob.AccessTierHot)}); err != nil {
		d.Errorf("a copy of the snapshot to another tier = %v", err)
	}
	d.wantContent(d.blob("copy"), "x")
}

func rawArchived(d driver) {
	d.upload("b", "x", nil)
	at := d.path("b") + "?snapshot=" + d.snapshot("b")
	tier := func(name string) reply { return d.signed("PUT", at+"&comp=tier", "", "x-ms-access-tier", name) }
	wantReply(d, "Cool", tier("Cool"), 200, "")
	wantReply(d, "Hot", tier("Hot"), 200, "")
	wantReply(d, "Archive", tier("Archive"), 200, "")
	wantReply(d, "Archive again", tier("Archive"), 200, "")
	wantReply(d, "Cool from Archive", tier("Cool"), 409, "BlobArchived")
	wantReply(d, "reading it", d.signed("GET", at, ""), 409, "BlobArchived")
	wantReply(d, "reading a range", d.signed("GET", at, "", "Range", "bytes=0-0"), 409, "BlobArchived")
	wantReply(d, "its properties", d.signed("HEAD", at, ""), 200, "")
	wantReply(d, "reading the blob", d.signed("GET", d.path("b"), ""), 200, "")
}

func sdkSnapshotHeader(d driver) {
	d.upload("b", "x", nil)
	id := d.snapshot("b")
	var answer *http.Response
	ctx := policy.WithCaptureResponse(d.Context(), &answer)
	if _, err := d.at("b", id).GetProperties(ctx, nil); err != nil || answer.Header.Get("X-Ms-Snapshot") != id {
		d.Errorf("GetProperties = %v with x-ms-snapshot %q, want %q", err, answer.Header.Get("X-Ms-Snapshot"), id)
	}
	if _, err := d.blob("b").GetProperties(ctx, nil); err != nil || answer.Header.Get("X-Ms-Snapshot") != "" {
		d.Errorf("GetProperties of the base = %v with x-ms-snapshot %q, want none", err, answer.Header.Get("X-Ms-Snapshot"))
	}
}

func rawSnapshotHeader(d driver) {
	d.upload("b", "x", nil)
	id := d.snapshot("b")
	for _, method := range []string{"GET", "HEAD"} {
		for _, path := range []string{d.path("b"), "/blob" + d.path("b")} {
			if got := d.signed(method, path+"?snapshot="+id, "").header.Get("X-Ms-Snapshot"); got != id {
				d.Errorf("%s %s has x-ms-snapshot %q, want %q", method, path, got, id)
			}
		}
	}
}

func sdkCodes(d driver) {
	for _, id := range []string{"", strings.Repeat("x", 65)} {
		_, err := d.box.SetAccessPolicy(d.Context(), &container.SetAccessPolicyOptions{ContainerACL: []*container.SignedIdentifier{
			{ID: &id, AccessPolicy: &container.AccessPolicy{Permission: to.Ptr("r")}},
		}})
		wantCode(d, "SetAccessPolicy with an id of another length", err, "InvalidXmlDocument")
	}
	if _, err := d.page("page").Create(d.Context(), 512, nil); err != nil {
		d.Fatal(err)
	}
	negative := &pageblob.SequenceNumberAccessConditions{IfSequenceNumberEqualTo: to.Ptr(int64(-1))}
	_, err := d.page("page").ClearPages(d.Context(), blob.HTTPRange{Count: 512}, &pageblob.ClearPagesOptions{SequenceNumberAccessConditions: negative})
	wantCode(d, "ClearPages if the number is -1", err, "InvalidInput")
	_, err = d.page("other").Create(d.Context(), 512, &pageblob.CreateOptions{SequenceNumber: to.Ptr(int64(-1))})
	wantCode(d, "Create with the number -1", err, "InvalidInput")
	_, err = d.blob("page").AbortCopyFromURL(d.Context(), "copynotstarted", nil)
	wantCode(d, "AbortCopyFromURL", err, "InvalidQueryParameterValue")
	v := sas.BlobSignatureValues{ContainerName: "box", Permissions: "rl", ExpiryTime: time.Now().Add(time.Hour).UTC()}
	signed, err := v.SignWithSharedKey(credential(d))
	if err != nil {
		d.Fatal(err)
	}
	_, err = d.bySAS(signed.Encode()).GetProperties(d.Context(), nil)
	wantCode(d, "the service's properties by a container's grant", err, "AuthenticationFailed")
}

func rawCodes(d driver) {
	acl := func(id string) reply {
		return d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=acl",
			"<SignedIdentifiers><SignedIdentifier><Id>"+id+"</Id></SignedIdentifier></SignedIdentifiers>")
	}
	wantReply(d, "an id of 64 characters", acl(strings.Repeat("é", 64)), 200, "")
	wantReply(d, "an id of 65 characters", acl(strings.Repeat("é", 65)), 400, "InvalidXmlDocument")
	wantReply(d, "no id", acl(""), 400, "InvalidXmlDocument")

	page := []string{"x-ms-blob-type", "PageBlob", "x-ms-blob-content-length", "512"}
	wantReply(d, "a negative number", d.signed("PUT", d.path("p"), "", append(page, "x-ms-blob-sequence-number", "-1")...), 400, "InvalidInput")
	wantReply(d, "what is no number", d.signed("PUT", d.path("p"), "", append(page, "x-ms-blob-sequence-number", "one")...), 400, "InvalidHeaderValue")
	wantReply(d, "a page blob", d.signed("PUT", d.path("p"), "", page...), 201, "")
	wantReply(d, "a negative number to set", d.signed("PUT", d.path("p")+"?comp=properties", "", "x-ms-sequence-number-action", "update", "x-ms-blob-sequence-number", "-7"), 400, "InvalidInput")
	for _, condition := range []string{"le", "lt", "eq"} {
		r := d.signed("PUT", d.path("p")+"?comp=page", "", "x-ms-page-write", "clear", "x-ms-range", "bytes=0-511", "x-ms-if-sequence-number-"+condition, "-1")
		wantReply(d, "if the number is "+condition+" -1", r, 400, "InvalidInput")
	}

	abort := func(query string) reply {
		return d.signed("PUT", d.path("p")+"?comp=copy"+query, "", "x-ms-copy-action", "abort")
	}
	wantReply(d, "what is no GUID", abort("&copyid=nothing"), 400, "InvalidQueryParameterValue")
	wantReply(d, "no copy id", abort(""), 400, "MissingRequiredQueryParameter")
	wantReply(d, "a GUID", abort("&copyid="+leaseIDs["A"]), 409, "NoPendingCopyOperation")
}

func sdkHeadErrors(d driver) {
	var answer *http.Response
	_, err := d.blob("none").GetProperties(policy.WithCaptureResponse(d.Context(), &answer), nil)
	wantCode(d, "GetProperties of nothing", err, "BlobNotFound")
	wantBodiless(d, "GetProperties of nothing", answer.Header)
}

func rawHeadErrors(d driver) {
	d.upload("b", "x", nil)
	for what, r := range map[string]reply{
		"404 BlobNotFound":               d.signed("HEAD", d.path("none"), ""),
		"404 ContainerNotFound":          d.signed("HEAD", "/"+testAccount+"/none?restype=container", ""),
		"403 AuthenticationFailed":       d.send("HEAD", d.path("b"), "", "x-ms-version", "2025-01-05", "Authorization", "SharedKey "+testAccount+":AAAA", "x-ms-date", time.Now().UTC().Format(http.TimeFormat)),
		"404 ResourceNotFound":           d.send("HEAD", d.path("b"), ""),
		"412 ConditionNotMet":            d.signed("HEAD", d.path("b"), "", "If-Match", `"0x1"`),
		"304 ConditionNotMet":            d.signed("HEAD", d.path("b"), "", "If-None-Match", "*"),
		"400 InvalidHeaderValue":         d.signed("HEAD", d.path("b"), "", "x-ms-lease-id", "mine"),
		"405 UnsupportedHttpVerb":        d.signed("HEAD", d.path("b")+"?comp=lease", ""),
		"400 InvalidResourceName":        d.signed("HEAD", "/"+testAccount+"/b--x/a", ""),
		"404 BlobNotFound ":              d.send("HEAD", "/blob"+d.path("none"), ""),
		"412 LeaseIdMismatch":            d.send("HEAD", "/blob"+d.path("b"), "", "x-ms-lease-id", leaseIDs["A"]),
		"501 NotImplemented":             d.signed("HEAD", d.path("b")+"?versionid=1", ""),
		"400 InvalidQueryParameterValue": d.signed("HEAD", d.path("b")+"?snapshot=now", ""),
	} {
		if got := statusAndCode(r); got != strings.TrimSpace(what) || r.body != "" {
			d.Errorf("HEAD = %s %q, want %s without a body", got, r.body, what)
		}
		wantBodiless(d, "HEAD: "+what, r.header)
	}
}

// wantBodiless checks that an answer says nothing of a body.
func wantBodiless(d driver, what string, h http.Header) {
	d.Helper()
	for _, name := range []string{"Content-Type", "Content-Length", "Transfer-Encoding"} {
		if values, has := h[name]; has {
			d.Errorf("%s has %s: %q, want no such header", what, name, values)
		}
	}
}

func sdkMessages(d driver) {
	_, err := d.blob("none").GetTags(d.Context(), nil)
	wantCode(d, "GetTags of nothing", err, "BlobNotFound")
	if !strings.Contains(err.Error(), "<Message>The specified blob does not exist.\nRequestId:") {
		d.Errorf("GetTags of nothing = %v, want Azure's sentence", err)
	}
}

// azureMessage is what a message is made of.
var azureMessage = regexp.MustCompile(`^([^\n]+)\nRequestId:([0-9a-f-]{36})\nTime:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z)(?:\n([^\n]+))?$`)

func rawMessages(d driver) {
	d.upload("b", "x", nil)
	lease := func(path string, headers ...string) reply { return d.signed("PUT", path, "", headers...) }
	blobLease, boxLease := d.path("b")+"?comp=lease", "/"+testAccount+"/box?restype=container&comp=lease"
	acquire := []string{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "-1"}
	lease(blobLease, acquire...)
	lease(boxLease, acquire...)
	for _, tt := range []struct {
		r               reply
		sentence, added string
	}{
		{d.signed("GET", d.path("none"), ""), "The specified blob does not exist.", ""},
		{d.signed("DELETE", d.path("b"), ""), "There is currently a lease on the blob and no lease ID was specified in the request.", "x-ms-lease-id"},
		{d.signed("DELETE", "/"+testAccount+"/box?restype=container", ""), "There is currently a lease on the container and no lease ID was specified in the request.", "x-ms-lease-id"},
		{lease(blobLease, "x-ms-lease-action", "renew", "x-ms-lease-id", leaseIDs["A"]), "The lease ID specified did not match the lease ID for the blob.", ""},
		{lease(boxLease, "x-ms-lease-action", "renew", "x-ms-lease-id", leaseIDs["A"]), "The lease ID specified did not match the lease ID for the container.", ""},
		{lease(blobLease, acquire...), "There is already a lease present.", "break"},
		{lease(blobLease, "x-ms-lease-action", "acquire"), "An HTTP header that's mandatory for this request is not specified.", "x-ms-lease-duration"},
		{lease(blobLease, "x-ms-lease-action", "acquire", "x-ms-lease-duration", "7"), "The value for one of the HTTP headers is not in the correct format.", "15 to 60"},
		{d.signed("GET", "/"+testAccount+"?comp=list&maxresults=0", ""), "One of the query parameters specified in the request URI is outside the permissible range.", "maxresults"},
		{d.signed("PUT", d.path("c")+"?comp=blocklist", "<x/>"), "XML specified is not syntactically valid.", "BlockList"},
		{d.send("PUT", "/blob"+d.path("b"), "x", "x-ms-lease-id", leaseIDs["A"]), "The lease ID specified did not match the lease ID for the blob.", ""},
	} {
		var body struct{ Message string }
		if err := xml.Unmarshal([]byte(tt.r.body), &body); err != nil {
			d.Fatalf("%d %s: %v", tt.r.status, tt.r.body, err)
		}
		m := azureMessage.FindStringSubmatch(body.Message)
		if m == nil {
			d.Errorf("the message %q is not in lines of a sentence, RequestId, Time and what is added", body.Message)
			continue
		}
		if m[1] != tt.sentence || m[2] != tt.r.header.Get("X-Ms-Request-Id") || !strings.Contains(m[4], tt.added) {
			d.Errorf("the message is %q, want %q, the request's id, and then something of %q", body.Message, tt.sentence, tt.added)
		}
	}
}

// corsOf sets one rule for an origin.
func corsOf(d driver, origins string) {
	d.Helper()
	rule := &service.CORSRule{AllowedOrigins: &origins, AllowedMethods: to.Ptr("GET"), AllowedHeaders: to.Ptr("*"), ExposedHeaders: to.Ptr(""), MaxAgeInSeconds: to.Ptr(int32(1))}
	if _, err := d.service().SetProperties(d.Context(), &service.SetPropertiesOptions{CORS: []*service.CORSRule{rule}}); err != nil {
		d.Fatal(err)
	}
}

// sdkVary: to a client that is no browser nothing varies.
func sdkVary(d driver) {
	corsOf(d, "https://a.example")
	d.upload("b", "x", nil)
	var answer *http.Response
	if _, err := d.blob("b").GetProperties(policy.WithCaptureResponse(d.Context(), &answer), nil); err != nil || answer.Header.Get("Vary") != "" {
		d.Errorf("GetProperties = %v with Vary: %q, want none", err, answer.Header.Get("Vary"))
	}
}

func rawVary(d driver) {
	d.upload("b", "x", nil)
	for _, tt := range []struct{ origins, from, allowed, vary string }{
		{"https://a.example", "https://a.example", "https://a.example", "Origin"},
		{"https://*.example", "https://a.example", "https://a.example", "Origin"},
		{"https://a.example", "https://b.example", "", "Origin"},
		{"*", "https://a.example", "*", ""},
		{"https://a.example,*", "https://a.example", "*", ""},
	} {
		corsOf(d, tt.origins)
		for what, r := range map[string]reply{
			"GET":     d.signed("GET", d.path("b"), "", "Origin", tt.from),
			"a 404":   d.signed("GET", d.path("none"), "", "Origin", tt.from),
			"OPTIONS": d.send("OPTIONS", d.path("b"), "", "Origin", tt.from, "Access-Control-Request-Method", "GET"),
		} {
			if got := r.header; got.Get("Access-Control-Allow-Origin") != tt.allowed || got.Get("Vary") != tt.vary {
				d.Errorf("%s of %s by the rule %s: %q, Vary: %q, want %q and %q", what, tt.from, tt.origins,
					got.Get("Access-Control-Allow-Origin"), got.Get("Vary"), tt.allowed, tt.vary)
			}
		}
	}
	for what, r := range map[string]reply{
		"another method":  d.signed("PUT", d.path("b")+"?comp=metadata", "", "Origin", "https://a.example"),
		"another account": d.send("OPTIONS", "/otheraccount/box/b", "", "Origin", "https://a.example", "Access-Control-Request-Method", "GET"),
	} {
		if got := r.header.Get("Vary"); got != "Origin" {
			d.Errorf("%s: Vary: %q, want Origin", what, got)
		}
	}
}
