package tagquery_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog/tagquery"
	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	tags := map[string]string{"Project": "apollo", "rank": "050", "and": "so", "empty": "", "a b": "c"}
	for _, test := range []struct {
		where string
		want  bool
	}{
		{`"Project" = 'apollo'`, true},
		{`Project='apollo'`, true},
		{`  Project  =  'apollo'  `, true},
		{`"project" = 'apollo'`, false}, // names have their letter case
		{`"Project" = 'Apollo'`, false},
		{`"Project" <> 'apollo'`, false},
		{`"Project" <> 'gemini'`, true},
		{`"nothing" <> 'x'`, true},
		{`"nothing" = ''`, false},
		{`"nothing" <= 'x'`, false},
		{`"empty" = ''`, true},
		{`"empty" < 'x'`, true},
		{`"rank" > '049' AND "rank" < '100'`, true},
		{`rank >= '050' and rank <= '050'`, true},
		{`rank > '050'`, false},
		{`rank < '050'`, false},
		{`rank < '9'`, true}, // text, not numbers
		{`rank = '051' OR Project = 'apollo'`, true},
		{`rank = '051' OR rank = '052'`, false},
		{`rank = '051' AND rank = '1' OR Project = 'apollo'`, true},
		{`rank = '051' AND (rank = '1' OR Project = 'apollo')`, false},
		{`(rank = '1' OR rank = '050') AND (Project = 'x' OR Project = 'apollo')`, true},
		{`((((rank = '050'))))`, true},
		{`"and" = 'so'`, true},
		{`"a b" = 'c'`, true},
	} {
		w, err := tagquery.Parse(test.where)
		if err != nil {
			t.Errorf("Parse(%s) = %v", test.where, err)
			continue
		}
		if got := w.Match(tags); got != test.want {
			t.Errorf("Parse(%s).Match = %v, want %v", test.where, got, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	many := "(" + strings.Repeat("a='1' OR ", 30) + "a='1')"
	for _, test := range []struct{ where, says string }{
		{``, "it ends"},
		{`a`, "a comparison"},
		{`a =`, "a value"},
		{`a = b`, "single quotes"},
		{`a = "b"`, "single quotes"},
		{`a = 'b`, "'b"},
		{`'a' = 'b'`, "name of a tag"},
		{`"" = 'b'`, "name of a tag"},
		{`"@x" = 'b'`, "name of a tag"},
		{`@other = 'b'`, "@other"},
		{`and = 'b'`, "and"},
		{`a == 'b'`, "a value"},
		{`a != 'b'`, "!= 'b'"},
		{`a = 'b' c = 'd'`, "AND, OR or the end"},
		{`a = 'b' AND`, "it ends"},
		{`a = 'b' OR`, "it ends"},
		{`(a = 'b'`, "closing"},
		{`a = 'b')`, "AND, OR"},
		{`NOT a = 'b'`, "a comparison"},
		{`1a = 'b'`, "name of a tag"},
		{`é = 'b'`, "name of a tag"},
		{many + " AND " + many + " AND " + many, "too complicated"},
		{strings.Repeat(" ", 10_000), "longer than"},
	} {
		_, err := tagquery.Parse(test.where)
		wantCode(t, "Parse("+test.where+")", err, azerr.InvalidQueryParameterValue)
		if err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("Parse(%s) = %v, which does not say %q", test.where, err, test.says)
		}
	}
}

// The naive evaluator is a tree that is evaluated as it was drawn.
type tree struct {
	text  string
	match func(map[string]string) bool
}

var treeKeys = []string{"a", "b", "long name", "x/y"}

func drawTree(t *rapid.T, depth int) tree {
	shape := 0
	if depth > 0 {
		shape = rapid.IntRange(0, 2).Draw(t, "shape")
	}
	switch shape {
	case 1:
		l, r := drawTree(t, depth-1), drawTree(t, depth-1)
		return tree{"(" + l.text + ") AND (" + r.text + ")", func(m map[string]string) bool { return l.match(m) && r.match(m) }}
	case 2:
		l, r := drawTree(t, depth-1), drawTree(t, depth-1)
		return tree{l.text + " or (" + r.text + ")", func(m map[string]string) bool { return l.match(m) || r.match(m) }}
	}
	key := rapid.SampledFrom(treeKeys).Draw(t, "key")
	value := rapid.StringMatching(`[abc]{0,2}`).Draw(t, "value")
	op := rapid.SampledFrom([]string{"=", "<>", ">", ">=", "<", "<="}).Draw(t, "op")
	return tree{fmt.Sprintf("\"%s\"%s'%s'", key, op, value), func(m map[string]string) bool {
		has, there := m[key]
		switch {
		case !there:
			return op == "<>"
		case op == "=":
			return has == value
		case op == "<>":
			return has != value
		case op == ">":
			return has > value
		case op == ">=":
			return has >= value
		case op == "<":
			return has < value
		}
		return has <= value
	}}
}

func TestAgreesWithANaiveEvaluator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawTree(t, 3)
		w, err := tagquery.Parse(want.text)
		if err != nil {
			t.Fatalf("Parse(%s) = %v", want.text, err)
		}
		again, err := tagquery.Parse(w.String())
		if err != nil {
			t.Fatalf("Parse(%s), written again = %v", w, err)
		}
		tags := rapid.MapOf(rapid.SampledFrom(treeKeys), rapid.StringMatching(`[abc]{0,2}`))
		for range 10 {
			m := tags.Draw(t, "tags")
			if w.Match(m) != want.match(m) || again.Match(m) != want.match(m) {
				t.Fatalf("%s on %v: %v, written again %v, want %v", want.text, m, w.Match(m), again.Match(m), want.match(m))
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`"a"='b'`, `a>='1' AND (b<'2' OR "c d"<>'')`, `@container='x' and a='b'`, `((`, `'`, `a = 'b' OR`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w, err := tagquery.Parse(s)
		if err != nil {
			wantCode(t, "Parse", err, azerr.InvalidQueryParameterValue)
			return
		}
		again, err := tagquery.Parse(w.String())
		if err != nil {
			if len(w.String()) <= 8<<10 {
				t.Fatalf("Parse(%q), written again as %q = %v", s, w, err)
			}
			return
		}
		for _, tags := range []map[string]string{nil, {"a": "b"}, {"a": "", "b": "1", "c d": "x"}} {
			if w.Match(tags) != again.Match(tags) {
				t.Fatalf("%q and %q differ on %v", s, w, tags)
			}
		}
	})
}

func wantCode(t testing.TB, what string, err error, code string) {
	t.Helper()
	var e *azerr.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s = %v, want %s", what, err, code)
	}
}
