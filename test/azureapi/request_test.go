package azureapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/server"
)

// TestNoSuchOperation: what the server does not have it refuses by name.
func TestNoSuchOperation(t *testing.T) {
	d := newDeployment(t)
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
	d := newDeployment(t)
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
		if r.status >= 400 && !strings.HasPrefix(r.body, `<?xml version="1.0" encoding="utf-8"?>`+"<Error><Code>") {
			t.Errorf("GET %s: body %q", path, r.body)
		}
	}
	for _, id := range []string{strings.Repeat("x", 1025), "caf\xc3\xa9"} {
		if r := d.signed("GET", "/devstoreaccount1?comp=list", "", "X-Ms-Client-Request-Id", id); r.header.Get("X-Ms-Client-Request-Id") != "" {
			t.Errorf("the client's id %.10q… was echoed", id)
		}
	}
}

// TestHostsKeepPagesOut is about DNS rebinding: a page whose own name leads here
// could sign with the key that everybody knows.
func TestHostsKeepPagesOut(t *testing.T) {
	d := newDeployment(t)
	d.server = server.New(d.catalog, &server.Options{Hosts: []string{"localhost", "127.0.0.1", "::1", "emulator"}})
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:10000": true, "LOCALHOST:10000": true, "127.0.0.1:10000": true, "[::1]:10000": true,
		"emulator:10000": true, "devstoreaccount1.blob.localhost:10000": true, "devstoreaccount1-secondary.blob.localhost": true,
		"devstoreaccount1.emulator:10000": true, "devstoreaccount1.blob.core.windows.net": true,
		"devstoreaccount1.evil.example": false, "devstoreaccount1.localhost.evil.example:10000": false,
		"evil.example": false, "evil.example:10000": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
	} {
		r, err := http.NewRequest("GET", testHost+"/devstoreaccount1?comp=list", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := d.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		refused := answer.Header.Get("X-Ms-Error-Code") == azerr.AuthorizationFailure
		if refused == ok {
			t.Errorf("Host %q: %s %s, want it to be let in: %v", host, answer.Status, answer.Header.Get("X-Ms-Error-Code"), ok)
		}
	}
}
