package rest

import (
	"reflect"
	"strings"
	"time"
)

// object is a JSON object under construction.
type object = map[string]any

// schemas collects the named types that a document refers to.
type schemas struct{ named object }

// of returns the schema of a type. Structs are named and referred to.
func (s schemas) of(t reflect.Type) object {
	if t == reflect.TypeFor[time.Time]() {
		return object{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Uint64:
		return object{"type": "integer", "format": "int64", "minimum": 0}
	case reflect.Float64:
		return object{"type": "number", "format": "double"}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Struct:
		return s.refer(t)
	}
	return object{} // anything
}

func (s schemas) refer(t reflect.Type) object {
	name := t.Name()
	if t == reflect.TypeFor[None]() {
		return object{"type": "object", "additionalProperties": false}
	}
	if _, known := s.named[name]; !known {
		s.named[name] = nil // a type may refer to itself
		s.named[name] = s.object(t)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// anyOf is the schema of a value that has one of these, which other calls name.
func anyOf(names []string) object {
	var all []object
	for _, name := range names {
		all = append(all, object{"$ref": "#/components/schemas/" + name})
	}
	return object{"anyOf": all}
}

func (s schemas) object(t reflect.Type) object {
	properties, required, either := object{}, []string{}, []object{}
	for _, f := range fieldsOf(t, "json") {
		properties[f.Name] = s.field(f)
		if f.Required {
			required = append(required, f.Name)
		}
		if len(f.Or) > 0 {
			either = append(either, requireOne(append([]string{f.Name}, f.Or...)))
		}
	}
	o := object{"type": "object", "properties": properties}
	if len(either) > 0 {
		o["allOf"] = either
	}
	if strings.HasSuffix(t.Name(), "Request") { // unknown fields are refused; answers may grow
		o["additionalProperties"] = false
	}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// requireOne is the schema of an object that has at least one of these fields.
func requireOne(names []string) object {
	var some []object
	for _, name := range names {
		some = append(some, object{"required": []string{name}})
	}
	return object{"anyOf": some}
}

// field is the schema of a field with what its tags say. A pointer that is
// always there may be null.
func (s schemas) field(f field) object {
	o := s.of(f.Type)
	if len(f.Schemas) > 0 {
		o = anyOf(f.Schemas)
	}
	if f.Required && f.Type.Kind() == reflect.Pointer {
		o = object{"anyOf": []object{o, {"type": "null"}}}
	}
	if f.NonZero {
		least := map[string]string{"string": "minLength", "integer": "minimum", "array": "minItems"}
		o[least[o["type"].(string)]] = 1
	}
	if f.Doc != "" {
		o["description"] = f.Doc
	}
	if len(f.Enum) > 0 {
		target := o
		if items, ok := o["items"].(object); ok {
			target = items
		}
		target["enum"] = f.Enum
	}
	return o
}
