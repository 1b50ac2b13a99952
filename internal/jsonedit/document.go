// Package jsonedit adds members and elements to JSON text and removes them again
// without touching any other byte: order, spaces and line breaks of what others wrote
// stay. What was added and removed again leaves the text as it was.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Document is JSON text and where its values are.
type Document struct {
	text []byte
	root *node
}

// node is a value of the text.
type node struct {
	start, end int     // of the value, in bytes
	items      []*item // of an object or array
}

// item is a member of an object, or an element of an array, whose key is empty.
type item struct {
	key   string
	start int // of the key or the element
	value *node
}

// Parse reads a document, which must be one object.
func Parse(text []byte) (*Document, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		if e := (*json.SyntaxError)(nil); errors.As(err, &e) {
			return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(int(e.Offset), len(text))], []byte("\n")), err)
		}
		return nil, err
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, errors.New("is no JSON object")
	}
	s := scanner{text: text}
	return &Document{text, s.value()}, nil
}

// Bytes returns the text. It is not changed by later edits.
func (d *Document) Bytes() []byte { return d.text }

// scanner finds the values in text that is known to be valid.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) skipSpace() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *scanner) value() *node {
	s.skipSpace()
	n := &node{start: s.at}
	switch c := s.text[s.at]; c {
	case '{', '[':
		s.at++
		n.items = s.items(c == '{')
	case '"':
		s.skipString()
	default:
		for s.at < len(s.text) && strings.IndexByte(" \t\r\n,]}", s.text[s.at]) < 0 {
			s.at++
		}
	}
	n.end = s.at
	return n
}

// items reads what stands between brackets, and the closing one.
func (s *scanner) items(keys bool) (items []*item) {
	for {
		s.skipSpace()
		switch s.text[s.at] {
		case '}', ']':
			s.at++
			return items
		case ',':
			s.at++
			s.skipSpace()
		}
		it := &item{start: s.at}
		if keys {
			s.skipString()
			_ = json.Unmarshal(s.text[it.start:s.at], &it.key) // valid
			s.skipSpace()
			s.at++ // the colon
		}
		it.value = s.value()
		items = append(items, it)
	}
}

func (s *scanner) skipString() {
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
}

// find returns the value at a path of keys, nil if there is none. Of members with the
// same key the last one counts, as for the programs that read the file.
func (d *Document) find(path []string) *node {
	n := d.root
	for _, key := range path {
		it := d.member(n, key)
		if it == nil {
			return nil
		}
		n = it.value
	}
	return n
}

func (d *Document) member(n *node, key string) *item {
	if !d.isObject(n) {
		return nil
	}
	for _, it := range slices.Backward(n.items) {
		if it.key == key {
			return it
		}
	}
	return nil
}

func (d *Document) isObject(n *node) bool { return d.text[n.start] == '{' }
func (d *Document) isArray(n *node) bool  { return d.text[n.start] == '[' }

// Value returns the JSON text of the value at a path of keys, nil if there is none.
func (d *Document) Value(path ...string) json.RawMessage {
	n := d.find(path)
	if n == nil {
		return nil
	}
	return json.RawMessage(d.text[n.start:n.end])
}

// Elements returns the JSON texts of the elements of an array, nil if there is none.
func (d *Document) Elements(path ...string) (all []json.RawMessage) {
	n := d.find(path)
	if n == nil || !d.isArray(n) {
		return nil
	}
	for _, it := range n.items {
		all = append(all, d.text[it.value.start:it.value.end])
	}
	return all
}

// Empty says whether the document is an object without members.
func (d *Document) Empty() bool { return len(d.root.items) == 0 }

// replace puts other text in the place of a part, and reads the document again.
func (d *Document) replace(start, end int, with string) {
	d.text = slices.Concat(d.text[:start], []byte(with), d.text[end:])
	s := scanner{text: d.text}
	d.root = s.value()
}
