package rest

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type page struct {
	Limit int `query:"limit"`
}

// filter is a query with a parameter of each kind.
type filter struct {
	Name   string            `query:"name,required" example:"a"`
	Kinds  []string          `query:"kind" enum:"x,y"`
	Labels map[string]string `query:"labels" doc:"Only these."`
	After  uint64            `query:"after"`
	Since  time.Time         `query:"since"`
	page
}

func decodeFilter(query string) (filter, error) {
	var v filter
	err := NewQueryDecoder(reflect.TypeFor[filter]()).Decode(query, reflect.ValueOf(&v).Elem())
	return v, err
}

func TestQueryDecoder(t *testing.T) {
	for query, want := range map[string]filter{
		"": {},
		"name=a+b%2F&kind=x,y&kind=z&labels.a.b=1&labels.c=&after=9&limit=3": {Name: "a b/", Kinds: []string{"x", "y", "z"},
			Labels: map[string]string{"a.b": "1", "c": ""}, After: 9, page: page{Limit: 3}},
		"since=2026-01-31T12:00:00Z": {Since: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)},
		"since=0001-01-01T00:00:00Z": {Since: time.Time{}.Add(time.Nanosecond)}, // the zero time would mean none
	} {
		got, err := decodeFilter(query)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(filter{})); err != nil || diff != "" {
			t.Errorf("Decode(%q) = %v, differs (-want +got):\n%s", query, err, diff)
		}
	}
}

func TestQueryDecoderRefuses(t *testing.T) {
	for query, want := range map[string][2]string{
		"colour=1":          {"colour", "is no parameter of this call; it takes name, kind, labels.KEY, after, since, limit"},
		"labels=1":          {"labels", "is no parameter"},
		"name.x=1":          {"name.x", "is no parameter"},
		"name=%zz":          {"query", "write % as %25, ; as %3B, + as %2B"},
		"name=a&name=b":     {"name", "is there twice; send it once"},
		"limit=0":           {"limit", "wants a whole number, 1 or more"},
		"after=-1":          {"after", "wants the number of an event"},
		"since=yesterday":   {"since", "RFC 3339; write + as %2B"},
		"labels.a&labels.a": {"labels.a", "is there twice"},
	} {
		_, err := decodeFilter(query)
		wantInvalid(t, query, err, want[0], want[1])
	}
	wantInvalid(t, "x=1", CheckNoQuery("x=1"), "x", "is no parameter of this call, which takes none")
}
