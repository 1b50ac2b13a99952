package azureapi_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

func TestSharedKey(t *testing.T) {
	d := newDeployment(t)
	change := func(edit func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) { signRequest(r, sign.Development()); edit(r) }
	}
	for name, test := range map[string]struct {
		prepare func(*http.Request)
		want    string
	}{
		"nothing":    {func(*http.Request) {}, "401 NoAuthenticationInformation"},
		"signed":     {change(func(*http.Request) {}), "200"},
		"a byte off": {change(func(r *http.Request) { flip(r, len(r.Header.Get("Authorization"))-5) }), "403 AuthenticationFailed"},
		"another account": {func(r *http.Request) {
			signRequest(r, sign.Account{Name: "otheraccount", Keys: sign.Development().Keys})
		}, "403 AuthenticationFailed"},
		"another key": {func(r *http.Request) {
			signRequest(r, sign.Account{Name: testAccount, Keys: [][]byte{[]byte("guess")}})
		}, "403 AuthenticationFailed"},
		"another query":  {change(func(r *http.Request) { r.URL.RawQuery += "&prefix=a" }), "403 AuthenticationFailed"},
		"another path":   {change(func(r *http.Request) { r.URL.Path = "/devstoreaccount1-secondary" }), "403 AuthenticationFailed"},
		"another header": {change(func(r *http.Request) { r.Header.Set("X-Ms-Meta-More", "x") }), "403 AuthenticationFailed"},
		"an old date":    {change(func(r *http.Request) { r.Header.Set("X-Ms-Date", "Mon, 02 Jan 2006 15:04:05 GMT") }), "403 AuthenticationFailed"},
		"nonsense":       {func(r *http.Request) { r.Header.Set("Authorization", "Basic 1234") }, "400 InvalidAuthenticationInfo"},
		"a bearer token": {func(r *http.Request) { r.Header.Set("Authorization", "Bearer 1234") }, "401 InvalidAuthenticationInfo"},
	} {
		r := d.request("GET", "/devstoreaccount1?comp=list", "")
		test.prepare(r)
		if got := statusAndCode(d.exchange(r)); got != test.want {
			t.Errorf("%s = %s, want %s", name, got, test.want)
		}
	}
}

func flip(r *http.Request, at int) {
	b := []byte(r.Header.Get("Authorization"))
	if b[at] == 'A' {
		b[at] = 'B'
	} else {
		b[at] = 'A'
	}
	r.Header.Set("Authorization", string(b))
}

// TestEndpoints: the SDK gets in at every form of address, with either key.
func TestEndpoints(t *testing.T) {
	d := newDeployment(t)
	for _, url := range []string{
		"http://127.0.0.1:10000/otheraccount/", "http://127.0.0.1:10000/otheraccount-secondary/",
		"http://otheraccount.blob.localhost:10000/", "http://otheraccount-secondary.blob.core.windows.net/",
	} {
		for _, key := range []string{"first key", "second key", "third key"} {
			client := d.serviceOf(url, "otheraccount", []byte(key))
			page, err := client.NewListContainersPager(nil).NextPage(t.Context())
			want := ""
			if key == "third key" {
				want = "AuthenticationFailed"
			}
			wantCode(t, url+" with the "+key, err, want)
			if err == nil && value(page.ServiceEndpoint) != url {
				t.Errorf("the endpoint of %s is %q", url, value(page.ServiceEndpoint))
			}
		}
	}
}

// accountSAS signs a grant of the development account.
func accountSAS(t testing.TB, permissions, types string, edit func(*sas.AccountSignatureValues)) string {
	t.Helper()
	v := sas.AccountSignatureValues{ExpiryTime: time.Now().Add(time.Hour).UTC(), Permissions: permissions, ResourceTypes: types}
	if edit != nil {
		edit(&v)
	}
	signed, err := v.SignWithSharedKey(credential(t))
	if err != nil {
		t.Fatal(err)
	}
	return signed.Encode()
}

