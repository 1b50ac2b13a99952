package azureapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

// blobSAS signs a grant for one blob of the development account.
func blobSAS(t testing.TB, container, name, permissions string) string {
	t.Helper()
	v := sas.BlobSignatureValues{ContainerName: container, BlobName: name, Permissions: permissions, ExpiryTime: time.Now().Add(time.Hour).UTC()}
	signed, err := v.SignWithSharedKey(credential(t))
	if err != nil {
		t.Fatal(err)
	}
	return signed.Encode()
}

// copies are all operations that read another blob.
var copies = []struct {
	name, path string
	headers    []string
}{
	{"Copy Blob", "to", nil},
	{"Copy Blob From URL", "to", []string{"x-ms-requires-sync", "true"}},
	{"Put Blob From URL", "to", []string{"x-ms-blob-type", "BlockBlob"}},
	{"Put Block From URL", "staged?comp=block&blockid=AAAA", nil},
	{"Append Block From URL", "append?comp=appendblock", nil},
	{"Put Page From URL", "page?comp=page", []string{"x-ms-page-write", "update", "x-ms-range", "bytes=0-511", "x-ms-source-range", "bytes=0-511"}},
}

// TestSourceAuthorization: nobody reads through a copy what they could not read
// themselves.
func TestSourceAuthorization(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("private", pages("p", 1), nil)
	snapshot := d.snapshot("private")
	d.ensure("open")
	d.put("open", "public", pages("o", 1))
	if _, err := d.catalog.SetContainer(t.Context(), testRef("open", ""), catalog.Access{}, func(c *catalog.ContainerDetails) { c.Public = "blob" }); err != nil {
		t.Fatal(err)
	}
	other := d.serviceOf(testHost+"/otheraccount/", "otheraccount", []byte("first key"))
	theirs := driver{d.deployment, other.NewContainerClient("theirs")}
	if _, err := theirs.box.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	prepare := func(d driver) {
		t.Helper()
		if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := d.page("page").Create(t.Context(), 512, nil); err != nil {
			t.Fatal(err)
		}
	}
	prepare(d)
	prepare(theirs)

	private, grant := testHost+d.path("private"), blobSAS(t, "box", "private", "r")
	expired := sas.BlobSignatureValues{ContainerName: "box", BlobName: "private", Permissions: "r", ExpiryTime: time.Now().Add(-time.Hour).UTC()}
	old, err := expired.SignWithSharedKey(credential(t))
	if err != nil {
		t.Fatal(err)
	}
	byKey := func(d driver, account sign.Account, folder string) func(path string, headers []string) reply {
		return func(path string, headers []string) reply {
			r := d.request("PUT", folder+path, "", headers...)
			signRequest(r, account)
			return d.exchange(r)
		}
	}
	sameKey := byKey(d, developmentAccount, "/"+testAccount+"/box/")
	otherKey := byKey(theirs, sign.Account{Name: "otheraccount", Keys: [][]byte{[]byte("first key")}}, "/otheraccount/theirs/")
	bySAS := func(path string, headers []string) reply {
		if !strings.Contains(path, "?") {
			path += "?"
		}
		return d.send("PUT", d.path(path)+"&"+accountSAS(t, "rwac", "o", nil), "", headers...)
	}
	tests := []struct {
		name, source string
		by           func(path string, headers []string) reply
		want         string
	}{
		{"the account's own key and a grant", private + "?" + grant, sameKey, ""},
		{"the account's own key and a grant, a snapshot", private + "?snapshot=" + snapshot + "&" + grant, sameKey, ""},
		{"another account's key", private, otherKey, "401 CannotVerifyCopySource"},
		{"another account's key, a snapshot", private + "?snapshot=" + snapshot, otherKey, "401 CannotVerifyCopySource"},
		{"another account's key, nothing there", testHost + d.path("none"), otherKey, "401 CannotVerifyCopySource"},
		{"another account's key and a grant", private + "?" + grant, otherKey, ""},
		{"another account's key and an old grant", private + "?" + old.Encode(), otherKey, "403 CannotVerifyCopySource"},
		{"another account's key and a grant to write", private + "?" + blobSAS(t, "box", "private", "w"), otherKey, "403 CannotVerifyCopySource"},
		{"another account's key and another blob's grant", private + "?" + blobSAS(t, "box", "other", "r"), otherKey, "403 CannotVerifyCopySource"},
		{"another account's key and a changed grant", private + "?" + strings.Replace(grant, "sp=r", "sp=rw", 1), otherKey, "403 CannotVerifyCopySource"},
		{"another account's key, public", testHost + "/" + testAccount + "/open/public", otherKey, ""},
		{"a grant for the destination only", private, bySAS, "401 CannotVerifyCopySource"},
		{"a grant for both", private + "?" + grant, bySAS, ""},
	}
	for _, tt := range tests {
		for _, o := range copies {
			r := tt.by(o.path, append([]string{"x-ms-copy-source", tt.source}, o.headers...))
			got := ""
			if r.status >= 300 {
				got = statusAndCode(r)
			}
			if got != tt.want {
				t.Errorf("%s by %s = %q, want %q", o.name, tt.name, got, tt.want)
			}
			if strings.Contains(r.body, "sig=") {
				t.Errorf("%s by %s repeats the signature", o.name, tt.name)
			}
		}
	}
	for _, o := range copies {
		want := "401 CannotVerifyCopySource"
		if strings.HasPrefix(o.name, "Copy Blob") {
			want = "202"
		}
		for _, source := range []string{private, private + "?snapshot=" + snapshot} {
			r := sameKey(o.path, append([]string{"x-ms-copy-source", source}, o.headers...))
			if got := strings.TrimSpace(statusAndCode(r)); got != want {
				t.Errorf("%s by the account's own key alone = %s, want %s", o.name, got, want)
			}
		}
	}
	wantReply(t, "a bearer token", sameKey("to", []string{"x-ms-copy-source", private, "x-ms-copy-source-authorization", "Bearer x"}), 401, "CannotVerifyCopySource")

	if _, err := d.blob("kept").StartCopyFromURL(t.Context(), private+"?"+grant, nil); err != nil {
		t.Fatal(err)
	}
	if source := value(d.properties(d.blob("kept")).CopySource); source != private {
		t.Errorf("the copy remembers %q, want %q", source, private)
	}
}

