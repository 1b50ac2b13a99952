package catalog

import (
	"slices"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
)

// Where is an expression over the tags of a blob, such as
//
//	"Project" = 'x' AND "Rank" >= '050'
//
// Values are text and are compared as such, byte by byte. Names stand in double
// quotes, which may be left out around letters, digits and underscores. AND
// binds closer than OR; both may be written in small letters.
type Where struct {
	any []whereAll // one of them must hold
}

// whereAll are comparisons that must all hold.
type whereAll []comparison

// comparison of a tag with a value.
type comparison struct {
	key   string // containerKey stands for the name of the container
	op    string // = <> > >= < <=
	value string
}

// containerKey is what an expression calls the container.
const containerKey = "@container"

// maxWhere bounds the length of an expression. Ten tags of the longest names and
// values that there may be fit in.
const maxWhere = 8 << 10

// maxTerms bounds what an expression becomes when it is multiplied out.
const maxTerms = 1000

// ParseWhere reads an expression. What it does not understand is refused with
// InvalidQueryParameterValue.
func ParseWhere(s string) (*Where, error) {
	if len(s) > maxWhere {
		return nil, badWhere("it is longer than %d bytes", maxWhere)
	}
	p := &whereParser{rest: s}
	p.next()
	found, err := p.either()
	if err == nil && p.token.kind != endToken {
		err = p.unexpected("AND, OR or the end")
	}
	if err != nil {
		return nil, err
	}
	w := &Where{any: found}
	if len(w.keys()) > MaxTags {
		return nil, badWhere("it names more than %d tags", MaxTags)
	}
	return w, nil
}

// keys are the names of the tags that the expression speaks of.
func (w *Where) keys() map[string]bool {
	named := map[string]bool{}
	for _, all := range w.any {
		for _, c := range all {
			if c.key != containerKey {
				named[c.key] = true
			}
		}
	}
	return named
}

// check refuses to compare with what no tag can be.
func (c comparison) check() error {
	switch {
	case c.key == containerKey, ValidTag(c.key, c.value):
		return nil
	case !ValidTag(c.key, ""):
		return badWhere("%.40q is no name of a tag: it has 1 to %d letters, digits, spaces and + - . / : = _", c.key, MaxTagKey)
	}
	return badWhere("%.40q is no value of a tag: it has up to %d letters, digits, spaces and + - . / : = _", c.value, MaxTagValue)
}

func badWhere(problem string, args ...any) *azerr.Error {
	return azerr.New(azerr.InvalidQueryParameterValue).With("the expression over tags is not valid: "+problem, args...)
}

// Match reports whether the tags are as the expression says. No comparison but
// <> holds for a tag that is not there.
func (w *Where) Match(tags map[string]string) bool {
	for _, all := range w.any {
		if all.match(tags) {
			return true
		}
	}
	return false
}

func (all whereAll) match(tags map[string]string) bool {
	for _, c := range all {
		if !c.match(tags) {
			return false
		}
	}
	return true
}

func (c comparison) match(tags map[string]string) bool {
	value, there := tags[c.key]
	if !there {
		return c.op == "<>"
	}
	return c.holds(value)
}

func (c comparison) holds(value string) bool {
	order := strings.Compare(value, c.value)
	switch c.op {
	case "=":
		return order == 0
	case "<>":
		return order != 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	}
	return order <= 0
}

// names reports whether the expression speaks of a tag.
func (w *Where) names(key string) bool {
	for _, all := range w.any {
		if slices.ContainsFunc(all, func(c comparison) bool { return c.key == key }) {
			return true
		}
	}
	return false
}

// String writes the expression as ParseWhere reads it.
func (w *Where) String() string {
	ors := make([]string, len(w.any))
	for i, all := range w.any {
		ands := make([]string, len(all))
		for j, c := range all {
			ands[j] = c.String()
		}
		ors[i] = strings.Join(ands, " AND ")
	}
	return strings.Join(ors, " OR ")
}

func (c comparison) String() string {
	if c.key == containerKey {
		return containerKey + " " + c.op + " '" + c.value + "'"
	}
	return `"` + c.key + `" ` + c.op + " '" + c.value + "'"
}