func credential(t testing.TB) *sas.SharedKeyCredential {
	t.Helper()
	c, err := service.NewSharedKeyCredential(testAccount, base64.StdEncoding.EncodeToString(sign.Development().Keys[0]))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAccountSAS(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	for _, test := range []struct {
		request            string
		permissions, types string
		edit               func(*sas.AccountSignatureValues)
		want               string
	}{
		{"GET ?comp=list", "l", "s", nil, "200"},
		{"GET ?comp=list", "rwdac", "s", nil, "403 AuthorizationPermissionMismatch"},
		{"GET ?comp=list", "l", "co", nil, "403 AuthorizationResourceTypeMismatch"},
		{"GET ?comp=list", "l", "s", func(v *sas.AccountSignatureValues) { v.ExpiryTime = time.Now().Add(-time.Minute) }, "403 AuthenticationFailed"},
		{"GET ?comp=list", "l", "s", func(v *sas.AccountSignatureValues) { v.StartTime = time.Now().Add(time.Hour / 2) }, "403 AuthenticationFailed"},
		{"GET ?comp=list", "l", "s", func(v *sas.AccountSignatureValues) { v.Protocol = sas.ProtocolHTTPS }, "403 AuthorizationProtocolMismatch"},
		{"GET ?comp=list", "l", "s", func(v *sas.AccountSignatureValues) { v.IPRange = sas.IPRange{Start: []byte{10, 0, 0, 1}} }, "403 AuthorizationSourceIPMismatch"},
		{"GET ?comp=list", "l", "s", func(v *sas.AccountSignatureValues) { v.IPRange = sas.IPRange{Start: []byte{127, 0, 0, 1}} }, "200"},
		{"GET /box?restype=container", "r", "c", nil, "200"},
		{"GET /box?restype=container", "l", "c", nil, "403 AuthorizationPermissionMismatch"},
		{"GET /box?restype=container&comp=list", "l", "c", nil, "200"},
		{"GET /box?restype=container&comp=acl", "rwdlac", "sco", nil, "403 AuthorizationFailure"},
		{"PUT /new?restype=container", "c", "c", nil, "201"},
		{"PUT /new2?restype=container", "r", "c", nil, "403 AuthorizationPermissionMismatch"},
		{"PUT /new3?restype=container", "w", "c", nil, "201"},
		{"PUT /box?restype=container&comp=metadata", "c", "c", nil, "403 AuthorizationPermissionMismatch"},
		{"PUT /box?restype=container&comp=metadata", "w", "c", nil, "200"},
		{"DELETE /new?restype=container", "w", "c", nil, "403 AuthorizationPermissionMismatch"},
		{"DELETE /new?restype=container", "d", "c", nil, "202"},
		{"GET ?restype=service&comp=properties", "r", "s", nil, "200"},
		{"GET ?restype=account&comp=properties", "l", "s", nil, "200"},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		path = strings.Replace(path, "?", "?"+accountSAS(t, test.permissions, test.types, test.edit)+"&", 1)
		if got := statusAndCode(d.send(method, "/"+testAccount+path, "")); got != test.want {
			t.Errorf("%s with sp=%s, srt=%s = %s, want %s", test.request, test.permissions, test.types, got, test.want)
		}
	}
	good := accountSAS(t, "l", "s", nil)
	for _, bad := range []string{strings.Replace(good, "sp=l", "sp=rl", 1), good + "&sp=l", strings.Replace(good, "sig=", "sig=A", 1), good + "&skoid=x"} {
		if got := statusAndCode(d.send("GET", "/"+testAccount+"?comp=list&"+bad, "")); got != "403 AuthenticationFailed" {
			t.Errorf("a changed signature = %s, want 403 AuthenticationFailed", got)
		}
	}
}

// TestContainerSAS: a grant for one container, complete or completed by a
// policy that can be withdrawn.
func TestContainerSAS(t *testing.T) {
	d := newDeployment(t)
	client := d.container("box")
	d.ensure("other")
	signed := func(v sas.BlobSignatureValues) string {
		v.ContainerName = "box"
		q, err := v.SignWithSharedKey(credential(t))
		if err != nil {
			t.Fatal(err)
		}
		return q.Encode()
	}
	soon := time.Now().Add(time.Hour).UTC()
	list := signed(sas.BlobSignatureValues{ExpiryTime: soon, Permissions: "l"})
	read := signed(sas.BlobSignatureValues{ExpiryTime: soon, Permissions: "rd"})
	policy := signed(sas.BlobSignatureValues{Identifier: "weekly"})
	check := func(what, method, path, grant, want string) {
		t.Helper()
		if got := statusAndCode(d.send(method, "/"+testAccount+path+"&"+grant, "", "x-ms-lease-action", "break")); got != want {
			t.Errorf("%s = %s, want %s", what, got, want)
		}
	}
	check("list", "GET", "/box?restype=container&comp=list", list, "200")
	check("list another container", "GET", "/other?restype=container&comp=list", list, "403 AuthenticationFailed")
	check("list without l", "GET", "/box?restype=container&comp=list", read, "403 AuthorizationPermissionMismatch")
	check("list containers", "GET", "?comp=list", list, "403 AuthenticationFailed")
	check("properties", "GET", "/box?restype=container", read, "403 AuthorizationFailure")
	check("delete the container", "DELETE", "/box?restype=container", read, "403 AuthorizationFailure")
	check("break with d", "PUT", "/box?restype=container&comp=lease", read, "409 LeaseNotPresentWithLeaseOperation")
	check("break with l", "PUT", "/box?restype=container&comp=lease", list, "403 AuthorizationPermissionMismatch")

	check("a policy that is not there", "GET", "/box?restype=container&comp=list", policy, "403 AuthenticationFailed")
	set := func(permission string) {
		t.Helper()
		_, err := client.SetAccessPolicy(t.Context(), &container.SetAccessPolicyOptions{ContainerACL: []*container.SignedIdentifier{{
			ID: to.Ptr("weekly"), AccessPolicy: &container.AccessPolicy{Expiry: &soon, Permission: &permission},
		}}})
		if err != nil {
			t.Fatalf("SetAccessPolicy = %v", err)
		}
	}
	set("l")
	check("by the policy", "GET", "/box?restype=container&comp=list", policy, "200")
	set("r")
	check("by the policy, changed", "GET", "/box?restype=container&comp=list", policy, "403 AuthorizationPermissionMismatch")
}

func TestAnonymous(t *testing.T) {
	d := newDeployment(t)
	for name, access := range map[string]*container.PublicAccessType{"closed": nil, "blobs": to.Ptr(container.PublicAccessTypeBlob), "all": to.Ptr(container.PublicAccessTypeContainer)} {
		if _, err := d.service().NewContainerClient(name).Create(t.Context(), &container.CreateOptions{Access: access}); err != nil {
			t.Fatal(err)
		}
		d.put(name, "a", "content")
	}
	for request, want := range map[string]string{
		"GET /closed/a": "404 ResourceNotFound", "GET /blobs/a": "200", "GET /all/a": "200", "GET /nowhere/a": "404 ResourceNotFound",
		"HEAD /closed/a": "404 ResourceNotFound", "HEAD /blobs/a": "200", "GET /blobs/b": "404 BlobNotFound",
		"GET /closed?restype=container": "404 ResourceNotFound", "GET /blobs?restype=container": "404 ResourceNotFound", "GET /all?restype=container": "200",
		"GET /blobs?restype=container&comp=list": "404 ResourceNotFound", "GET /all?restype=container&comp=list": "200",
		"GET /all?restype=container&comp=acl": "401 NoAuthenticationInformation",
		"GET ?comp=list":                      "401 NoAuthenticationInformation",
		"DELETE /all/a":                       "401 NoAuthenticationInformation",
		"PUT /all?restype=container":          "401 NoAuthenticationInformation",
		"DELETE /all?restype=container":       "401 NoAuthenticationInformation",
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := statusAndCode(d.send(method, "/"+testAccount+path, "")); got != want {
			t.Errorf("%s = %s, want %s", request, got, want)
		}
	}
}

// TestPlainRoles: on the main port the caller's roles decide.
func TestPlainRoles(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	reader, holder := []auth.Role{auth.RoleReader}, []auth.Role{auth.RoleHolder}
	for _, test := range []struct {
		caller  auth.Caller
		request string
		want    string
	}{
		{auth.Caller{}, "GET ?comp=list", "401 NoAuthenticationInformation"},
		{auth.Caller{Name: "r", Roles: reader}, "GET ?comp=list", "200"},
		{auth.Caller{Name: "r", Roles: reader}, "PUT /new?restype=container", "403 AuthorizationFailure"},
		{auth.Caller{Name: "h", Roles: holder}, "GET ?comp=list", "403 AuthorizationFailure"},
		{auth.Caller{Name: "h", Roles: holder}, "PUT /new?restype=container", "201"},
		{auth.Caller{Name: "h", Roles: holder, Resources: []string{"blob:" + testAccount + "/mine*"}}, "PUT /mine?restype=container", "201"},
		{auth.Caller{Name: "h", Roles: holder, Resources: []string{"blob:" + testAccount + "/mine*"}}, "PUT /yours?restype=container", "403 AuthorizationFailure"},
		{auth.Caller{Name: "h", Roles: holder, Holders: []string{"somebody"}}, "PUT /theirs?restype=container", "403 AuthorizationFailure"},
		{auth.Local, "DELETE /new?restype=container", "202"},
	} {
		d.caller = test.caller
		method, path, _ := strings.Cut(test.request, " ")
		if got := statusAndCode(d.send(method, "/blob/"+testAccount+path, "")); got != test.want {
			t.Errorf("%s as %+v = %s, want %s", test.request, test.caller, got, test.want)
		}
	}
}

// TestNoSecretInLogs: whatever comes, keys, signatures and lease ids stay out.
func TestNoSecretInLogs(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	grant := accountSAS(t, "l", "s", nil)
	d.send("GET", "/"+testAccount+"?comp=list&"+grant, "")
	d.send("GET", "/"+testAccount+"?comp=list&"+grant+"x", "")
	r := d.request("PUT", "/"+testAccount+"/box?restype=container&comp=lease", "", parseOperation("acquire A").headers()...)
	signRequest(r, sign.Development())
	_, signature, _ := strings.Cut(r.Header.Get("Authorization"), ":")
	d.exchange(r)
	log := d.log.String()
	if strings.Count(log, "blob request") != 3 || !strings.Contains(log, "Lease Container: acquire") {
		t.Errorf("the log does not tell of the requests:\n%s", log)
	}
	_, sig, _ := strings.Cut(grant, "sig=")
	for what, secret := range map[string]string{"lease id": leaseIDs["A"], "signature": signature, "grant": sig[:20], "key": base64.StdEncoding.EncodeToString(sign.Development().Keys[0])} {
		if strings.Contains(strings.ToLower(log), strings.ToLower(secret)) {
			t.Errorf("the log has the %s", what)
		}
	}
}
