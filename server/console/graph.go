package console

import (
	"math"
	"strings"

	"github.com/leasehold/leasehold"
)

// graph is a drawing of who waits for whom, in units of its view box.
type graph struct {
	Width, Height float64
	Nodes         []node
	Edges         []edge
	Hidden        int // holders that did not fit
}

// Fits reports whether the drawing can still be read when it is as narrow as a phone.
func (g graph) Fits() bool { return g.Width <= 2*graphMargin+2*nodeWidth+columnGap }

type node struct {
	Name    string
	Label   string // as much of the name as fits
	X, Y    float64
	Waiting bool
}

// Isolated is the label with the marks that keep its direction of writing to itself.
func (n node) Isolated() string { return isolated(n.Label) }

type edge struct {
	From, To string
	Claim    string
	Path     string // of an SVG path
	Refused  bool   // it would have closed a cycle
}

const (
	nodeWidth, nodeHeight = 168.0, 34.0
	columnGap, rowGap     = 84.0, 16.0
	graphMargin           = 12.0
	maxNodes              = 60
	labelWidth            = 17 // in characters of a narrow script
)

// waitEdges are the edges of the list, one for each pair of holders.
func waitEdges(list []leasehold.Wait) (edges []leasehold.WaitEdge) {
	seen := map[[2]string]bool{}
	for _, w := range list {
		for _, b := range w.Behind {
			pair := [2]string{w.Holder, b.Holder}
			if seen[pair] {
				continue
			}
			seen[pair] = true
			edges = append(edges, leasehold.WaitEdge{Holder: w.Holder, Claim: b.Claim, HeldBy: b.Holder})
		}
	}
	return edges
}

// newGraph draws holders in columns: those who wait for nobody on the right, each
// other one to the left of all it waits for.
func newGraph(edges []leasehold.WaitEdge) graph {
	var names []string
	next := map[string][]string{}
	known := map[string]bool{}
	add := func(name string) bool {
		if !known[name] && len(names) < maxNodes {
			known[name] = true
			names = append(names, name)
		}
		return known[name]
	}
	var g graph
	hidden := map[string]bool{}
	var drawn []leasehold.WaitEdge
	for _, e := range edges {
		from, to := add(e.Holder), add(e.HeldBy)
		if !from {
			hidden[e.Holder] = true
		}
		if !to {
			hidden[e.HeldBy] = true
		}
		if from && to {
			next[e.Holder] = append(next[e.Holder], e.HeldBy)
			drawn = append(drawn, e)
		}
	}
	g.Hidden = len(hidden)
	if len(names) == 0 {
		return g
	}
	depth := depths(names, next)
	deepest := 0
	for _, d := range depth {
		deepest = max(deepest, d)
	}
	rows := make([]int, deepest+1)
	at := map[string]node{}
	for _, name := range names {
		column := deepest - depth[name]
		n := node{Name: name, Label: shorten(name, labelWidth), Waiting: len(next[name]) > 0,
			X: graphMargin + float64(column)*(nodeWidth+columnGap), Y: graphMargin + float64(rows[column])*(nodeHeight+rowGap)}
		rows[column]++
		at[name] = n
		g.Nodes = append(g.Nodes, n)
		g.Height = math.Max(g.Height, n.Y+nodeHeight+graphMargin)
	}
	g.Width = 2*graphMargin + float64(deepest+1)*nodeWidth + float64(deepest)*columnGap
	for _, e := range drawn {
		g.Edges = append(g.Edges, edge{From: e.Holder, To: e.HeldBy, Claim: e.Claim.String(), Path: curve(at[e.Holder], at[e.HeldBy])})
	}
	return g
}

// depths counts for each name how long a chain of waits from it is. A cycle, which
// only stores without deadlock refusal have, is cut where it closes.
func depths(names []string, next map[string][]string) map[string]int {
	depth, under := map[string]int{}, map[string]bool{}
	var visit func(string) int
	visit = func(name string) int {
		if d, ok := depth[name]; ok {
			return d
		}
		if under[name] {
			return -1
		}
		under[name] = true
		d := 0
		for _, to := range next[name] {
			d = max(d, 1+visit(to))
		}
		depth[name] = d
		return d
	}
	for _, name := range names {
		visit(name)
	}
	return depth
}

// newCycle draws a cycle as a row of holders; the last edge leads back to the first.
// Refused is the edge that would have closed it.
func newCycle(edges []leasehold.WaitEdge, refused int) graph {
	if len(edges) == 0 || len(edges) > maxNodes {
		return graph{}
	}
	g := graph{Height: 2*graphMargin + nodeHeight + 44, Width: 2*graphMargin + float64(len(edges))*nodeWidth + float64(len(edges)-1)*columnGap}
	for i, e := range edges {
		g.Nodes = append(g.Nodes, node{Name: e.Holder, Label: shorten(e.Holder, labelWidth), Waiting: true,
			X: graphMargin + float64(i)*(nodeWidth+columnGap), Y: graphMargin})
	}
	for i, e := range edges {
		drawn := edge{From: e.Holder, To: e.HeldBy, Claim: e.Claim.String(), Refused: i == refused}
		if i+1 < len(edges) {
			drawn.Path = curve(g.Nodes[i], g.Nodes[i+1])
		} else {
			last, first := g.Nodes[i], g.Nodes[0]
			y, low := last.Y+nodeHeight, last.Y+nodeHeight+36
			drawn.Path = svgPath('M', last.X+nodeWidth/2, y, 'C', last.X+nodeWidth/2, low+12, first.X+nodeWidth/2, low+12, first.X+nodeWidth/2, y+4)
		}
		g.Edges = append(g.Edges, drawn)
	}
	return g
}

// curve leads from the right side of one node to the left side of another; back
// around, if that stands to its left.
func curve(from, to node) string {
	x1, y1, x2, y2 := from.X+nodeWidth, from.Y+nodeHeight/2, to.X-4, to.Y+nodeHeight/2
	bend := math.Max(30, (x2-x1)/2)
	return svgPath('M', x1, y1, 'C', x1+bend, y1, x2-bend, y2, x2, y2)
}

// isolated puts a name between marks. One inside that would end the isolation is left out.
func isolated(name string) string {
	return "\u2068" + strings.ReplaceAll(name, "\u2069", "") + "\u2069"
}

// shorten cuts a name to so many characters, of which those of a wide script count twice.
func shorten(name string, most int) string {
	width, cut := 0, 0 // cut is where an ellipsis would still fit
	for i, r := range name {
		if width < most {
			cut = i
		}
		if width++; r >= 0x1100 {
			width++
		}
		if width > most {
			return name[:cut] + "…"
		}
	}
	return name
}
