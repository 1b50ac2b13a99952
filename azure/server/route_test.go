package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold/azure/catalog"
)

func TestAddresses(t *testing.T) {
	d := newDoor(t)
	const local = "127.0.0.1:10000"
	for _, test := range []struct {
		host, path string
		api        *api
		want       address // its Account is devstoreaccount1 unless it has one
		refused    string
	}{
		{local, "/devstoreaccount1", azureAPI, address{level: atService}, ""},
		{local, "/devstoreaccount1/", azureAPI, address{level: atService}, ""},
		{local, "/devstoreaccount1-secondary/", azureAPI, address{level: atService, secondary: true}, ""},
		{local, "/devstoreaccount1/box?restype=container", azureAPI, address{level: atContainer, ref: catalog.Ref{Container: "box"}}, ""},
		{local, "/devstoreaccount1/box/?restype=container", azureAPI, address{level: atContainer, ref: catalog.Ref{Container: "box"}}, ""},
		{local, "/devstoreaccount1/%24root?restype=container", azureAPI, address{level: atContainer, ref: catalog.Ref{Container: "$root"}}, ""},
		{local, "/devstoreaccount1/$logs?restype=container", azureAPI, address{level: atContainer, ref: catalog.Ref{Container: "$logs"}}, ""},
		{local, "/devstoreaccount1/box/a", azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: "a"}}, ""},
		{local, "/devstoreaccount1/lonely", azureAPI, address{level: atBlob, lone: true, ref: catalog.Ref{Container: "$root", Blob: "lonely"}}, ""},
		{local, "/devstoreaccount1/$root/lonely", azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "$root", Blob: "lonely"}}, ""},
		{local, "/devstoreaccount1/box/a//b/../c/", azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: "a//b/../c/"}}, ""},
		{local, "/devstoreaccount1/box/../../etc/passwd", azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: "../../etc/passwd"}}, ""},
		{local, "/devstoreaccount1/box//", azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: "/"}}, ""},
		{local, "/devstoreaccount1/box/a%2Fb%20c%25", azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: "a/b c%"}}, ""},
		{local, "/devstoreaccount1/box/%E2%98%83+?x=y", azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: "☃+"}}, ""},
		{"devstoreaccount1.blob.core.windows.net", "/box/a", azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: "a"}}, ""},
		{"DevStoreAccount1.blob.localhost:10000", "/", azureAPI, address{level: atService}, ""},
		{"otheraccount-secondary.blob.local:80", "/box/a", azureAPI, address{level: atBlob, secondary: true, ref: catalog.Ref{Account: "otheraccount", Container: "box", Blob: "a"}}, ""},
		{"devstoreaccount1", "/devstoreaccount1/box/a", azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: "a"}}, ""},
		{"blob.example.com", "/devstoreaccount1/box/a", azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: "a"}}, ""},
		{"devstoreaccount1.example.com", "/blob/devstoreaccount1/box/a", plainAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: "a"}}, ""},
		{local, "/blob/otheraccount/box?restype=container", plainAPI, address{level: atContainer, ref: catalog.Ref{Account: "otheraccount", Container: "box"}}, ""},

		{local, "/", azureAPI, address{}, "ResourceNotFound"},
		{local, "/nobody/box/a", azureAPI, address{}, "ResourceNotFound"},
		{local, "/blob/nobody/box/a", plainAPI, address{level: atBlob, ref: catalog.Ref{Account: "nobody", Container: "box", Blob: "a"}}, ""},
		{local, "/blob/nobody-secondary/box/a", plainAPI, address{level: atBlob, secondary: true, ref: catalog.Ref{Account: "nobody", Container: "box", Blob: "a"}}, ""},
		{local, "/blob/No.body/box/a", plainAPI, address{}, "ResourceNotFound"},
		{local, "/blob/devstoreaccount1/box?comp=lease", plainAPI, address{level: atContainer, ref: catalog.Ref{Container: "box"}}, ""},
		{local, "/blob/devstoreaccount1/$root?comp=lease", plainAPI, address{level: atContainer, ref: catalog.Ref{Container: "$root"}}, ""},
		{local, "/blob/devstoreaccount1/$root/box?comp=lease", plainAPI, address{level: atBlob, ref: catalog.Ref{Container: "$root", Blob: "box"}}, ""},
		{local, "/v1/leases", plainAPI, address{}, "InvalidUri"},
		{local, "/devstoreaccount1/Box?restype=container", azureAPI, address{}, "InvalidResourceName"},
		{local, "/devstoreaccount1/b--x/a", azureAPI, address{}, "InvalidResourceName"},
		{local, "/devstoreaccount1/bo/a", azureAPI, address{}, "OutOfRangeInput"},
		{local, "/devstoreaccount1/../a", azureAPI, address{}, "OutOfRangeInput"},
		{local, "/devstoreaccount1//a", azureAPI, address{}, "OutOfRangeInput"},
		{local, "/devstoreaccount1/box%2Fa", azureAPI, address{}, ""},
		{local, "/devstoreaccount1/box/", azureAPI, address{}, "InvalidUri"},
		{local, "/devstoreaccount1/box/%FF%FE", azureAPI, address{}, "InvalidUri"},
		{local, "/devstoreaccount1/box/" + strings.Repeat("x", 1025), azureAPI, address{}, "InvalidResourceName"},
		{local, "/devstoreaccount1/box/" + strings.Repeat("%C3%A9", 1024), azureAPI, address{level: atBlob, ref: catalog.Ref{Container: "box", Blob: strings.Repeat("é", 1024)}}, ""},
	} {
		if test.want == (address{}) && test.refused == "" { // a name with a slash in the root container
			test.want = address{level: atBlob, lone: true, ref: catalog.Ref{Container: "$root", Blob: "box/a"}}
		}
		r, err := http.NewRequest("GET", "http://x"+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = test.host
		c := &call{r: r, api: test.api}
		err = d.server.parseAddress(c)
		got := c.address
		if test.refused != "" {
			if f := (&call{r: r, api: azureAPI}).azureError(err); err == nil || f.Code != test.refused {
				t.Errorf("%s%s: %+v, %v, want %s", test.host, test.path, got, err, test.refused)
			}
			continue
		}
		if test.want.ref.Account == "" {
			test.want.ref.Account = testAccount
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(address{}, catalog.Snapshot{})); err != nil || diff != "" {
			t.Errorf("%s%s: %v (-want +got):\n%s", test.host, test.path, err, diff)
		}
	}
}

