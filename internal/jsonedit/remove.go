package jsonedit

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Unset removes the member of an object if it has exactly this value, whatever its
// spaces and the order of its members. It says whether it did.
func (d *Document) Unset(path []string, key string, value json.RawMessage) bool {
	n := d.find(path)
	if n == nil {
		return false
	}
	it := d.member(n, key)
	if it == nil || !Same(d.text[it.value.start:it.value.end], value) {
		return false
	}
	d.remove(n, slices.Index(n.items, it))
	return true
}

// RemoveElements removes the elements of the array at a path for which drop says so,
// and returns how many there were.
func (d *Document) RemoveElements(path []string, drop func(json.RawMessage) bool) (removed int) {
	for i := 0; ; {
		n := d.find(path)
		if n == nil || !d.isArray(n) || i >= len(n.items) {
			return removed
		}
		value := n.items[i].value
		if !drop(d.text[value.start:value.end]) {
			i++
			continue
		}
		d.remove(n, i)
		removed++
	}
}

// ReplaceElement puts another value in the place of an element.
func (d *Document) ReplaceElement(path []string, index int, value json.RawMessage) {
	n := d.find(path)
	old := n.items[index].value
	d.replace(old.start, old.end, string(value))
}

// remove removes an item and the comma that belongs to it. Insert has put the comma and
// the space in front of it.
func (d *Document) remove(n *node, i int) {
	it := n.items[i]
	switch {
	case i > 0:
		d.replace(n.items[i-1].value.end, it.value.end, "")
	case len(n.items) > 1:
		d.replace(it.start, n.items[1].start, "")
	default:
		d.replace(n.start+1, n.end-1, "")
	}
}

// Tidy undoes the rest of an edit whose value was removed: containers that it made are
// removed if they are empty now, and those that it filled get their space back.
func (d *Document) Tidy(trace Trace) {
	made := slices.Clone(trace.Made)
	slices.SortStableFunc(made, func(a, b []string) int { return len(b) - len(a) }) // the inner ones first
	for _, path := range made {
		outer, key := path[:len(path)-1], path[len(path)-1]
		n := d.find(path)
		if n == nil || len(n.items) > 0 || !d.isObject(n) && !d.isArray(n) {
			continue
		}
		parent := d.find(outer)
		d.remove(parent, slices.Index(parent.items, d.member(parent, key)))
	}
	for _, f := range trace.Filled {
		n := d.find(f.At)
		if n == nil || len(n.items) > 0 || !d.isObject(n) && !d.isArray(n) {
			continue
		}
		d.replace(n.start+1, n.end-1, f.Space)
	}
}

// Same says whether two JSON texts are the same value.
func Same(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
