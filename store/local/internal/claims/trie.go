package claims

import "github.com/leasehold/leasehold/machine"

// node is a place in a trie of segments.
type node[T comparable] struct {
	plain map[string]*node[T]
	star  map[string]*node[T] // segments with a * in them
	any   *node[T]            // of **

	values map[T]int // that end here, and by how many claims
}

// child returns where the segment leads; if there is nothing and make is set, to a new
// node.
func (n *node[T]) child(segment string, make bool) *node[T] {
	if segment == "**" {
		if n.any == nil && make {
			n.any = &node[T]{}
		}
		return n.any
	}
	children := n.children(segment)
	next := (*children)[segment]
	if next == nil && make {
		if *children == nil {
			*children = map[string]*node[T]{}
		}
		next = &node[T]{}
		(*children)[segment] = next
	}
	return next
}

// children are those among which the segment is.
func (n *node[T]) children(segment string) *map[string]*node[T] {
	if wild(segment) {
		return &n.star
	}
	return &n.plain
}

func (n *node[T]) add(v T, segments []string) {
	for _, s := range segments {
		n = n.child(s, true)
	}
	if n.values == nil {
		n.values = map[T]int{}
	}
	n.values[v]++
}

// remove removes a value and the nodes that only it needed. It reports whether the node
// is empty.
func (n *node[T]) remove(v T, segments []string) bool {
	if len(segments) == 0 {
		if n.values[v]--; n.values[v] == 0 {
			delete(n.values, v)
		}
		return n.empty()
	}
	s := segments[0]
	if n.child(s, false).remove(v, segments[1:]) {
		if s == "**" {
			n.any = nil
		} else {
			delete(*n.children(s), s)
		}
	}
	return n.empty()
}

func (n *node[T]) empty() bool {
	return len(n.values) == 0 && len(n.plain) == 0 && len(n.star) == 0 && n.any == nil
}

// walker is a search under way.
type walker[T comparable] struct {
	each func(T) bool

	// visited are the places that a search came to behind a **. Without it, patterns
	// such as **/a/**/a would be searched again for each way to match them.
	visited map[visit[T]]struct{}
}

type visit[T comparable] struct {
	node *node[T]
	left int // segments
}

// walk finds the values below n that the segments may overlap with. It reports whether
// the search goes on.
func (w *walker[T]) walk(n *node[T], segments []string) bool {
	if n == nil {
		return true
	}
	if n.any != nil && !w.walkAny(n.any, segments) {
		return false
	}
	if len(segments) == 0 {
		return w.emit(n)
	}
	s, rest := segments[0], segments[1:]
	switch {
	case s == "**":
		return w.walkAll(n)
	case wild(s):
		if !w.walkFitting(n.plain, s, rest) {
			return false
		}
	default:
		if !w.walk(n.plain[s], rest) {
			return false
		}
	}
	return w.walkFitting(n.star, s, rest)
}

// walkFitting continues at the children that overlap with the segment.
func (w *walker[T]) walkFitting(children map[string]*node[T], segment string, rest []string) bool {
	for s, next := range children {
		if machine.OverlapSegments(s, segment) && !w.walk(next, rest) {
			return false
		}
	}
	return true
}

// walkAny continues behind a ** of the trie, which may stand for any of the segments.
func (w *walker[T]) walkAny(n *node[T], segments []string) bool {
	if w.visited == nil {
		w.visited = map[visit[T]]struct{}{}
	}
	for from := range len(segments) + 1 {
		place := visit[T]{n, len(segments) - from}
		if _, again := w.visited[place]; again {
			return true // and so were those behind it
		}
		w.visited[place] = struct{}{}
		if !w.walk(n, segments[from:]) {
			return false
		}
	}
	return true
}

// walkAll finds all values below n.
func (w *walker[T]) walkAll(n *node[T]) bool {
	if n == nil {
		return true
	}
	if !w.emit(n) {
		return false
	}
	for _, children := range []map[string]*node[T]{n.plain, n.star} {
		for _, next := range children {
			if !w.walkAll(next) {
				return false
			}
		}
	}
	return w.walkAll(n.any)
}

func (w *walker[T]) emit(n *node[T]) bool {
	for v := range n.values {
		if !w.each(v) {
			return false
		}
	}
	return true
}