// TestSourceAddresses: what is no blob of this server is refused, and never
// fetched.
func TestSourceAddresses(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("from", "x", nil)
	d.upload("a b/ü", "x", nil)
	for _, tt := range []struct{ source, want string }{
		{testHost + d.path("from"), "202"},
		{"HTTP://127.0.0.1:10000" + d.path("from"), "202"},
		{"http://devstoreaccount1.blob.example/box/from", "202"},
		{"http://devstoreaccount1-secondary.blob.example/box/from", "202"},
		{testHost + d.path("a%20b/%C3%BC"), "202"},
		{testHost + d.path("none"), "404 BlobNotFound"},
		{testHost + "/" + testAccount + "/none/from", "404 ContainerNotFound"},
		{"http://example.org/box/from", "400 CannotVerifyCopySource"},
		{"http://127.0.0.1:10001" + d.path("from"), "400 CannotVerifyCopySource"},
		{"http://169.254.169.254/metadata", "400 CannotVerifyCopySource"},
		{"file:///etc/passwd", "400 InvalidHeaderValue"},
		{"http:" + d.path("from"), "400 InvalidHeaderValue"},
		{"http://user:secret@127.0.0.1:10000" + d.path("from"), "400 InvalidHeaderValue"},
		{d.path("from"), "400 InvalidHeaderValue"},
		{"%", "400 InvalidHeaderValue"},
		{testHost + "/" + testAccount + "/box?restype=container", "404 ContainerNotFound"}, // a blob of the root container
		{testHost + "/" + testAccount, "400 InvalidHeaderValue"},
		{testHost + "/nobody/box/from", "400 CannotVerifyCopySource"},
		{testHost + d.path("from") + "?snapshot=then", "400 InvalidHeaderValue"},
		{testHost + d.path("from") + "?snapshot=2020-01-01T00:00:00.0000000Z", "404 BlobNotFound"},
		{testHost + d.path("from") + "?" + strings.Repeat("x", 2<<10), "400 InvalidHeaderValue"},
	} {
		if got := strings.TrimSpace(statusAndCode(d.signed("PUT", d.path("to"), "", "x-ms-copy-source", tt.source))); got != tt.want {
			t.Errorf("a copy of %.80q = %s, want %s", tt.source, got, tt.want)
		}
	}
}

// TestPlainCopies: on the main port a copy needs the role reader too.
func TestPlainCopies(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("from", pages("x", 1), nil)
	for _, name := range []string{"append", "page"} {
		if r := d.signed("PUT", d.path(name), "", "x-ms-blob-type", strings.ToUpper(name[:1])+name[1:]+"Blob", "x-ms-blob-content-length", "512"); r.status != 201 {
			t.Fatalf("%s: %s", name, r.body)
		}
	}
	source := testHost + "/blob" + d.path("from")
	for _, tt := range []struct {
		roles []auth.Role
		ok    bool
	}{
		{[]auth.Role{auth.RoleHolder}, false},
		{[]auth.Role{auth.RoleReader}, false},
		{[]auth.Role{auth.RoleReader, auth.RoleHolder}, true},
	} {
		d.caller = auth.Caller{Name: "somebody", Roles: tt.roles}
		for _, o := range copies {
			for _, from := range []string{source, testHost + d.path("from")} {
				r := d.send("PUT", "/blob"+d.path(o.path), "", append([]string{"x-ms-copy-source", from}, o.headers...)...)
				if (r.status < 300) != tt.ok || !tt.ok && r.status != http.StatusForbidden {
					t.Errorf("%s as %v = %d %s, want success: %v", o.name, tt.roles, r.status, r.code(), tt.ok)
				}
			}
		}
	}
}
