package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
)

type answer struct {
	ID   string `json:"id"`
	Note string `json:"note,omitempty" enum:"a,b"`
	Next *page  `json:"next"`
}

// library is a small API whose handlers get a string.
func library() []Section[string] {
	return []Section[string]{
		{Title: "Writing", Endpoints: []*Endpoint[string]{
			{Method: "POST", Path: "/items", ID: "add", Summary: "Add an item.", Roles: []auth.Role{auth.RoleHolder, auth.RoleOperator}, Status: http.StatusCreated,
				Also: map[int]string{200: "it was there"}, Codes: []leasehold.Reason{leasehold.ReasonInvalid, leasehold.ReasonHeld},
				Request: item{Name: "a"}, Answer: answer{ID: "1"},
				Handler: Body(func(c string, in item) (answer, error) { return answer{ID: c + in.Name}, nil })},
		}},
		{Title: "Reading", Endpoints: []*Endpoint[string]{
			{Method: "GET", Path: "/items", ID: "list", Status: 200, Answer: answer{ID: "1"},
				Handler: Query(func(c string, q filter) (answer, error) { return answer{ID: c + q.Name}, nil })},
			{Method: "GET", Path: "/items/{item}/events", ID: "events", Status: 200, Long: true,
				Handler: Raw("text/event-stream; x", func(string, None) error { return leasehold.ErrUnsupported })},
		}},
	}
}

func endpoints() []*Endpoint[string] {
	var all []*Endpoint[string]
	for _, s := range library() {
		all = append(all, s.Endpoints...)
	}
	return all
}

func TestHandle(t *testing.T) {
	all := endpoints()
	if got, err := all[0].Handle("c-", "", []byte(`{"name":"a"}`)); err != nil || got != (answer{ID: "c-a"}) {
		t.Errorf("Handle(a body) = %v, %v", got, err)
	}
	if _, err := all[0].Handle("", "", []byte(`{"x":1}`)); err == nil {
		t.Error("Handle(an unknown field) = nil, want an error")
	}
	if got, err := all[1].Handle("c-", "name=a", nil); err != nil || got != (answer{ID: "c-a"}) {
		t.Errorf("Handle(a query) = %v, %v", got, err)
	}
	if _, err := all[2].Handle("", "", nil); err != leasehold.ErrUnsupported {
		t.Errorf("Handle(nothing) = %v, want the handler's error", err)
	}
	if _, err := all[2].Handle("", "x=1", nil); err == nil {
		t.Error("Handle(an unknown parameter) = nil, want an error")
	}
}

func TestAllows(t *testing.T) {
	all := endpoints()
	for role, want := range map[auth.Role]bool{auth.RoleHolder: true, auth.RoleOperator: true, auth.RoleReader: false} {
		if got := all[0].Allows(auth.Caller{Roles: []auth.Role{role}}); got != want {
			t.Errorf("Allows(%s) = %v, want %v", role, got, want)
		}
	}
	if !all[1].Allows(auth.Caller{}) {
		t.Error("Allows(nobody) = false at an endpoint without roles")
	}
}

func TestRouter(t *testing.T) {
	router := NewRouter(endpoints())
	for _, c := range []struct{ method, path, id, rest, allow string }{
		{"POST", "/items", "add", "", ""},
		{"GET", "/items", "list", "", ""},
		{"HEAD", "/items", "list", "", ""},
		{"PUT", "/items", "", "", "GET HEAD POST"},
		{"GET", "/items/a%2Fb//../c/events", "events", "a/b//../c", ""},
		{"HEAD", "/items/a/events", "", "", "GET"}, // a long answer
		{"GET", "/items/a", "", "", ""},
		{"GET", "/items/%zz/events", "", "", ""},
		{"GET", "/items/events", "", "", ""},
	} {
		e, rest, allow := router.Find(c.method, c.path)
		id := ""
		if e != nil {
			id = e.ID
		}
		if id != c.id || rest != c.rest || strings.Join(allow, " ") != c.allow {
			t.Errorf("Find(%s %s) = %q, %q, %q; want %q, %q, %q", c.method, c.path, id, rest, allow, c.id, c.rest, c.allow)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	info := Info{Title: "Library", Version: "v1", Problem: wire.Problem{Code: "lease_held"}}
	var doc object
	if err := json.Unmarshal(OpenAPI(endpoints(), info), &doc); err != nil {
		t.Fatal(err)
	}
	at := func(path ...string) any {
		var v any = doc
		for _, name := range path {
			o, _ := v.(object)
			v = o[name]
		}
		return v
	}
	add, list := []string{"paths", "/items", "post"}, []string{"paths", "/items", "get"}
	for _, c := range []struct {
		path []string
		want any
	}{
		{[]string{"info", "title"}, "Library"},
		{append(add, "operationId"), "add"},
		{append(add, "description"), "Roles: holder or operator."},
		{append(add, "requestBody", "required"), true},
		{append(add, "responses", "201", "content", "application/json", "example"), object{"id": "1", "next": nil}},
		{append(add, "responses", "200", "description"), "OK: it was there"},
		{append(add, "responses", "409", "description"), "Conflict: lease_held"},
		{append(add, "responses", "409", "content", wire.ProblemType, "example", "code"), "lease_held"},
		{append(add, "responses", "400", "content", wire.ProblemType, "example"), nil},
		{append(list, "security"), []any{}},
		{[]string{"paths", "/items/{item}/events", "get", "responses", "200", "content", "text/event-stream", "schema", "type"}, "string"},
		{[]string{"components", "schemas", "answer", "required"}, []any{"id", "next"}},
		{[]string{"components", "schemas", "answer", "properties", "note", "enum"}, []any{"a", "b"}},
		{[]string{"components", "schemas", "item", "properties", "name", "minLength"}, 1.0},
		{[]string{"components", "schemas", "item", "properties", "name", "description"}, "What it is called."},
	} {
		if diff := cmp.Diff(c.want, at(c.path...)); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", strings.Join(c.path, " "), diff)
		}
	}
	var params []string
	for _, p := range at(append(list, "parameters")...).([]any) {
		params = append(params, p.(object)["name"].(string))
	}
	if diff := cmp.Diff([]string{"name", "kind", "labels.KEY", "after", "since", "limit"}, params); diff != "" {
		t.Errorf("the parameters differ (-want +got):\n%s", diff)
	}
}

func TestPage(t *testing.T) {
	page := string(Page("Library", "<p>Welcome.</p>", library(), []Code{{Code: "lease_held", When: "Somebody <else> has it."}}))
	for _, part := range []string{
		"<title>Library</title>", "<p>Welcome.</p><h2>Writing</h2>", `<h3 id="add-call">POST /items</h3>`, "<em>Role: holder or operator.</em>",
		"<td>labels.KEY<td>object of strings<td>Only these.", "<td>name *<td>string", "Required, by this name or as alias. What it is called.",
		"201: the answer", `400&nbsp;<a href="#invalid_argument">invalid_argument</a>, 409&nbsp;<a href="#lease_held">`,
		`<tr id="lease_held"><td>lease_held<td>Somebody &lt;else&gt; has it.`,
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s:\n%s", part, page)
		}
	}
}
