package api

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/internal/rest"
	"github.com/leasehold/leasehold/wire"
)

// object is a JSON object.
type object = map[string]any

func document(t *testing.T) (*driver, object) {
	t.Helper()
	d := newDriver(t, nil, &Options{Version: "v9"})
	r := d.send("GET", "/openapi.json", "")
	if r.status != http.StatusOK || r.header.Get("Content-Type") != "application/json" {
		t.Fatalf("GET /openapi.json = %d %v", r.status, r.header)
	}
	var doc object
	if err := json.Unmarshal(r.body, &doc); err != nil {
		t.Fatal(err)
	}
	return d, doc
}

func TestDocumentStructure(t *testing.T) {
	d, doc := document(t)
	if doc["openapi"] != "3.1.0" || doc["info"].(object)["version"] != "v9" {
		t.Errorf("the document is %v %v, want 3.1.0 and v9", doc["openapi"], doc["info"])
	}
	eachObject(doc, func(o object) {
		if ref, ok := o["$ref"].(string); ok && resolve(doc, ref) == nil {
			t.Errorf("$ref %q leads nowhere", ref)
		}
	})
	operations := 0
	ids := map[string]bool{}
	for path, methods := range doc["paths"].(object) {
		for method, op := range methods.(object) {
			operations++
			o := op.(object)
			id, _ := o["operationId"].(string)
			if id == "" || ids[id] || o["summary"] == "" {
				t.Errorf("%s %s: operationId %q, summary %q; want both, and the id once", method, path, id, o["summary"])
			}
			ids[id] = true
			checkPathParameters(t, path, o)
			for status, r := range o["responses"].(object) {
				if n, err := strconv.Atoi(status); err != nil || n < 200 || n > 599 || n == 422 || r.(object)["description"] == "" {
					t.Errorf("%s %s: response %s is %v", method, path, status, r)
				}
			}
		}
	}
	if operations != len(d.server.endpoints) {
		t.Errorf("the document has %d operations, the table %d", operations, len(d.server.endpoints))
	}
}

// TestDocumentSaysWhatIsOpen: a path without roles asks for nothing, every other
// takes a token.
func TestDocumentSaysWhatIsOpen(t *testing.T) {
	d, doc := document(t)
	if license, _ := doc["info"].(object)["license"].(object); license["identifier"] != "Apache-2.0" {
		t.Errorf("the license is %v, want Apache-2.0", license)
	}
	for _, e := range d.server.endpoints {
		op := doc["paths"].(object)[e.Path].(object)[strings.ToLower(e.Method)].(object)
		security, ok := op["security"].([]any)
		if !ok || (len(security) == 0) != (len(e.Roles) == 0) {
			t.Errorf("%s: security is %v, with the roles %v", e.Label(), op["security"], e.Roles)
		}
	}
}

