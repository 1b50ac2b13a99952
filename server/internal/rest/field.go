package rest

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// field is one value of a body, of a query or of an answer, as its tags say.
type field struct {
	Name     string
	Doc      string
	Example  string
	Enum     []string
	Schemas  []string // names of those that a value without a type may have
	Required bool
	Or       []string // the other names of a field that is required by one of them
	NonZero  bool     // where it is sent, it is neither empty nor 0
	Type     reflect.Type
	index    []int        // in its struct
	position int          // among the fields
	items    *BodyDecoder // of a list of objects
}

// fieldsOf lists the fields that the tag names ("json" or "query"), those of
// embedded structs among them. Required are JSON fields that are never omitted,
// parameters that say so, and the field that an embedding names. No type has no
// fields.
func fieldsOf(t reflect.Type, tag string) []field {
	if t == nil {
		return nil
	}
	var fields []field
	for f := range t.Fields() {
		if f.Anonymous {
			for _, inner := range fieldsOf(f.Type, tag) {
				inner.index = append([]int{f.Index[0]}, inner.index...)
				inner.Required = inner.Required || inner.Name == f.Tag.Get("required")
				fields = append(fields, inner)
			}
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get(tag), ",")
		if name == "" || name == "-" {
			continue
		}
		fields = append(fields, field{
			Name: name, Doc: f.Tag.Get("doc"), Example: f.Tag.Get("example"), Enum: listOf(f.Tag.Get("enum")),
			Schemas:  listOf(f.Tag.Get("schema")),
			NonZero:  f.Tag.Get("sent") == "nonzero",
			Required: tag == "json" && !strings.HasPrefix(options, "omit") || options == "required",
			Or:       listOf(f.Tag.Get("or")), Type: f.Type, index: f.Index,
		})
	}
	return fields
}

func listOf(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ",")
}

// Kind says for people what the field holds.
func (f field) Kind() string { return kindOf(f.Type) }

func kindOf(t reflect.Type) string {
	if t == reflect.TypeFor[time.Time]() {
		return "time"
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return "object"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Map:
		return "object of strings"
	case reflect.Slice:
		return "list of " + kindOf(t.Elem())
	case reflect.Struct:
		return t.Name()
	}
	return "anything"
}
