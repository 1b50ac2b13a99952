package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// item is a body with a field of each kind.
type item struct {
	Name   string            `json:"name" or:"alias" sent:"nonzero" doc:"What it is called."`
	Alias  string            `json:"alias,omitempty" sent:"nonzero"`
	Size   *float64          `json:"size,omitempty"`
	Count  int64             `json:"count,omitempty"`
	Token  uint64            `json:"token,omitempty" sent:"nonzero"`
	Hidden string            `json:"-"`
	Done   bool              `json:"done,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Any    any               `json:"any,omitempty"`
	Names  []string          `json:"names,omitempty" sent:"nonzero"`
	Parts  []part            `json:"parts,omitempty"`
}

// part is an object in a list.
type part struct {
	Name string `json:"name" sent:"nonzero"`
	Kind string `json:"kind,omitempty"`
}

func decodeItem(text string) (item, error) {
	var v item
	if err := CheckObject([]byte(text)); err != nil {
		return v, err
	}
	err := NewBodyDecoder(reflect.TypeFor[item]()).Decode([]byte(text), reflect.ValueOf(&v).Elem())
	return v, err
}

func TestBodyDecoder(t *testing.T) {
	got, err := decodeItem(` { "name" : "a\ud83d\udd11" , "alias":null, "size":1.5e2,"count":-3,"token":7,"done":true,"labels":{"k":"v"},"any":[1,{}],
		"names" : [ "a" , "\u0062]" ],"parts":[ {"kind":"k", "name":"n"},{"name":"m"} ] } `)
	want := item{Name: "a🔑", Size: new(150.0), Count: -3, Token: 7, Done: true, Labels: map[string]string{"k": "v"}, Any: []any{1.0, map[string]any{}},
		Names: []string{"a", "b]"}, Parts: []part{{"n", "k"}, {Name: "m"}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Decode() = %v, differs (-want +got):\n%s", err, diff)
	}
}

func TestBodyDecoderRefuses(t *testing.T) {
	long := strings.Repeat("x", 100)
	for text, want := range map[string][2]string{
		`{"colour":1}`:                        {"colour", "is no field of this call; it takes name, alias, size, count, token, done, labels, any, names, parts"},
		`{"` + long + `":1}`:                  {long[:64], "is no field"},
		`{"Name":"a"}`:                        {"Name", "is no field"},
		`{"Hidden":"a"}`:                      {"Hidden", "is no field"},
		`{"name":"a","n\u0061me":"a"}`:        {"name", "is there twice; send it once"},
		`{"name":""}`:                         {"name", "is empty"},
		`{"token":0}`:                         {"token", "is 0"},
		`{"token":-1}`:                        {"token", "want a whole number, 0 or more"},
		`{"name":1}`:                          {"name", "is a number; want a string of whole characters"},
		`{"name":"\ud800"}`:                   {"name", "want a string of whole characters"},
		`{"\ud800":1}`:                        {"body", "half a surrogate pair"},
		`{"size":"1"}`:                        {"size", "is a string; want a number"},
		`{"count":1.5}`:                       {"count", "want a whole number"},
		`{"done":0}`:                          {"done", "want true or false"},
		`{"labels":[]}`:                       {"labels", "is a list; want an object of strings"},
		`{"labels":{"k":1}}`:                  {"labels", `has under "k" a number`},
		`{"labels":{"k":"","k":""}}`:          {"labels", `has the key "k" twice`},
		`{"labels":{"\udc00":""}}`:            {"labels", "half a surrogate pair"},
		`{"names":[]}`:                        {"names", "is empty; send a value, or leave it out"},
		`{"names":"a"}`:                       {"names", "is a string; want a list"},
		`{"names":["a",1]}`:                   {"names[1]", "is a number; want a string"},
		`{"names":[null]}`:                    {"names[0]", "is null"},
		`{"names":["\ud800"]}`:                {"names[0]", "want a string of whole characters"},
		`{"parts":{}}`:                        {"parts", "is an object; want a list"},
		`{"parts":["a"]}`:                     {"parts[0]", "is a string; want an object"},
		`{"parts":[{"Name":"a"}]}`:            {"parts[0].Name", "is no field of this call; it takes name, kind"},
		`{"parts":[{},{"name":""}]}`:          {"parts[1].name", "is empty"},
		`{"parts":[{"kind":"a","kind":"a"}]}`: {"parts[0].kind", "is there twice"},
		`{"parts":[{"kind":7}]}`:              {"parts[0].kind", "is a number; want a string"},
		`[]`:                                  {"body", "is a list; want an object"},
		`{`:                                   {"body", "is not valid JSON"},
		"{\"name\":\"\xff\"}":                 {"body", "is not valid UTF-8"},
	} {
		_, err := decodeItem(text)
		wantInvalid(t, text, err, want[0], want[1])
	}
	err := NewBodyDecoder(reflect.TypeFor[None]()).Decode([]byte(`{"x":1}`), reflect.Value{})
	wantInvalid(t, "a field of none", err, "x", "is no field of this call, which takes none")
}

func wantInvalid(t *testing.T, what string, err error, field, problem string) {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) || e.Reason != leasehold.ReasonInvalid || e.Field != field || !strings.Contains(e.Problem, problem) {
		t.Errorf("Decode(%s) = %v, want %s %s", what, err, field, problem)
	}
}

// What the strict decoder takes, the standard one takes too, and reads the
// same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"resource":"r","holder":"a","ttl_seconds":1.5e2,"metadata":{"a":"b"},"blocking":true,"priority":-3}`,
		`{"resource":"\ud83d\udd11\n\\","timeout_ms":null}`, `{"a":[{"b":"]}\""}]}`, `[]`, `{"metadata":{}}`,
		`{"resources":["a","b"],"mode":"shared","namespace":"n","paths":[{"pattern":"p","mode":"shared"}],"claims":[{"pattern":"a"}],"sequence":true}`, `{"paths":null}`, "{\"resource\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	decoder := NewBodyDecoder(reflect.TypeFor[wire.AcquireRequest]())
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, standard wire.AcquireRequest
		if CheckObject(data) != nil || decoder.Decode(data, reflect.ValueOf(&strict).Elem()) != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&standard); err != nil {
			t.Fatalf("Decode(%q) = nil, but the standard decoder says %v", data, err)
		}
		if diff := cmp.Diff(standard, strict); diff != "" {
			t.Fatalf("Decode(%q) reads something else than the standard decoder: %s", data, diff)
		}
		if _, err := d.Token(); err != io.EOF {
			t.Fatalf("Decode(%q) accepted trailing garbage", data)
		}
	})
}
