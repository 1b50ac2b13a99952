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

// bars is a bar chart: bars of one or more series, stacked.
type bars struct {
	Title  string
	Series []string // names, in the order in which they are stacked
	Top    int      // the value at the top
	Width  float64
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

type tick struct {
	X     float64
	Label string
}

const (
	chartHeight            = 140.0
	wideChart, halfChart   = 960.0, 480.0
	chartLeft, chartBottom = 34.0, 20.0
)

// newBars draws values[bar][series].
func newBars(title string, width float64, series, labels []string, values [][]int, tickEvery int) bars {
	c := bars{Title: title, Width: width, Series: series}
	for _, v := range values {
		c.Top = max(c.Top, sum(v))
	}
	c.Empty = c.Top == 0
	c.Top = max(c.Top, 1)
	step := (width - chartLeft) / float64(len(values))
	for i, v := range values {
		b := bar{Label: labels[i], Sum: sum(v)}
		y := chartHeight - chartBottom
		for s, n := range v {
			h := float64(n) / float64(c.Top) * (chartHeight - chartBottom - 12)
			if n > 0 {
				y -= h
				b.Parts = append(b.Parts, part{Series: s, Value: n, X: chartLeft + float64(i)*step + 1, Y: y, W: max(1, step-2), H: h, Label: labels[i], Name: series[s]})
			}
		}
		if i%tickEvery == 0 {
			c.Ticks = append(c.Ticks, tick{chartLeft + float64(i)*step, labels[i]})
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

func sum(values []int) (n int) {
	for _, v := range values {
		n += v
	}
	return n
}
