package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/leasehold/leasehold"
)

// BodyDecoder reads JSON objects of one type. It is stricter than encoding/json,
// which accepts unknown fields, names in the wrong letter case, a name twice and
// half a surrogate pair, and so would run another request than was sent.
type BodyDecoder struct {
	fields map[string]field
	names  string // for people
}

// NewBodyDecoder returns a decoder of the struct type's JSON fields.
func NewBodyDecoder(t reflect.Type) *BodyDecoder {
	d := &BodyDecoder{fields: map[string]field{}}
	var names []string
	for i, f := range fieldsOf(t, "json") {
		f.position = i
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			f.items = NewBodyDecoder(f.Type.Elem())
		}
		d.fields[f.Name] = f
		names = append(names, f.Name)
	}
	d.names = strings.Join(names, ", ")
	return d
}

// Decode reads data, which CheckObject has passed, into v. A field that is null
// counts as left out. Errors name the field and never repeat its value, which may
// be a secret.
func (d *BodyDecoder) Decode(data []byte, v reflect.Value) error {
	seen := uint64(0) // a bit for each field; no body has as many as 64
	return EachField(data, func(key, value []byte) error {
		name, ok := Unquote(key)
		if !ok {
			return leasehold.Invalid("body", "has a field name with half a surrogate pair")
		}
		f, known := d.fields[name]
		switch {
		case !known:
			return UnknownName("field", name, d.names)
		case seen&(1<<f.position) != 0:
			return leasehold.Invalid(name, "is there twice; send it once")
		}
		seen |= 1 << f.position
		return f.decode(value, v.FieldByIndex(f.index))
	})
}

// decode reads the field's value. An empty string or list or 0 is refused where it
// would pass for a field that was left out: a holder or a token that must match would
// match anything.
func (f field) decode(value []byte, v reflect.Value) error {
	err := f.decodeValue(value, v)
	switch sent := value[0] != 'n'; {
	case err != nil || !sent || !f.NonZero:
		return err
	case v.Kind() == reflect.Slice && v.Len() == 0, v.Kind() == reflect.String && v.Len() == 0:
		return leasehold.Invalid(f.Name, "is empty; send a value, or leave it out")
	case v.IsZero():
		return leasehold.Invalid(f.Name, "is 0, which none is; send a value, or leave it out")
	}
	return nil
}

func (f field) decodeValue(value []byte, v reflect.Value) error {
	if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() != reflect.Uint8 { // bytes are any JSON
		return f.decodeList(value, v)
	}
	return decodeValue(f.Name, value, v)
}

// UnknownName is the error for a field or a parameter that the call does not
// take. The name is cut: a client chose it.
func UnknownName(kind, name, names string) error {
	name = fmt.Sprintf("%.64s", name)
	if names == "" {
		return leasehold.Invalid(name, "is no %s of this call, which takes none", kind)
	}
	return leasehold.Invalid(name, "is no %s of this call; it takes %s", kind, names)
}

// CheckObject makes sure that data is one JSON object and nothing else.
func CheckObject(data []byte) error {
	if !utf8.Valid(data) {
		return leasehold.Invalid("body", "is not valid UTF-8")
	}
	if !json.Valid(data) {
		var any json.RawMessage
		return leasehold.Invalid("body", "is not valid JSON: %v", json.Unmarshal(data, &any))
	}
	if start := data[skipSpace(data, 0)]; start != '{' {
		return leasehold.Invalid("body", "is %s; want an object", KindOf(start))
	}
	return nil
}
