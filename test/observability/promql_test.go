//go:build unix

package observability

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// selector is a metric in a query, with the labels by which it is selected.
type selector struct {
	Metric string
	Labels []string
}

var (
	quoted    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	grouping  = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	ranges    = regexp.MustCompile(`\[[^\]]*\]|\boffset\s+\w+`)
	candidate = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?`)
	matcher   = regexp.MustCompile(`([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)`)
	words     = []string{"and", "or", "unless", "bool", "inf", "nan"}
)

// selectors returns the metrics of a query of PromQL. It knows as much of the
// language as the queries here use.
func selectors(query string) (found []selector) {
	query = quoted.ReplaceAllString(query, `""`)
	query = grouping.ReplaceAllString(query, "")
	query = ranges.ReplaceAllString(query, "")
	for _, m := range candidate.FindAllStringSubmatchIndex(query, -1) {
		name, rest := query[m[2]:m[3]], ""
		if m[4] >= 0 {
			rest = query[m[4]:m[5]]
		}
		before := query[:m[2]]
		isNumber := before != "" && strings.ContainsAny(before[len(before)-1:], "0123456789.") // 1e9
		if rest == "(" || isNumber || slices.Contains(words, strings.ToLower(name)) || slices.Contains(aggregations, name) {
			continue
		}
		s := selector{Metric: name}
		for _, label := range matcher.FindAllStringSubmatch(rest, -1) {
			s.Labels = append(s.Labels, label[1])
		}
		found = append(found, s)
	}
	return found
}

// aggregations may stand before their grouping instead of a parenthesis.
var aggregations = []string{"sum", "min", "max", "avg", "count", "topk", "quantile"}

// groups returns the labels by which a query groups.
func groups(query string) (labels []string) {
	for _, g := range grouping.FindAllStringSubmatch(quoted.ReplaceAllString(query, `""`), -1) {
		for _, label := range strings.Split(g[2], ",") {
			if label = strings.TrimSpace(label); label != "" {
				labels = append(labels, label)
			}
		}
	}
	return labels
}

func TestSelectors(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  []selector
	}{
		{`up`, []selector{{Metric: "up"}}},
		{`up{job="a{b}"} == 0 or absent(up{job=~"x|y",c!="d"})`, []selector{{"up", []string{"job"}}, {"up", []string{"job", "c"}}}},
		{`histogram_quantile(0.95, sum by (le, a) (rate(x_bucket[5m])))`, []selector{{Metric: "x_bucket"}}},
		{`a:b:c > 14.4 * 0.001 and on (x) d offset 5m`, []selector{{Metric: "a:b:c"}, {Metric: "d"}}},
		{`sum(increase(x{a="b"}[$__range])) / sum(y) > 1e-9`, []selector{{"x", []string{"a"}}, {Metric: "y"}}},
		{`sum without (a) (x) unless y`, []selector{{Metric: "x"}, {Metric: "y"}}},
		{``, nil},
	} {
		if diff := cmp.Diff(tt.want, selectors(tt.query)); diff != "" {
			t.Errorf("selectors(%s) differs (-want +got):\n%s", tt.query, diff)
		}
	}
	if diff := cmp.Diff([]string{"le", "a", "b"}, groups(`sum by (le, a) (x{c="by (d)"}) / on(b) y`)); diff != "" {
		t.Errorf("groups differs (-want +got):\n%s", diff)
	}
}

func FuzzSelectors(f *testing.F) {
	f.Add(`sum by (le) (rate(x{a="b"}[5m])) or y offset 1m`)
	f.Fuzz(func(t *testing.T, query string) {
		for _, s := range selectors(query) {
			if s.Metric == "" || !strings.Contains(query, s.Metric) {
				t.Errorf("selectors(%q) has %q", query, s.Metric)
			}
		}
		groups(query)
	})
}
