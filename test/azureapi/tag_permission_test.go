package azureapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/leasehold/leasehold/azure/catalog"
)

// tagged is a driver with the blob "from", whose tag must not leak, in a container
// that everybody may read.
func tagged(t testing.TB) driver {
	t.Helper()
	d := newDriver(t)
	if _, err := d.catalog.SetContainer(t.Context(), testRef("box", ""), catalog.Access{}, func(c *catalog.ContainerDetails) { c.Public = "container" }); err != nil {
		t.Fatal(err)
	}
	d.upload("from", pages("x", 1), &blockblob.UploadOptions{Tags: map[string]string{"a": "secret"}})
	return d
}

const (
	mismatch = "403 AuthorizationPermissionMismatch"
	nobody   = "401 NoAuthenticationInformation"
)

// by sends a request as somebody: "key", "port" is the main one's local caller,
// "anybody", or the permissions of an account's grant.
func (d driver) by(who, method, path, body string, headers ...string) reply {
	d.Helper()
	switch who {
	case "key":
		return d.signed(method, path, body, headers...)
	case "port":
		return d.send(method, "/blob"+path, body, headers...)
	case "anybody":
		return d.send(method, path, body, headers...)
	}
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return d.send(method, path+mark+accountSAS(d, who, "sco", nil), body, headers...)
}

func TestListTagsNeedsT(t *testing.T) {
	t.Parallel()
	d := tagged(t)
	for _, tt := range []struct{ who, include, want string }{
		{"key", "tags", "200"},
		{"port", "tags", "200"},
		{"lt", "tags", "200"},
		{"l", "tags", mismatch},
		{"rl", "metadata,Tags", mismatch},
		{"anybody", "tags", nobody},
		{"anybody", "snapshots,tags", nobody},
		{"l", "metadata", "200"},
		{"anybody", "metadata", "200"},
	} {
		r := d.by(tt.who, "GET", "/"+testAccount+"/box?restype=container&comp=list&include="+tt.include, "")
		if got := statusAndCode(r); got != tt.want {
			t.Errorf("a list with %s by %s = %s, want %s", tt.include, tt.who, got, tt.want)
		}
		if shown := strings.Contains(r.body, "secret"); shown != (tt.want == "200" && tt.include == "tags") {
			t.Errorf("a list with %s by %s shows the tags: %v", tt.include, tt.who, shown)
		}
	}
}

// TestIfTagsNeedsT: callers who may not read tags must not find them by guessing, so a
// guess that is right is answered like one that is wrong.
func TestIfTagsNeedsT(t *testing.T) {
	t.Parallel()
	d := tagged(t)
	const may, mayNot = true, false
	for _, o := range []struct {
		method, path string
		headers      []string
		who          map[string]bool
	}{
		{"GET", "from", nil, map[string]bool{"key": may, "port": may, "rt": may, "r": mayNot, "anybody": mayNot}},
		{"HEAD", "from", nil, map[string]bool{"key": may, "port": may, "rt": may, "r": mayNot, "anybody": mayNot}},
		{"GET", "from?comp=metadata", nil, map[string]bool{"rt": may, "r": mayNot, "anybody": mayNot}},
		{"GET", "from?comp=blocklist", nil, map[string]bool{"rt": may, "r": mayNot, "anybody": mayNot}},
		{"GET", "from?comp=tags", nil, map[string]bool{"key": may, "t": may, "r": mayNot, "anybody": mayNot}},
		{"PUT", "from?comp=metadata", nil, map[string]bool{"key": may, "port": may, "wt": may, "w": mayNot}},
		{"PUT", "from?comp=snapshot", nil, map[string]bool{"ct": may, "c": mayNot}},
		{"PUT", "from?comp=lease", []string{"x-ms-lease-action", "break"}, map[string]bool{"w": mayNot}},
		{"DELETE", "from?snapshot=2020-01-01T00:00:00.0000000Z", nil, map[string]bool{"d": mayNot}},
	} {
		for who, may := range o.who {
			var answers []string
			for _, guess := range []string{"a='secret'", "a='wrong'"} {
				r := d.by(who, o.method, d.path(o.path), "", append([]string{"x-ms-if-tags", guess}, o.headers...)...)
				answers = append(answers, strings.TrimSpace(statusAndCode(r)))
			}
			refusal := mismatch
			if who == "anybody" {
				refusal = nobody
			}
			switch right, wrong := answers[0], answers[1]; {
			case may && (right[0] != '2' || wrong != "412 ConditionNotMet" && wrong != "304 ConditionNotMet"):
				t.Errorf("%s %s by %s = %s and %s, want success and ConditionNotMet", o.method, o.path, who, right, wrong)
			case !may && (right != refusal || wrong != refusal):
				t.Errorf("%s %s by %s = %s and %s, want %s", o.method, o.path, who, right, wrong, refusal)
			}
		}
	}
}

