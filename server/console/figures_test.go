package console

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
)

func TestTexts(t *testing.T) {
	for seconds, want := range map[float64]string{
		-1: "no end", 0: "0 s", 0.2: "1 s", 59: "59 s", 60: "1 min 00 s", 3599: "59 min 59 s", 3600: "1 h 00 min", 90061: "1 d 01 h",
	} {
		if got := leftText(seconds); got != want {
			t.Errorf("leftText(%v) = %q, want %q", seconds, got, want)
		}
	}
	at := time.Date(2026, 1, 31, 14, 3, 7, 0, time.UTC)
	for now, want := range map[time.Time]string{at.Add(9 * time.Hour): "14:03:07", at.Add(10 * time.Hour): "2026-01-31"} {
		if got := sinceText(at, now); got != want {
			t.Errorf("sinceText(%v, %v) = %q, want %q", at, now, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 ms", time.Microsecond: "<1 ms", 5 * time.Millisecond: "5 ms", 1500 * time.Millisecond: "1.5 s", 2 * time.Minute: "2 min 00 s"} {
		if got := preciseText(d); got != want {
			t.Errorf("preciseText(%v) = %q, want %q", d, got, want)
		}
	}
	if clockText(time.Time{}) != "–" || dayText(time.Time{}) != "–" {
		t.Error("a zero time is written as a time")
	}
}

func TestDetailTexts(t *testing.T) {
	got := detailTexts(map[string]string{"ends_in_ms": "600000", "waited_ms": "400", "ended_ms_ago": "2500", "from": "ci:1"})
	want := []string{"ended 2.5 s before", "for 10 min 00 s", "from=ci:1", "waited 400 ms"}
	if !slices.Equal(got, want) {
		t.Errorf("detailTexts() = %q, want %q", got, want)
	}
	got = detailTexts(map[string]string{"claims": `[{"namespace":"shop","pattern":"src/**","mode":"exclusive"},{"pattern":"db","mode":"shared"}]`})
	if want := []string{"shop src/**, db (shared)"}; !slices.Equal(got, want) {
		t.Errorf("detailTexts(claims) = %q, want %q", got, want)
	}
	for value, want := range map[string]string{"-1": "no end", "soon": "ends_in_ms=soon"} {
		if got := detailTexts(map[string]string{"ends_in_ms": value}); len(got) != 1 || got[0] != want {
			t.Errorf("detailTexts(ends_in_ms=%s) = %q, want %q", value, got, want)
		}
	}
}

func TestMeasure(t *testing.T) {
	from := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return from.Add(time.Duration(s) * time.Second) }
	active, released, expired := leasehold.StateActive, leasehold.StateReleased, leasehold.StateExpired
	records := []leasehold.Record{ // newest first
		{At: at(47), Kind: leasehold.KindReleased, Resource: "old", Token: 9, Before: active, After: released},
		{At: at(40), Kind: leasehold.KindFailed, Resource: "a", Holder: "c", Details: map[string]string{"waited_ms": "5000"}},
		{At: at(39), Kind: leasehold.KindFailed, Resource: "a", Holder: "c", Why: "superseded", Details: map[string]string{"waited_ms": "4000"}},
		{At: at(30), Kind: leasehold.KindExpired, Resource: "a", Token: 2, Before: active, After: expired},
		{At: at(10), Kind: leasehold.KindAcquired, Resource: "a", Holder: "b", Token: 2, After: active, Details: map[string]string{"waited_ms": "9000"}},
		{At: at(10), Kind: leasehold.KindReleased, Resource: "a", Token: 1, Before: active, After: released},
		{At: at(5), Kind: leasehold.KindRenewed, Resource: "a", Token: 1, Before: active, After: active},
		{At: at(0), Kind: leasehold.KindAcquired, Resource: "a", Holder: "a", Token: 1, After: active},
	}
	f := measure(records, from, at(48))
	if f.Granted != 2 || f.Ended != 3 || f.Failed != 1 || f.Unmeasured != 1 || f.Waits.N != 2 || f.Holds.N != 2 {
		t.Errorf("measure = %+v", f)
	}
	if f.Waits.Max != 9*time.Second || f.Waits.Least != 5*time.Second || f.Holds.Median != 10*time.Second || f.Holds.Max != 20*time.Second {
		t.Errorf("waits %+v, holds %+v", f.Waits, f.Holds)
	}
	if len(f.Longest) != 2 || f.Longest[0].Holder != "b" || !f.Longest[0].Granted || f.Longest[1].Granted {
		t.Errorf("the longest waits are %+v", f.Longest)
	}
	if diff := cmp.Diff([][]int{{1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {0, 1, 0}}, [][]int{f.slots[0], f.slots[10], f.slots[30], f.slots[40], f.slots[47]}); diff != "" {
		t.Errorf("slots differ (-want +got):\n%s", diff)
	}
	if rate := f.PerMinute(4); rate != 5 {
		t.Errorf("PerMinute(4) in 48 s = %v, want 5", rate)
	}
}

// A wait on a border belongs to the bar above it, and every label is a border's.
func TestDistributionChart(t *testing.T) {
	var d distribution
	for _, each := range []time.Duration{0, 9 * time.Millisecond, 10 * time.Millisecond, time.Hour, 30 * time.Hour} {
		d.add(each)
	}
	c := d.chart("title")
	var got []string
	for _, b := range c.Bars {
		for _, p := range b.Parts {
			got = append(got, fmt.Sprintf("%s: %d", b.Label, p.Value))
		}
	}
	if diff := cmp.Diff([]string{"less than 10 ms: 2", "10 ms to 100 ms: 1", "1 h or more: 2"}, got); diff != "" {
		t.Errorf("bars differ (-want +got):\n%s", diff)
	}
	if len(c.Ticks) != len(c.Bars)-1 || c.Ticks[0].Label != "10 ms" || c.Half() != "1" {
		t.Errorf("ticks %+v, half %q", c.Ticks, c.Half())
	}
}

func TestTimeline(t *testing.T) {
	from := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return from.Add(time.Duration(s) * time.Second) }
	active, released := leasehold.StateActive, leasehold.StateReleased
	records := []leasehold.Record{
		{At: at(80), Kind: leasehold.KindAcquired, Holder: "a", Token: 3, After: active},
		{At: at(60), Kind: leasehold.KindReleased, Holder: "b", Token: 2, Before: active, After: released},
		{At: at(20), Kind: leasehold.KindTransferred, Holder: "b", Token: 2, Before: active, After: active},
		{At: at(0), Kind: leasehold.KindRenewed, Holder: "a", Token: 1, Before: active, After: active},
	}
	spans, start, end := timeline(records, at(100), true)
	var got []string
	for _, s := range spans {
		got = append(got, fmt.Sprintf("%s %.0f+%.0f c%d %v", s.Holder, s.X, s.Width, s.Color, s.Live))
	}
	if diff := cmp.Diff([]string{"a 0+200 c0 false", "b 200+400 c1 false", "a 800+200 c0 true"}, got); diff != "" {
		t.Errorf("spans differ (-want +got):\n%s", diff)
	}
	if !start.Equal(from) || !end.Equal(at(100)) {
		t.Errorf("the timeline is from %v to %v", start, end)
	}
	if spans, _, _ := timeline(nil, from, false); spans != nil {
		t.Errorf("no records make %v", spans)
	}
}

func TestGraph(t *testing.T) {
	edge := func(a, b string) leasehold.WaitEdge {
		return leasehold.WaitEdge{Holder: a, HeldBy: b, Claim: leasehold.Claim{Pattern: "r"}}
	}
	g := newGraph([]leasehold.WaitEdge{edge("a", "b"), edge("b", "c"), edge("d", "c")})
	x := map[string]float64{}
	for _, n := range g.Nodes {
		x[n.Name] = n.X
	}
	if !(x["a"] < x["b"] && x["b"] < x["c"] && x["d"] == x["b"]) || len(g.Edges) != 3 {
		t.Errorf("the graph is %+v", g)
	}
	if loop := newGraph([]leasehold.WaitEdge{edge("a", "b"), edge("b", "a")}); len(loop.Nodes) != 2 || len(loop.Edges) != 2 {
		t.Errorf("a cycle is drawn as %+v", loop)
	}
	var many []leasehold.WaitEdge
	for i := range 100 {
		many = append(many, edge(fmt.Sprint("w", i), "h"))
	}
	if g := newGraph(many); len(g.Nodes) != maxNodes || g.Hidden != 100+1-maxNodes {
		t.Errorf("a large graph has %d nodes and hides %d", len(g.Nodes), g.Hidden)
	}
	if c := newCycle([]leasehold.WaitEdge{edge("a", "b"), edge("b", "a")}, 0); len(c.Nodes) != 2 || !c.Edges[0].Refused || c.Edges[1].Refused {
		t.Errorf("a refused cycle is drawn as %+v", c)
	}
	if c := newCycle(nil, 0); len(c.Nodes) != 0 {
		t.Errorf("no cycle is drawn as %+v", c)
	}
	if got := shorten(strings.Repeat("é", 30), 5); got != "éééé…" {
		t.Errorf("shorten = %q", got)
	}
	if got := shorten(strings.Repeat("東", 30), 5); got != "東東…" {
		t.Errorf("shorten of wide characters = %q", got)
	}
	if edges := decodeCycle("nonsense"); edges != nil {
		t.Errorf("decodeCycle(nonsense) = %v", edges)
	}
	if n := waitEdges([]leasehold.Wait{{Place: leasehold.Place{Holder: "a"}, Behind: []leasehold.Blocker{{Holder: "b"}, {Holder: "b"}}}}); len(n) != 1 {
		t.Errorf("waitEdges = %v, want one", n)
	}
}
