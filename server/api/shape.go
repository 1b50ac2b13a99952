package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// shape reads JSON objects of one type. It is stricter than encoding/json,
// which takes fields that nobody knows, names in the wrong letter case, a name
// twice and half a surrogate pair, and so does something else than was asked.
type shape struct {
	fields map[string]field
	names  string // for people
}

func shapeOf(t reflect.Type) *shape {
	s := &shape{fields: map[string]field{}}
	var names []string
	for i, f := range fieldsOf(t, "json") {
		f.place = i
		s.fields[f.Name] = f
		names = append(names, f.Name)
	}
	s.names = strings.Join(names, ", ")
	return s
}

// decode reads the object into v. A field that is null counts as left out.
// Errors name the field and never repeat its value, which may be a secret.
func (s *shape) decode(data []byte, v reflect.Value) error {
	if err := checkJSON(data); err != nil {
		return err
	}
	return s.read(data, v)
}

// read is decode of data that is known to be a JSON object.
func (s *shape) read(data []byte, v reflect.Value) error {
	seen := uint64(0) // a bit for each field; no body has as many as 64
	return eachField(data, func(key, value []byte) error {
		name, ok := unquote(key)
		if !ok {
			return invalid("body", "has a field name with half a surrogate pair")
		}
		f, known := s.fields[name]
		switch {
		case !known:
			return s.unknown(name)
		case seen&(1<<f.place) != 0:
			return invalid(name, "is there twice; send it once")
		}
		seen |= 1 << f.place
		return f.decode(value, v.FieldByIndex(f.index))
	})
}

// decode reads the field's value. One that was sent as nothing is refused where
// it would pass for one that was left out: a holder or a token that has to match
// would match anything.
func (f field) decode(value []byte, v reflect.Value) error {
	if err := decodeField(f.Name, value, v); err != nil {
		return err
	}
	switch sent := value[0] != 'n'; {
	case !sent || !f.NonZero || !v.IsZero():
		return nil
	case v.Kind() == reflect.String:
		return invalid(f.Name, "is empty; send a value, or leave it out")
	}
	return invalid(f.Name, "is 0, which none is; send a value, or leave it out")
}

func (s *shape) unknown(name string) error {
	if s.names == "" {
		return invalid(clip(name), "is no field of this call, which takes none")
	}
	return invalid(clip(name), "is no field of this call; it takes "+s.names)
}

// checkJSON makes sure that data is one JSON object and nothing else.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return invalid("body", "is not valid UTF-8")
	}
	if !json.Valid(data) {
		var any json.RawMessage
		return invalid("body", fmt.Sprintf("is not valid JSON: %v", json.Unmarshal(data, &any)))
	}
	if start := data[skipSpace(data, 0)]; start != '{' {
		return invalid("body", "is "+kindOfJSON(start)+"; want an object")
	}
	return nil
}

// eachField calls f for every field of an object that is known to be valid.
func eachField(data []byte, f func(key, value []byte) error) error {
	i := skipSpace(data, 0) + 1
	for {
		i = skipSpace(data, i)
		switch data[i] {
		case '}':
			return nil
		case ',':
			i = skipSpace(data, i+1)
		}
		end := endOf(data, i)
		key := data[i:end]
		i = skipSpace(data, skipSpace(data, end)+1) // over the colon
		end = endOf(data, i)
		if err := f(key, data[i:end]); err != nil {
			return err
		}
		i = end
	}
}

// eachItem calls f for every item of a list that is known to be valid.
func eachItem(data []byte, f func(item []byte) error) error {
	i := skipSpace(data, 0) + 1
	for {
		i = skipSpace(data, i)
		switch data[i] {
		case ']':
			return nil
		case ',':
			i = skipSpace(data, i+1)
		}
		end := endOf(data, i)
		if err := f(data[i:end]); err != nil {
			return err
		}
		i = end
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// endOf returns where the value that begins at i ends.
func endOf(data []byte, i int) int {
	for depth := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = endOfString(data, i)
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default: // a number or a word, or what stands between values
			for depth == 0 && i+1 < len(data) && !strings.ContainsRune(" \t\n\r,}]", rune(data[i+1])) {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(data)
}

// endOfString returns where the closing quotation mark is.
func endOfString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// clip keeps hostile or huge names out of messages.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
