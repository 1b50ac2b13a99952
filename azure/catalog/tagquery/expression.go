// Package tagquery reads expressions over the tags of a blob: the query of a
// search (Find Blobs by Tags) and the condition of a request (x-ms-if-tags). What
// it does not understand comes back as a *azerr.Error.
package tagquery

import (
	"errors"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
)

// Expression is a condition on the tags of a blob, such as
//
//	"Project" = 'x' AND "Rank" >= '050'
//
// Values are text and are compared as such, byte by byte. Names stand in double
// quotes, which are optional around letters, digits and underscores. AND
// binds closer than OR; both may be written in small letters.
type Expression struct {
	any []conjunction // one of them must hold
}

// conjunction is comparisons that must all hold.
type conjunction []comparison

// comparison of a tag with a value.
type comparison struct {
	key   string // containerKey stands for the name of the container
	op    string // = <> > >= < <=
	value string
}

// containerKey is what an expression calls the container.
const containerKey = "@container"

// maxLength bounds the length of an expression. Ten tags of the longest names and
// values that there may be fit in.
const maxLength = 8 << 10

// maxTerms bounds what an expression becomes when it is multiplied out.
const maxTerms = 1000

// Parse reads an expression. What it does not understand is refused with
// InvalidQueryParameterValue.
func Parse(s string) (*Expression, error) {
	if len(s) > maxLength {
		return nil, invalid("it is longer than %d bytes", maxLength)
	}
	p := &parser{rest: s}
	p.next()
	found, err := p.either()
	if err == nil && p.token.kind != endToken {
		err = p.unexpected("AND, OR or the end")
	}
	if err != nil {
		return nil, err
	}
	e := &Expression{any: found}
	if len(e.keys()) > MaxTags {
		return nil, invalid("it names more than %d tags", MaxTags)
	}
	return e, nil
}

// ParseCondition reads the expression of x-ms-if-tags, which knows no container.
// What it does not understand is refused with InvalidHeaderValue.
func ParseCondition(s string) (*Expression, error) {
	e, err := Parse(s)
	if err == nil && e.Names(containerKey) {
		err = invalid("only a search knows %s", containerKey)
	}
	if refusal := new(azerr.Error); errors.As(err, &refusal) {
		return nil, azerr.New(azerr.InvalidHeaderValue).With(refusal.Message)
	}
	return e, nil
}

// keys are the tags that the expression names.
func (e *Expression) keys() map[string]bool {
	named := map[string]bool{}
	for _, all := range e.any {
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
	case c.key == containerKey, Valid(c.key, c.value):
		return nil
	case !Valid(c.key, ""):
		return invalid("%.40q is no name of a tag: it has 1 to %d letters, digits, spaces and + - . / : = _", c.key, MaxKey)
	}
	return invalid("%.40q is no value of a tag: it has up to %d letters, digits, spaces and + - . / : = _", c.value, MaxValue)
}

func invalid(problem string, args ...any) *azerr.Error {
	return azerr.New(azerr.InvalidQueryParameterValue).With("the expression over tags is not valid: "+problem, args...)
}

// Match reports whether the tags are as the expression says. No comparison but
// <> holds for a tag that is not there.
func (e *Expression) Match(tags map[string]string) bool {
	for _, all := range e.any {
		if all.match(tags) {
			return true
		}
	}
	return false
}

func (all conjunction) match(tags map[string]string) bool {
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

// Names reports whether the expression names a tag.
func (e *Expression) Names(key string) bool {
	for _, all := range e.any {
		if slices.ContainsFunc(all, func(c comparison) bool { return c.key == key }) {
			return true
		}
	}
	return false
}

// String writes the expression as Parse reads it.
func (e *Expression) String() string {
	ors := make([]string, len(e.any))
	for i, all := range e.any {
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
