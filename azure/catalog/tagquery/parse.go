package tagquery

import (
	"regexp"
	"strings"
)

// tokenKind is the kind of a word in an expression.
type tokenKind int

const (
	endToken   tokenKind = iota
	keyToken             // a tag's name, or @container
	valueToken           // in single quotes
	opToken              // a comparison
	andToken
	orToken
	openToken
	closeToken
	badToken
)

type token struct {
	kind tokenKind
	text string // without its quotes
}

// parser reads an expression from left to right.
type parser struct {
	rest  string
	token token // the one under consideration
}

var (
	bareKey    = regexp.MustCompile(`^@?[A-Za-z_][A-Za-z0-9_]*`)
	comparator = regexp.MustCompile(`^(<>|>=|<=|=|>|<)`)
)

// next goes on to the next token.
func (p *parser) next() {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	if p.rest == "" {
		p.token = token{kind: endToken}
		return
	}
	switch p.rest[0] {
	case '\'':
		p.quoted('\'', valueToken)
	case '"':
		p.quoted('"', keyToken)
	case '(':
		p.read(openToken, 1)
	case ')':
		p.read(closeToken, 1)
	default:
		p.word()
	}
}

// word reads a name, a comparison, AND or OR.
func (p *parser) word() {
	if n := len(comparator.FindString(p.rest)); n > 0 {
		p.read(opToken, n)
		return
	}
	name := bareKey.FindString(p.rest)
	switch {
	case name == "", name[0] == '@' && !strings.EqualFold(name, containerKey):
		p.read(badToken, len(p.rest))
	case strings.EqualFold(name, containerKey):
		p.read(keyToken, len(name))
		p.token.text = containerKey
	case strings.EqualFold(name, "AND"):
		p.read(andToken, len(name))
	case strings.EqualFold(name, "OR"):
		p.read(orToken, len(name))
	default:
		p.read(keyToken, len(name))
	}
}

func (p *parser) read(kind tokenKind, n int) {
	p.token = token{kind, p.rest[:n]}
	p.rest = p.rest[n:]
}

// quoted reads what stands between two quotes. No tag has a quote in it.
func (p *parser) quoted(quote byte, kind tokenKind) {
	n := strings.IndexByte(p.rest[1:], quote)
	if n < 0 {
		p.read(badToken, len(p.rest))
		return
	}
	text := p.rest[1 : 1+n]
	p.rest = p.rest[n+2:]
	if kind == keyToken && (text == "" || text[0] == '@') {
		kind = badToken // what is quoted is a tag, and no tag is called so
	}
	p.token = token{kind, text}
}

func (p *parser) unexpected(want string) error {
	if p.token.kind == endToken {
		return invalid("it ends where there should be %s", want)
	}
	return invalid("there is %.40q where there should be %s", p.token.text, want)
}

// either reads what is joined by OR.
func (p *parser) either() ([]conjunction, error) {
	found, err := p.both()
	for err == nil && p.token.kind == orToken {
		p.next()
		var more []conjunction
		more, err = p.both()
		found = append(found, more...)
	}
	return found, err
}

// both reads what is joined by AND, and multiplies it out.
func (p *parser) both() ([]conjunction, error) {
	found, err := p.term()
	for err == nil && p.token.kind == andToken {
		p.next()
		var more []conjunction
		if more, err = p.term(); err == nil {
			found, err = product(found, more)
		}
	}
	return found, err
}

func product(a, b []conjunction) ([]conjunction, error) {
	var out []conjunction
	terms := 0
	for _, x := range a {
		for _, y := range b {
			all := append(x[:len(x):len(x)], y...)
			if terms += len(all); terms > maxTerms {
				return nil, invalid("it is too complicated")
			}
			out = append(out, all)
		}
	}
	return out, nil
}

// term reads a comparison, or an expression in parentheses.
func (p *parser) term() ([]conjunction, error) {
	if p.token.kind != openToken {
		c, err := p.comparison()
		return []conjunction{{c}}, err
	}
	p.next()
	found, err := p.either()
	if err == nil && p.token.kind != closeToken {
		err = p.unexpected("a closing parenthesis")
	}
	p.next()
	return found, err
}

func (p *parser) comparison() (c comparison, err error) {
	for _, part := range []struct {
		kind tokenKind
		text *string
		want string
	}{
		{keyToken, &c.key, `the name of a tag, as in "name"`},
		{opToken, &c.op, "a comparison"},
		{valueToken, &c.value, "a value in single quotes"},
	} {
		if p.token.kind != part.kind {
			return c, p.unexpected(part.want)
		}
		*part.text = p.token.text
		p.next()
	}
	return c, c.check()
}
