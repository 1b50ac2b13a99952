package rest

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// QueryDecoder reads the query parameters of one type, as strictly as a
// BodyDecoder reads bodies: a filter that is not understood would answer another
// question.
type QueryDecoder struct {
	fields map[string]field
	names  string // for people
}

// keyed marks a parameter whose name goes on after a dot, as metadata.KEY does.
const keyed = "."

// NewQueryDecoder returns a decoder of the struct type's query fields.
func NewQueryDecoder(t reflect.Type) *QueryDecoder {
	d := &QueryDecoder{fields: map[string]field{}}
	var names []string
	for _, p := range fieldsOf(t, "query") {
		name := p.Name
		if p.Type.Kind() == reflect.Map {
			name += keyed
		}
		d.fields[name] = p
		names = append(names, paramName(p))
	}
	d.names = strings.Join(names, ", ")
	return d
}

// CheckNoQuery refuses parameters on calls that take a body: their sender
// believes that they count.
func CheckNoQuery(query string) error { return noQuery.Decode(query, reflect.Value{}) }

var noQuery = NewQueryDecoder(reflect.TypeFor[None]())

// paramName is the parameter's name as people read it.
func paramName(f field) string {
	if f.Type.Kind() == reflect.Map {
		return f.Name + keyed + "KEY"
	}
	return f.Name
}

// Decode reads the raw query into v.
func (d *QueryDecoder) Decode(query string, v reflect.Value) error {
	if query == "" {
		return nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return leasehold.Invalid("query", "is not well escaped: write %% as %%25, ; as %%3B, + as %%2B")
	}
	for name, texts := range values {
		p, key, ok := d.find(name)
		if !ok {
			return UnknownName("parameter", name, d.names)
		}
		if problem := setParam(v.FieldByIndex(p.index), key, texts); problem != "" {
			return leasehold.Invalid(fmt.Sprintf("%.64s", name), "%s", problem)
		}
	}
	return nil
}

func (d *QueryDecoder) find(name string) (p field, key string, ok bool) {
	if p, ok = d.fields[name]; ok && !strings.HasSuffix(name, keyed) {
		return p, "", true
	}
	before, key, dotted := strings.Cut(name, keyed)
	p, ok = d.fields[before+keyed]
	return p, key, ok && dotted
}

// setParam reads the parameter's values and returns what is wrong with them.
func setParam(v reflect.Value, key string, texts []string) string {
	if list, ok := v.Addr().Interface().(*[]string); ok {
		*list = strings.Split(strings.Join(texts, ","), ",") // repeated, or separated by commas, or both
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
		n, problem := ParseSeq(texts[0])
		*to = n
		return problem
	case *time.Time:
		return setTime(to, texts[0])
	default:
		panic(fmt.Sprintf("rest: no parameter can be a %T", to))
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

// ParseSeq reads the number of an event, or says what is wrong with it.
func ParseSeq(text string) (n uint64, problem string) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, "wants the number of an event"
	}
	return n, ""
}

func setTime(to *time.Time, text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "wants a time such as 2026-01-31T12:00:00Z (RFC 3339; write + as %2B)"
	}
	if t.IsZero() {
		t = t.Add(time.Nanosecond) // a filter takes the zero time for none; no record lies between the two
	}
	*to = t
	return ""
}