// TestNoSuchOperation: what the door has not, it says by name.
func TestNoSuchOperation(t *testing.T) {
	d := newDoor(t)
	d.ensure("box")
	for request, want := range map[string]string{
		"PATCH /devstoreaccount1/box/a":                                         "405 UnsupportedHttpVerb",
		"MERGE /devstoreaccount1/box?restype=container":                         "405 UnsupportedHttpVerb",
		"POST /devstoreaccount1/box?restype=container":                          "405 UnsupportedHttpVerb",
		"DELETE /devstoreaccount1?comp=list":                                    "405 UnsupportedHttpVerb",
		"GET /devstoreaccount1":                                                 "400 InvalidUri",
		"GET /devstoreaccount1?comp=magic":                                      "400 InvalidQueryParameterValue",
		"GET /devstoreaccount1/box?restype=directory":                           "400 InvalidQueryParameterValue",
		"GET /devstoreaccount1/box/a?comp=magic":                                "400 InvalidQueryParameterValue",
		"GET /devstoreaccount1/box/a?comp=%zz":                                  "400 InvalidQueryParameterValue",
		"GET /devstoreaccount1/box/a?snapshot=yesterday":                        "400 InvalidQueryParameterValue",
		"POST /devstoreaccount1?restype=service&comp=userdelegationkey":         "501 NotImplemented",
		"PUT /devstoreaccount1/box?restype=container&comp=undelete":             "501 NotImplemented",
		"PUT /devstoreaccount1/box/a?comp=undelete":                             "501 NotImplemented",
		"POST /devstoreaccount1/box/a?comp=query":                               "501 NotImplemented",
		"PUT /devstoreaccount1/box/a?comp=legalhold":                            "501 NotImplemented",
		"GET /devstoreaccount1/box?restype=container&comp=list&startfrom=a":     "501 NotImplemented",
		"GET /devstoreaccount1-secondary?comp=list":                             "200",
		"PUT /devstoreaccount1-secondary/new?restype=container":                 "403 InsufficientAccountPermissions",
		"GET /devstoreaccount1?restype=service&comp=stats":                      "400 InvalidQueryParameterValue",
		"GET /devstoreaccount1-secondary?restype=service&comp=stats":            "200",
		"GET /devstoreaccount1?comp=list&maxresults=0":                          "400 OutOfRangeQueryParameterValue",
		"GET /devstoreaccount1?comp=list&maxresults=-5":                         "400 OutOfRangeQueryParameterValue",
		"GET /devstoreaccount1?comp=list&maxresults=many":                       "400 InvalidQueryParameterValue",
		"GET /devstoreaccount1?comp=list&include=everything":                    "400 InvalidQueryParameterValue",
		"GET /devstoreaccount1?comp=list&marker=foreign":                        "400 *",
		"GET /devstoreaccount1/box?restype=container&comp=list&marker=foreign":  "400 *",
		"GET /devstoreaccount1/nowhere?restype=container&comp=list":             "404 ContainerNotFound",
		"GET /devstoreaccount1?comp=blobs":                                      "400 MissingRequiredQueryParameter",
		"GET /devstoreaccount1?comp=blobs&where=nonsense":                       "400 *",
		"GET /devstoreaccount1?COMP=list":                                       "200",
		"GET /devstoreaccount1?comp=List":                                       "200",
		"HEAD /devstoreaccount1/nowhere?restype=container":                      "404 ContainerNotFound",
		"GET /devstoreaccount1/box?restype=container&comp=list&versionid=1":     "501 NotImplemented",
		"PUT /devstoreaccount1/Upper?restype=container":                         "400 InvalidResourceName",
		"PUT /devstoreaccount1/box?restype=container":                           "409 ContainerAlreadyExists",
		"GET /devstoreaccount1?comp=list&prefix=%00":                            "200",
		"OPTIONS /devstoreaccount1/box/a":                                       "400 MissingRequiredHeader",
		"GET /devstoreaccount1/box?restype=container&comp=acl&snapshot=nothing": "200",
	} {
		method, path, _ := strings.Cut(request, " ")
		r := d.signed(method, path, "")
		got := statusAndCode(r)
		if want, any := strings.CutSuffix(want, "*"); got != want && !(any && strings.HasPrefix(got, want)) {
			t.Errorf("%s = %s, want %s: %s", request, got, want, r.body)
		}
		if method == "HEAD" && r.body != "" {
			t.Errorf("%s has a body: %q", request, r.body)
		}
	}
}

