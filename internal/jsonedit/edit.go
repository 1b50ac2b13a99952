package jsonedit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Trace is what an edit did besides adding a value, which Tidy needs to undo it.
type Trace struct {
	// Made are the paths of objects and arrays that were not there before.
	Made [][]string `json:"made,omitempty"`
	// Filled are those that were there, but empty, with the space between their
	// brackets.
	Filled []Filled `json:"filled,omitempty"`
}

// Filled is a container that was empty.
type Filled struct {
	At    []string `json:"at"`
	Space string   `json:"space"`
}

// Set adds a member to the object at a path of keys, which is made where it is missing.
// The key must not be there yet. Nothing is changed if it fails.
func (d *Document) Set(path []string, key string, value json.RawMessage, trace *Trace) error {
	return d.add(path, '{', key, value, trace)
}

// Append adds an element to the array at a path of keys, which is made where it is
// missing. Nothing is changed if it fails.
func (d *Document) Append(path []string, value json.RawMessage, trace *Trace) error {
	return d.add(path, '[', "", value, trace)
}

func (d *Document) add(path []string, kind byte, key string, value json.RawMessage, trace *Trace) error {
	n, depth := d.root, 0
	for ; depth < len(path); depth++ {
		if !d.isObject(n) {
			return fmt.Errorf("%s is no object", name(path[:depth]))
		}
		it := d.member(n, path[depth])
		if it == nil {
			break
		}
		n = it.value
	}
	if depth == len(path) {
		if d.text[n.start] != kind {
			return fmt.Errorf("%s is no %s", name(path), map[byte]string{'{': "object", '[': "array"}[kind])
		}
		if kind == '{' && d.member(n, key) != nil {
			return fmt.Errorf("%s is there already", name(append(slices.Clone(path), key)))
		}
		d.insert(n, path, key, value, trace)
		return nil
	}
	if !d.isObject(n) {
		return fmt.Errorf("%s is no object", name(path[:depth]))
	}
	// The containers that are missing, from the inside out.
	for i := len(path); i > depth; i-- {
		if kind == '[' {
			value = slices.Concat([]byte("["), value, []byte("]"))
		} else {
			value = slices.Concat([]byte("{"), encode(key), []byte(":"), value, []byte("}"))
		}
		kind, key = '{', path[i-1]
		trace.Made = append(trace.Made, slices.Clone(path[:i]))
	}
	d.insert(n, path[:depth], key, value, trace)
	return nil
}

func name(path []string) string {
	if len(path) == 0 {
		return "the document"
	}
	return `"` + strings.Join(path, `"."`) + `"`
}

// insert adds an item behind the last one of a container.
func (d *Document) insert(n *node, path []string, key string, value json.RawMessage, trace *Trace) {
	if len(n.items) == 0 {
		space := string(d.text[n.start+1 : n.end-1])
		trace.Filled = append(trace.Filled, Filled{slices.Clone(path), space})
		if !bytes.ContainsRune(d.text, '\n') && n != d.root {
			d.replace(n.start+1, n.end-1, d.item(key, value, "", ""))
			return
		}
		outer := d.indentation(n.start)
		line := d.lineBreak() + outer + d.unit()
		d.replace(n.start+1, n.end-1, line+d.item(key, value, line, d.unit())+d.lineBreak()+outer)
		return
	}
	last := n.items[len(n.items)-1]
	before := n.start + 1
	if len(n.items) > 1 {
		before = n.items[len(n.items)-2].value.end
	}
	space := trailingSpace(d.text[before:last.start])
	if !strings.Contains(space, "\n") {
		if len(n.items) == 1 {
			space = " "
		}
		d.replace(last.value.end, last.value.end, ","+space+d.item(key, value, "", ""))
		return
	}
	line := d.lineBreak() + space[strings.LastIndexByte(space, '\n')+1:]
	d.replace(last.value.end, last.value.end, ","+line+d.item(key, value, line, d.unit()))
}

// trailingSpace returns the space at the end of a text.
func trailingSpace(text []byte) string {
	return string(text[len(bytes.TrimRight(text, " \t\r\n")):])
}

// item is the text of a new item: in one line, or with further lines that begin with
// line.
func (d *Document) item(key string, value json.RawMessage, line, unit string) string {
	var b bytes.Buffer
	if line == "" {
		_ = json.Compact(&b, value) // valid: callers' constants and encoded values
	} else {
		prefix := strings.TrimLeft(line, "\r\n")
		_ = json.Indent(&b, value, prefix, unit)
	}
	text := strings.ReplaceAll(b.String(), "\n", d.lineBreak())
	if key == "" {
		return text
	}
	return string(encode(key)) + ": " + text
}

func encode(key string) []byte {
	text, _ := json.Marshal(key)
	return text
}

func (d *Document) lineBreak() string {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// indentation returns the space at the start of the line of a place.
func (d *Document) indentation(at int) string {
	line := d.text[bytes.LastIndexByte(d.text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is the indentation of the document's first member, two spaces if there is none.
func (d *Document) unit() string {
	if len(d.root.items) > 0 {
		space := trailingSpace(d.text[:d.root.items[0].start])
		if at := strings.LastIndexByte(space, '\n'); at >= 0 && at+1 < len(space) {
			return space[at+1:]
		}
	}
	return "  "
}
