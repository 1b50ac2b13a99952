package server

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

func TestAddresses(t *testing.T) {
	s := newServer(nil)
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
		err = s.parseAddress(c)
		got := c.address
		if test.refused != "" {
			if e := (&call{r: r, api: azureAPI}).azureError(err); err == nil || e.Code != test.refused {
				t.Errorf("%s%s: %+v, %v, want %s", test.host, test.path, got, err, test.refused)
			}
			continue
		}
		if test.want.ref.Account == "" {
			test.want.ref.Account = "devstoreaccount1"
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(address{}, catalog.Snapshot{})); err != nil || diff != "" {
			t.Errorf("%s%s: %v (-want +got):\n%s", test.host, test.path, err, diff)
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
		case o.Overwrites && (!o.Write || o.Access == accessNone || o.Access == accessConditions):
			t.Errorf("%s overwrites without reading lease and conditions", o.Name)
		case o.Comp != strings.ToLower(o.Comp) || o.Restype != strings.ToLower(o.Restype):
			t.Errorf("%s: %s is not in lower case, so it is never found", o.Name, key)
		}
		if at := (route{o.Level, o.Restype, o.Comp}); unsupported[at] != "" {
			t.Errorf("%s is supported and said to be unsupported", o.Name)
		}
		names[key] = true
	}
}

// TestPermissions repeats the permissions of the table by themselves: an operation
// that needs less than here is a hole, and none is added without a line here.
func TestPermissions(t *testing.T) {
	want := map[string]string{} // by operation
	for need, names := range map[string]string{
		"key":                                "Get Container ACL, Set Container ACL",
		"key, operator":                      "Reset Account",
		"racwdxyltmeopfi":                    "Get Account Information",
		"account l":                          "List Containers",
		"account r":                          "Get Blob Service Properties, Get Blob Service Stats",
		"account r, public container":        "Get Container Properties, Get Container Metadata",
		"account w":                          "Set Blob Service Properties, Set Container Metadata, Lease Container: acquire, Lease Container: renew, Lease Container: change, Lease Container: release",
		"account d":                          "Delete Container",
		"account f":                          "Find Blobs by Tags",
		"account cw":                         "Create Container",
		"account wd":                         "Blob Batch",
		"l, public container":                "List Blobs",
		"f":                                  "Find Blobs by Tags in Container",
		"r":                                  "Get Lineage",
		"r, public blob":                     "Get Blob, Get Blob Properties, Get Blob Metadata, Get Block List, Get Page Ranges",
		"t":                                  "Get Blob Tags, Set Blob Tags",
		"w":                                  "Lease Blob: acquire, Lease Blob: renew, Lease Blob: change, Lease Blob: release, Abort Copy Blob, Set Blob Properties, Set Blob Metadata, Set Blob Tier, Set Blob Expiry, Append Blob Seal, Put Page, Put Page From URL, Clear Page",
		"d":                                  "Delete Blob",
		"wd":                                 "Blob Batch of Container, Lease Blob: break, Lease Container: break",
		"aw":                                 "Append Block, Append Block From URL",
		"cw":                                 "Snapshot Blob",
		"cw, no overwrite":                   "Put Append Blob, Put Page Blob, Put Block, Put Block From URL, Put Block List, Put Block Blob",
		"cw, no overwrite, key reads source": "Copy Blob",
	} {
		for name := range strings.SplitSeq(names, ", ") {
			want[name] = need
		}
	}
	got := map[string]string{}
	for _, o := range operations {
		need := permissionText(o)
		if before, twice := got[o.Name]; twice && before != need {
			t.Errorf("%s needs %q at one address and %q at another", o.Name, before, need)
		}
		got[o.Name] = need
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

func permissionText(o operation) string {
	text := o.Need.Permissions
	if text == "" {
		text = "key"
	}
	if o.Need.AccountOnly {
		text = "account " + text
	}
	for _, more := range []struct {
		is   bool
		text string
	}{
		{o.Need.Also != "", "and " + o.Need.Also},
		{o.Public != "", "public " + string(o.Public)},
		{o.Operate, "operator"},
		{o.Overwrites, "no overwrite"}, // with c alone
		{o.KeyReadsSource, "key reads source"},
	} {
		if more.is {
			text += ", " + more.text
		}
	}
	return text
}

// TestDocumentNamesEveryOperation keeps the table of docs/azure-blob.md true.
func TestDocumentNamesEveryOperation(t *testing.T) {
	data, err := os.ReadFile("../../docs/azure-blob.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(data)), " ")
	for _, o := range operations {
		name, action, isLease := strings.Cut(o.Name, ": ")
		if !strings.Contains(text, name) || isLease && !strings.Contains(text, action) {
			t.Errorf("docs/azure-blob.md does not name the operation %s", o.Name)
		}
	}
	built, missing, _ := strings.Cut(text, "Not implemented,")
	for _, name := range unsupported {
		if !strings.Contains(missing, name) || strings.Contains(built, name) {
			t.Errorf("docs/azure-blob.md does not say that %s is not built", name)
		}
	}
}

// TestSnapshotRoutes: a snapshot can be read, deleted, moved to a tier and made
// to expire. No other operation is found for it.
func TestSnapshotRoutes(t *testing.T) {
	s := newServer(nil)
	for _, o := range operations {
		if o.Level != atBlob || o.Restype != "" {
			continue
		}
		method, _, _ := strings.Cut(o.Method, " ")
		r := httptest.NewRequest(method, "/blob/devstoreaccount1/box/b?snapshot=2026-01-02T03:04:05.0000000Z&comp="+o.Comp, nil)
		if o.Header != "" {
			value := o.Value
			if value == "" {
				value = "x"
			}
			r.Header.Set(o.Header, value)
		}
		c := &call{r: r, api: plainAPI}
		if err := s.parseAddress(c); err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		err := s.findOperation(c)
		switch o.Name {
		case "Get Blob", "Get Blob Properties", "Delete Blob", "Get Block List", "Get Blob Metadata", "Get Blob Tags",
			"Set Blob Tier", "Set Blob Expiry", "Get Page Ranges":
			if err != nil || c.op.Name != o.Name || !c.ref.IsSnapshot() {
				t.Errorf("%s of a snapshot: %+v, %v", o.Name, c.op, err)
			}
		default:
			if !azerr.HasCode(err, azerr.InvalidQueryParameterValue) {
				t.Errorf("%s of a snapshot: %v, want InvalidQueryParameterValue", o.Name, err)
			}
		}
	}
}