// TestEveryAnswer has what every answer has.
func TestEveryAnswer(t *testing.T) {
	d := newDoor(t)
	for _, path := range []string{"/devstoreaccount1?comp=list", "/devstoreaccount1/nowhere?restype=container", "/nobody"} {
		r := d.signed("GET", path, "", "X-Ms-Version", "2099-12-31", "X-Ms-Client-Request-Id", "mine")
		for name, want := range map[string]string{"X-Ms-Version": "2099-12-31", "X-Ms-Client-Request-Id": "mine", "Server": "Leasehold"} {
			if got := r.header.Get(name); got != want {
				t.Errorf("GET %s: %s = %q, want %q", path, name, got, want)
			}
		}
		if id := r.header.Get("X-Ms-Request-Id"); len(id) != 36 || r.header.Get("Date") == "" {
			t.Errorf("GET %s: request id %q, date %q", path, id, r.header.Get("Date"))
		}
		if r.status >= 400 && !strings.HasPrefix(r.body, xmlHead+"<Error><Code>") {
			t.Errorf("GET %s: body %q", path, r.body)
		}
	}
	for _, id := range []string{strings.Repeat("x", 1025), "caf\xc3\xa9"} {
		if r := d.signed("GET", "/devstoreaccount1?comp=list", "", "X-Ms-Client-Request-Id", id); r.header.Get("X-Ms-Client-Request-Id") != "" {
			t.Errorf("the client's id %.10q… was echoed", id)
		}
	}
}

// TestTable: the table of operations makes sense.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, o := range operations {
		key := strings.Join([]string{string(o.Level), o.Method, o.Restype, o.Comp, o.Header, o.Value}, " ")
		switch {
		case names[key]:
			t.Errorf("%s: two operations have the address %s", o.Name, key)
		case o.Handle == nil || o.Name == "" || o.Level == "":
			t.Errorf("%s %s is incomplete", o.Name, key)
		case o.Write == (strings.Contains(o.Method, "GET") || strings.Contains(o.Method, "HEAD")):
			t.Errorf("%s: Write is %t with %s", o.Name, o.Write, o.Method)
		case o.Write && o.Public != "":
			t.Errorf("%s: everybody may write", o.Name)
		case o.Comp != strings.ToLower(o.Comp) || o.Restype != strings.ToLower(o.Restype):
			t.Errorf("%s: %s is not in lower case, so it is never found", o.Name, key)
		}
		if at := (route{o.Level, o.Restype, o.Comp}); unsupported[at] != "" {
			t.Errorf("%s is built and said to be unsupported", o.Name)
		}
		names[key] = true
	}
}
