package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold"
)

// decodeValue reads one JSON value, known to be valid, into v.
func decodeValue(name string, raw []byte, v reflect.Value) error {
	if raw[0] == 'n' {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return decodeValue(name, raw, v.Elem())
	}
	if v.Kind() == reflect.Map {
		return decodeMap(name, raw, v)
	}
	want, ok := decodeScalar(raw, v)
	if !ok {
		return leasehold.Invalid(name, "is %s; want %s", KindOf(raw[0]), want)
	}
	return nil
}

// decodeScalar reads a value that is not composed, and says what it expects.
func decodeScalar(raw []byte, v reflect.Value) (want string, ok bool) {
	switch v.Kind() {
	case reflect.String:
		s, ok := Unquote(raw)
		v.SetString(s)
		return "a string of whole characters", ok
	case reflect.Bool:
		v.SetBool(raw[0] == 't')
		return "true or false", raw[0] == 't' || raw[0] == 'f'
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		v.SetInt(n)
		return "a whole number", err == nil
	case reflect.Uint64:
		n, err := strconv.ParseUint(string(raw), 10, 64)
		v.SetUint(n)
		return "a whole number, 0 or more", err == nil
	case reflect.Float64:
		n, err := strconv.ParseFloat(string(raw), 64)
		v.SetFloat(n)
		return "a number", isNumber(raw) && err == nil
	default: // any type: the handler decides
		return "a JSON value", json.Unmarshal(raw, v.Addr().Interface()) == nil
	}
}

// decodeList reads a list of strings or of objects. Errors name the item.
func (f field) decodeList(raw []byte, v reflect.Value) error {
	switch raw[0] {
	case 'n':
		return nil
	case '[':
	default:
		return leasehold.Invalid(f.Name, "is %s; want a list", KindOf(raw[0]))
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 1))
	return EachItem(raw, func(item []byte) error {
		next := reflect.New(f.Type.Elem()).Elem()
		if err := f.decodeItem(item, next); err != nil {
			return inItem(fmt.Sprintf("%s[%d]", f.Name, v.Len()), err)
		}
		v.Set(reflect.Append(v, next))
		return nil
	})
}

func (f field) decodeItem(item []byte, v reflect.Value) error {
	switch {
	case item[0] == 'n':
		return leasehold.Invalid("", "is null; leave it out")
	case f.items == nil:
		return decodeValue("", item, v)
	case item[0] != '{':
		return leasehold.Invalid("", "is %s; want an object", KindOf(item[0]))
	}
	return f.items.Decode(item, v)
}

// inItem puts the item's name before the field of an error.
func inItem(name string, err error) error {
	if e, ok := err.(*leasehold.Error); ok {
		e.Field = strings.TrimSuffix(name+"."+e.Field, ".")
	}
	return err
}

func decodeMap(name string, raw []byte, v reflect.Value) error {
	if raw[0] != '{' {
		return leasehold.Invalid(name, "is %s; want an object of strings", KindOf(raw[0]))
	}
	m := map[string]string{}
	v.Set(reflect.ValueOf(m))
	return EachField(raw, func(key, value []byte) error {
		k, whole := Unquote(key)
		text, isText := Unquote(value)
		switch _, twice := m[k]; {
		case !whole:
			return leasehold.Invalid(name, "has a key with half a surrogate pair")
		case twice:
			return leasehold.Invalid(name, "has the key %.64q twice; send it once", k)
		case !isText:
			return leasehold.Invalid(name, "has under %.64q %s; want a string of whole characters", k, KindOf(value[0]))
		}
		m[k] = text
		return nil
	})
}

// Unquote reads a JSON string. It refuses half a surrogate pair, which stands
// for no character and which encoding/json would silently replace.
func Unquote(raw []byte) (string, bool) {
	if raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil && !halfSurrogate(raw)
}

func halfSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		r := escapedRune(raw[i-1:])
		switch {
		case r >= 0xDC00 && r < 0xE000:
			return true
		case r >= 0xD800 && r < 0xDC00:
			if low := escapedRune(raw[i+5:]); low < 0xDC00 || low >= 0xE000 {
				return true
			}
			i += 10
		}
	}
	return false
}

// escapedRune reads \uXXXX at the start of raw, or returns -1.
func escapedRune(raw []byte) int {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

func isNumber(raw []byte) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// KindOf names a JSON value by its first byte.
func KindOf(first byte) string {
	switch first {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
