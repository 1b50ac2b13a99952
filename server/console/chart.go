package console

import (
	"strconv"
	"strings"
)

// svgPath writes the data of an SVG path: letters of commands and numbers.
func svgPath(parts ...any) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch p := part.(type) {
		case rune:
			b.WriteRune(p)
		case float64:
			b.WriteString(strconv.FormatFloat(p, 'f', 1, 64))
		}
	}
	return b.String()
}

// bars is a bar chart: bars of one or more series, stacked. What lies side by side is in
// percent of its width, and heights are pixels, so that text keeps its size.
type bars struct {
	Title  string
	Series []string // names, in the order in which they are stacked
	Top    int      // the value at the top
	Wide   bool
	Bars   []bar
	Ticks  []tick // below the bars
	Empty  bool
}

type bar struct {
	Label string
	Parts []part
	Sum   int
}

type part struct {
	Series      int
	Value       int
	X, Y, W, H  float64
	Label, Name string
}

// tick is a label below a border between two bars, or at an end.
type tick struct {
	X     float64
	Label string
	Place string // class: first, last or minor, which a narrow chart leaves out
}

const chartTop, chartBottom = 8.0, 120.0

// newBars draws values[bar][series].
func newBars(title string, series, labels []string, values [][]int) bars {
	c := bars{Title: title, Series: series}
	for _, v := range values {
		c.Top = max(c.Top, sum(v))
	}
	c.Empty = c.Top == 0
	c.Top = max(c.Top, 1)
	step := 100 / float64(len(values))
	for i, v := range values {
		b := bar{Label: labels[i], Sum: sum(v)}
		y := chartBottom
		for s, n := range v {
			h := float64(n) / float64(c.Top) * (chartBottom - chartTop)
			if n > 0 {
				y -= h
				b.Parts = append(b.Parts, part{Series: s, Value: n, X: (float64(i) + 0.05) * step, Y: y, W: 0.9 * step, H: h, Label: labels[i], Name: series[s]})
			}
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

// tick adds a label below the left border of a bar, or below the right end.
func (c *bars) tick(bar int, label, place string) {
	c.Ticks = append(c.Ticks, tick{100 * float64(bar) / float64(len(c.Bars)), label, place})
}

// Half is the value of the line in the middle, if it is a whole one.
func (c bars) Half() string {
	if c.Top%2 != 0 {
		return ""
	}
	return strconv.Itoa(c.Top / 2)
}

func sum(values []int) (n int) {
	for _, v := range values {
		n += v
	}
	return n
}