// TestDocumentSaysWhatIsRequired: a generated client neither casts nor guesses.
func TestDocumentSaysWhatIsRequired(t *testing.T) {
	_, doc := document(t)
	schema := func(name string) object { return doc["components"].(object)["schemas"].(object)[name].(object) }
	for name, required := range map[string]bool{"Grant": true, "Owned": true, "Released": true, "Lease": false} {
		if got := slices.Contains(schema(name)["required"].([]any), any("lease_id")); got != required {
			t.Errorf("%s requires lease_id: %v, want %v", name, got, required)
		}
	}
	for text, valid := range map[string]bool{
		`{"resource":"r","holder":"h"}`: true, `{"file_path":"r","agent_id":"h"}`: true,
		`{"resources":["r"],"mode":"shared","holder":"h"}`: true, `{"namespace":"n","paths":[{"pattern":"p","mode":"shared"}],"agent_id":"h"}`: true,
		`{"claims":[{"pattern":"p"},{"namespace":"n","pattern":"p","mode":"exclusive"}],"holder":"h"}`: true,
		`{"namespace":"n","paths":[{"mode":"shared"}],"holder":"h"}`:                                   false, `{"resources":[7],"holder":"h"}`: false, `{"resource":"r","mode":"write","holder":"h"}`: false,
		`{"resource":"r"}`: false, `{"holder":"h","ttl_seconds":1}`: false, `{"resource":"r","holder":"h","colour":"red"}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if problem := violates(doc, schema("AcquireRequest"), v); (problem == "") != valid {
			t.Errorf("the schema says %q of %s, want it valid: %v", problem, text, valid)
		}
	}
	params := doc["paths"].(object)["/v1/resource"].(object)["get"].(object)["parameters"].([]any)
	if p := params[0].(object); p["name"] != "resource" || p["required"] != true {
		t.Errorf("GET /v1/resource takes %v, want resource required", p)
	}
}

func checkPathParameters(t *testing.T, path string, operation object) {
	t.Helper()
	declared := map[string]bool{}
	params, _ := operation["parameters"].([]any)
	for _, p := range params {
		o := p.(object)
		if o["schema"] == nil || o["in"] == "path" && o["required"] != true {
			t.Errorf("%s: parameter %v is not complete", path, o)
		}
		if o["in"] == "path" {
			declared[o["name"].(string)] = true
		}
	}
	used := regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1)
	for _, u := range used {
		if !declared[u[1]] {
			t.Errorf("%s does not declare %s", path, u[1])
		}
	}
	if len(used) != len(declared) {
		t.Errorf("%s declares %v", path, declared)
	}
}

// Every route of the table is served, and nothing is that is not in it.
func TestTableIsWhatIsServed(t *testing.T) {
	d := newDriver(t, plain{newDriver(t, nil, nil).server.store}, nil)
	for _, e := range d.server.endpoints {
		found, _, _ := d.server.router.Find(e.Method, sample(e))
		if found != e {
			t.Errorf("%s is not what answers %s", e.Label(), sample(e))
		}
		if r := d.send(e.Method, sample(e), ""); r.status == http.StatusMethodNotAllowed || strings.Contains(string(r.body), `"code":"not_found"`) {
			t.Errorf("%s = %d %s, want it served", r.request, r.status, r.body)
		}
	}
	for _, call := range []string{
		"POST /v1/leases/acquire", "POST /v1/leases/renew", "POST /v1/leases/release", "POST /v1/leases/change", "POST /v1/leases/transfer",
		"POST /v1/leases/batch", "POST /v1/leases/break", "POST /v1/leases/check", "POST /v1/leases/get", "POST /v1/leases/cleanup", "POST /v1/holders/{holder}/release",
		"GET /v1/leases", "GET /v1/leases/{resource}", "GET /v1/resource", "GET /v1/history", "GET /v1/config", "PUT /v1/config/{key}",
		"GET /v1/events", "GET /v1/backup", "GET /healthz", "GET /health/live", "GET /health/ready", "GET /health/leasing", "GET /metrics",
		"GET /openapi.json", "GET /docs",
	} {
		if !slices.ContainsFunc(d.server.endpoints, func(e *endpoint) bool { return e.Label() == call }) {
			t.Errorf("the table lacks %s", call)
		}
	}
}

// Examples are of the types they claim to be, by the decoder that the server
// uses and by the schema that clients use.
func TestExamples(t *testing.T) {
	d, doc := document(t)
	for _, e := range d.server.endpoints {
		op := doc["paths"].(object)[e.Path].(object)[strings.ToLower(e.Method)].(object)
		if e.BodyType != nil {
			data, err := json.Marshal(e.Request)
			if err != nil {
				t.Fatal(err)
			}
			if err := rest.NewBodyDecoder(e.BodyType).Decode(data, reflect.New(e.BodyType).Elem()); err != nil {
				t.Errorf("%s: the example %s: %v", e.Label(), data, err)
			}
			media := op["requestBody"].(object)["content"].(object)["application/json"].(object)
			checkExample(t, doc, e.Label()+" request", media)
		}
		if (e.AnswerType == nil) != (e.Media != "") || e.AnswerType != nil && reflect.TypeOf(e.Answer) != e.AnswerType {
			t.Errorf("%s: the example of the answer is a %T, want a %v", e.Label(), e.Answer, e.AnswerType)
		}
		for status, r := range op["responses"].(object) {
			for _, media := range r.(object)["content"].(object) {
				checkExample(t, doc, e.Label()+" "+status, media.(object))
			}
		}
	}
	if diff := problemOf(&leasehold.Error{Reason: leasehold.ReasonHeld}); diff.Type != exampleProblem.Type {
		t.Errorf("the example's type is %q, want %q", exampleProblem.Type, diff.Type)
	}
}

func checkExample(t *testing.T, doc object, where string, media object) {
	t.Helper()
	if example, ok := media["example"]; ok {
		if problem := violates(doc, media["schema"].(object), example); problem != "" {
			t.Errorf("%s: the example breaks its schema: %s", where, problem)
		}
	}
}

// The examples of requests work when they are sent.
func TestExampleRequestsWork(t *testing.T) {
	d := newDriver(t, nil, nil)
	for _, e := range leaseCalls(d.server.o.MaxBody) {
		id := leasehold.NewID().Reveal()
		if e.ID != "acquire" {
			want[wire.Grant](d.post("/v1/leases/acquire", wire.AcquireRequest{Resource: "deploy:prod", Holder: "ci:42", LeaseID: id}), http.StatusCreated)
		}
		data, err := json.Marshal(e.Request)
		if err != nil {
			t.Fatal(err)
		}
		body := strings.ReplaceAll(string(data), exampleID, id)
		body = strings.ReplaceAll(body, exampleNewID, leasehold.NewID().Reveal())
		if r := d.send(e.Method, e.Path, body); r.status != e.Status {
			t.Errorf("%s %s = %d %s, want %d", e.Label(), body, r.status, r.body, e.Status)
		} else if e.ID == "batch" {
			checkBatchExample(t, r)
		}
		wantForced(d, "ci:42")
		wantForced(d, "ci:43")
	}
}

// checkBatchExample: each operation is answered with the status of the example.
func checkBatchExample(t *testing.T, r reply) {
	t.Helper()
	for i, a := range want[wire.BatchAnswer](r, http.StatusOK).Answers {
		if a.Status != exampleAnswers.Answers[i].Status {
			t.Errorf("operation %d of the example = %d %s, want %d", i, a.Status, a.Body, exampleAnswers.Answers[i].Status)
		}
	}
}

// violates is as much of JSON Schema as the document uses.
func violates(doc, schema object, v any) string {
	if ref, ok := schema["$ref"].(string); ok {
		return violates(doc, resolve(doc, ref), v)
	}
	if all, ok := schema["allOf"].([]any); ok {
		for _, s := range all {
			if problem := violates(doc, s.(object), v); problem != "" {
				return problem
			}
		}
	}
	if some, ok := schema["anyOf"].([]any); ok {
		problems := ""
		for _, s := range some {
			problem := violates(doc, s.(object), v)
			if problem == "" {
				return ""
			}
			problems += problem + "; "
		}
		return problems
	}
	if enum, ok := schema["enum"].([]any); ok && !strings.Contains(fmt.Sprint(enum), fmt.Sprint(v)) {
		return fmt.Sprintf("%v is none of %v", v, enum)
	}
	if kind, ok := schema["type"].(string); ok && kind != kindOfValue(v) && !(kind == "number" && kindOfValue(v) == "integer") {
		return fmt.Sprintf("%v is no %s", v, kind)
	}
	return violatesParts(doc, schema, v)
}

func violatesParts(doc, schema object, v any) string {
	switch v := v.(type) {
	case []any:
		items, _ := schema["items"].(object) // nil: anything
		for _, item := range v {
			if problem := violates(doc, items, item); problem != "" {
				return problem
			}
		}
	case object:
		properties, _ := schema["properties"].(object)
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				return fmt.Sprintf("%v is missing", name)
			}
		}
		for name, value := range v {
			property, ok := properties[name].(object)
			if !ok {
				more, open := schema["additionalProperties"].(object)
				if closed := schema["additionalProperties"] == false; !open && (closed || properties != nil && schema["required"] != nil) {
					return name + " is not in the schema"
				}
				property = more
			}
			if problem := violates(doc, property, value); problem != "" {
				return name + ": " + problem
			}
		}
	}
	return ""
}

func kindOfValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func eachObject(v any, f func(object)) {
	switch v := v.(type) {
	case object:
		f(v)
		for _, inner := range v {
			eachObject(inner, f)
		}
	case []any:
		for _, inner := range v {
			eachObject(inner, f)
		}
	}
}

func resolve(doc object, ref string) object {
	at := any(doc)
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		o, _ := at.(object)
		at = o[name]
	}
	o, _ := at.(object)
	return o
}

// Every reason of the vocabulary has its place on the page, and a status.
func TestCodesAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range codes {
		known[string(c.Code)] = true
		if _, own := ownProblems[c.Code]; !own && wire.Status(&leasehold.Error{Reason: c.Code}) == http.StatusInternalServerError {
			t.Errorf("%s has no status", c.Code)
		}
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		found++
		if code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value); err != nil || !known[code] {
			t.Errorf("%s (%s) is not among the codes", spec.Names[0].Name, code)
		}
		return true
	})
	if found < 20 {
		t.Errorf("found %d reasons; the check was of nothing", found)
	}
}

func TestDocsPage(t *testing.T) {
	d := newDriver(t, nil, nil)
	r := d.send("GET", "/docs", "")
	page := string(r.body)
	if r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
		t.Fatalf("GET /docs = %d %v", r.status, r.header)
	}
	for _, c := range codes {
		if n := strings.Count(page, `id="`+string(c.Code)+`"`); n != 1 {
			t.Errorf("the page has %d places for %s, want 1", n, c.Code)
		}
	}
	for _, e := range d.server.endpoints {
		if !strings.Contains(page, ">"+e.Method+" "+e.Path+"<") {
			t.Errorf("the page lacks %s", e.Label())
		}
	}
	for _, field := range []string{"agent_id", "break_period_seconds", "metadata.KEY", "next_cursor", "namespace", "sequence"} {
		if !strings.Contains(page, field) {
			t.Errorf("the page lacks the field %s", field)
		}
	}
	for _, link := range regexp.MustCompile(`(?:href|src|url)\s*[=(]\s*["']?([^"'\s>)]+)`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(link[1], "/") && !strings.HasPrefix(link[1], "#") || strings.HasPrefix(link[1], "//") {
			t.Errorf("the page needs %s", link[1])
		}
		if anchor, ok := strings.CutPrefix(link[1], "#"); ok && !strings.Contains(page, `id="`+anchor+`"`) {
			t.Errorf("the page links to %s, which is not there", link[1])
		}
	}
	w := httptest.NewRecorder()
	d.server.Handler().ServeHTTP(w, httptest.NewRequest("HEAD", "/docs", nil))
	if w.Code != http.StatusOK {
		t.Errorf("HEAD /docs by nobody = %d, want 200", w.Code)
	}
}
