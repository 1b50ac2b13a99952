package api

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// form reads the query parameters of one type, as strictly as a shape reads
// bodies: a filter that is not understood would answer another question.
type form struct {
	fields map[string]field
	names  string // for people
}

// open marks a parameter whose name goes on after a dot, as metadata.KEY does.
const open = "."

func formOf(t reflect.Type) *form {
	f := &form{fields: map[string]field{}}
	var names []string
	for _, p := range fieldsOf(t, "query") {
		name := p.Name
		if p.Type.Kind() == reflect.Map {
			name += open
		}
		f.fields[name] = p
		names = append(names, paramName(p))
	}
	f.names = strings.Join(names, ", ")
	return f
}

// paramName is the parameter's name as people read it.
func paramName(f field) string {
	if f.Type.Kind() == reflect.Map {
		return f.Name + open + "KEY"
	}
	return f.Name
}

func (f *form) decode(r *http.Request, v reflect.Value) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("query", "is not well escaped: write % as %25, ; as %3B, + as %2B")
	}
	for name, texts := range values {
		p, key, ok := f.find(name)
		if !ok {
			return f.unknown(name)
		}
		if problem := setParam(v.FieldByIndex(p.index), key, texts); problem != "" {
			return invalid(clip(name), problem)
		}
	}
	return nil
}

func (f *form) find(name string) (p field, key string, ok bool) {
	if p, ok = f.fields[name]; ok && !strings.HasSuffix(name, open) {
		return p, "", true
	}
	before, key, dotted := strings.Cut(name, open)
	p, ok = f.fields[before+open]
	return p, key, ok && dotted
}

func (f *form) unknown(name string) error {
	if f.names == "" {
		return invalid(clip(name), "is no parameter of this call, which takes none")
	}
	return invalid(clip(name), "is no parameter of this call; it takes "+f.names)
}

// setParam reads the parameter's values and returns what is wrong with them.
func setParam(v reflect.Value, key string, texts []string) string {
	if list, ok := v.Addr().Interface().(*[]string); ok {
		*list = splitAll(texts)
		return ""
	}
	if len(texts) > 1 {
		return "is there twice; send it once"
	}
	switch to := v.Addr().Interface().(type) {
	case *string:
		*to = texts[0]
	case *map[string]string:
		if *to == nil {
			*to = map[string]string{}
		}
		(*to)[key] = texts[0]
	case *int:
		return setInt(to, texts[0])
	case *uint64:
		return setSeq(to, texts[0])
	case *time.Time:
		return setTime(to, texts[0])
	default:
		panic(fmt.Sprintf("api: no parameter can be a %T", to))
	}
	return ""
}

func setInt(to *int, text string) string {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 { // 0 would silently mean the default
		return "wants a whole number, 1 or more"
	}
	*to = n
	return ""
}

func setSeq(to *uint64, text string) string {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return "wants the number of an event"
	}
	*to = n
	return ""
}

func setTime(to *time.Time, text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "wants a time such as 2026-01-31T12:00:00Z (RFC 3339; write + as %2B)"
	}
	*to = bound(t)
	return ""
}

// bound keeps the first moment of the year 1 a time: a filter takes Go's zero
// time for none. No record lies between the two.
func bound(t time.Time) time.Time {
	if t.IsZero() {
		return t.Add(time.Nanosecond)
	}
	return t
}

// splitAll takes values that are repeated, or separated by commas, or both.
func splitAll(texts []string) []string {
	return strings.Split(strings.Join(texts, ","), ",")
}

// noQuery refuses parameters on calls that take a body: whoever sends them
// there believes that they count.
var noQuery = formOf(reflect.TypeFor[none]())
