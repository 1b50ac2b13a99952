package machine

import "strings"

// grid remembers, for each pair of suffixes of two patterns, whether something fits
// both: where they overlap. Without it, patterns with many wildcards would take
// exponential time.
type grid struct {
	width int
	fits  []bool
}

func newGrid(a, b int) grid { return grid{width: b + 1, fits: make([]bool, (a+1)*(b+1))} }

func (g grid) at(i, j int) bool { return g.fits[i*g.width+j] }

// fill computes all pairs, the shortest first. One says whether single elements fit;
// the others, whether the element is a wildcard for any number of elements.
func fill(a, b int, wildA, wildB func(int) bool, one func(i, j int) bool) grid {
	g := newGrid(a, b)
	for i := a; i >= 0; i-- {
		for j := b; j >= 0; j-- {
			g.fits[i*g.width+j] = i == a && j == b ||
				i < a && wildA(i) && (g.at(i+1, j) || j < b && g.at(i, j+1)) ||
				j < b && wildB(j) && (g.at(i, j+1) || i < a && g.at(i+1, j)) ||
				i < a && j < b && !wildA(i) && !wildB(j) && g.at(i+1, j+1) && one(i, j)
		}
	}
	return g
}

// meetPaths returns a pattern that fits into both, which overlap. It keeps a wildcard
// where both have one, and elsewhere the narrower of the two.
func meetPaths(a, b []string) (part []string) {
	wildA, wildB := func(i int) bool { return a[i] == "**" }, func(j int) bool { return b[j] == "**" }
	g := fill(len(a), len(b), wildA, wildB, func(i, j int) bool { return OverlapSegments(a[i], b[j]) })
	walk(g, len(a), len(b), wildA, wildB,
		func(i, j int) {
			switch {
			case i < 0 && j < 0:
				if len(part) == 0 || part[len(part)-1] != "**" {
					part = append(part, "**")
				}
			case i < 0:
				part = append(part, b[j])
			case j < 0:
				part = append(part, a[i])
			default:
				part = append(part, meetSegments(a[i], b[j]))
			}
		})
	return part
}

// meetSegments is meetPaths for the bytes of two segments.
func meetSegments(a, b string) string {
	var part strings.Builder
	last := byte(0)
	put := func(c byte) {
		if c != '*' || last != '*' {
			part.WriteByte(c)
		}
		last = c
	}
	wildA, wildB := func(i int) bool { return a[i] == '*' }, func(j int) bool { return b[j] == '*' }
	g := fill(len(a), len(b), wildA, wildB, func(i, j int) bool { return a[i] == b[j] })
	walk(g, len(a), len(b), wildA, wildB,
		func(i, j int) {
			switch {
			case i < 0 && j < 0:
				put('*')
			case i < 0:
				put(b[j])
			default:
				put(a[i])
			}
		})
	return part.String()
}

// walk follows one way through the grid and emits what fits both on it: elements of
// one pattern or of both, with -1 for the one whose wildcard absorbs it; -1 twice is a
// wildcard of both.
func walk(g grid, a, b int, wildA, wildB func(int) bool, emit func(i, j int)) {
	for i, j := 0, 0; i < a || j < b; {
		wa, wb := i < a && wildA(i), j < b && wildB(j)
		switch {
		case wa && wb:
			emit(-1, -1)
			if g.at(i+1, j) {
				i++
			} else {
				j++
			}
		case wa && j < b && g.at(i, j+1):
			emit(-1, j)
			j++
		case wa:
			i++
		case wb && i < a && g.at(i+1, j):
			emit(i, -1)
			i++
		case wb:
			j++
		default:
			emit(i, j)
			i, j = i+1, j+1
		}
	}
}
