package sign

import (
	"net/url"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
)

// Query is a query as it was sent, decoded: a list, because it has an entry or
// two and is read for every request.
type Query []Parameter

// Parameter is one entry of a query.
type Parameter struct{ Name, Value string } // the name in lower case

// ParseQuery refuses what url.ParseQuery drops in silence, since a parameter
// that is not signed must not exist. A semicolon is an ordinary character.
func ParseQuery(raw string) (Query, error) {
	var q Query
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		if err != nil || err2 != nil {
			return nil, azerr.New(azerr.InvalidQueryParameterValue).With("The query has a % that does not begin an escape.")
		}
		q = append(q, Parameter{strings.ToLower(name), value})
	}
	return q, nil
}

// Get returns the first value of that name; "" if there is none.
func (q Query) Get(name string) string {
	for _, p := range q {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// Has reports whether there is a parameter of that name.
func (q Query) Has(name string) bool {
	for _, p := range q {
		if p.Name == name {
			return true
		}
	}
	return false
}

// Values returns the query as net/url has it.
func (q Query) Values() url.Values {
	values := url.Values{}
	for _, p := range q {
		values[p.Name] = append(values[p.Name], p.Value)
	}
	return values
}