// TestCopyTagsNeedsT: a copy with the source's tags sets them on one blob and
// reads them from the other.
func TestCopyTagsNeedsT(t *testing.T) {
	t.Parallel()
	d := tagged(t)
	from := testHost + d.path("from")
	reads, readsTags := from+"?"+blobSAS(t, "box", "from", "r"), from+"?"+blobSAS(t, "box", "from", "rt")
	for _, headers := range [][]string{{}, {"x-ms-requires-sync", "true"}, {"x-ms-blob-type", "BlockBlob"}} {
		byKey := "" // opens the source of Copy Blob, and of nothing else
		if slices.Contains(headers, "BlockBlob") {
			byKey = "401 CannotVerifyCopySource"
		}
		for _, tt := range []struct{ who, source, want string }{
			{"key", from, byKey},
			{"port", from, ""},
			{"port", testHost + "/blob" + d.path("from"), ""},
			{"key", readsTags, ""},
			{"wt", readsTags, ""},
			{"w", readsTags, mismatch},
			{"wt", reads, "403 CannotVerifyCopySource"},
			{"wt", from, "401 CannotVerifyCopySource"}, // as anybody, who may read it
		} {
			r := d.by(tt.who, "PUT", d.path("to"), "", append([]string{"x-ms-copy-source", tt.source, "x-ms-copy-source-tag-option", "COPY"}, headers...)...)
			got := ""
			if r.status >= 300 {
				got = statusAndCode(r)
			}
			if got != tt.want {
				t.Errorf("a copy %v of %.60s by %s = %q, want %q", headers, tt.source, tt.who, got, tt.want)
			}
			if d.has("box", "to") != (tt.want == "") {
				t.Errorf("a copy %v of %.60s by %s: there is one: %v", headers, tt.source, tt.who, tt.want != "")
			}
			if tt.want == "" {
				wantSame(t, "the tags of the copy", d.tags(d.blob("to")), map[string]string{"a": "secret"})
				if _, err := d.blob("to").Delete(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	r := d.by("w", "PUT", d.path("to"), "", "x-ms-copy-source", reads, "x-ms-copy-source-tag-option", "REPLACE")
	wantReply(t, "a copy without tags", r, 202, "")
}

// TestSourceIfTagsNeedsT: as with x-ms-if-tags, for all that reads a source.
func TestSourceIfTagsNeedsT(t *testing.T) {
	t.Parallel()
	d := tagged(t)
	if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.page("page").Create(t.Context(), 512, nil); err != nil {
		t.Fatal(err)
	}
	from := testHost + d.path("from")
	reads, readsTags := from+"?"+blobSAS(t, "box", "from", "r"), from+"?"+blobSAS(t, "box", "from", "rt")
	for _, o := range copies {
		byKey := "" // opens the source of Copy Blob, and of nothing else
		if !strings.HasPrefix(o.name, "Copy Blob") {
			byKey = "401 CannotVerifyCopySource"
		}
		for _, tt := range []struct{ who, source, want string }{
			{"key", from, byKey},
			{"key", readsTags, ""},
			{"port", from, ""},
			{"w", readsTags, ""}, // what the destination's grant says of tags is about the destination
			{"wt", reads, "403 CannotVerifyCopySource"},
			{"wt", from, "401 CannotVerifyCopySource"},
		} {
			for _, guess := range []string{"a='secret'", "a='wrong'"} {
				r := d.by(tt.who, "PUT", d.path(o.path), "", append([]string{"x-ms-copy-source", tt.source, "x-ms-source-if-tags", guess}, o.headers...)...)
				got, want := "", tt.want
				if r.status >= 300 {
					got = statusAndCode(r)
				}
				if want == "" && guess == "a='wrong'" {
					want = "412 SourceConditionNotMet"
				}
				if got != want {
					t.Errorf("%s of %.60s by %s if %s = %q, want %q", o.name, tt.source, tt.who, guess, got, want)
				}
			}
		}
	}
}
