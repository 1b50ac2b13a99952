package leasehold_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
)

// kindsInSource reads every Kind, so that no new one can be forgotten here.
func kindsInSource(t *testing.T) (kinds []leasehold.Kind) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "history.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && len(spec.Names) == 1 && strings.HasPrefix(spec.Names[0].Name, "Kind") {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, leasehold.Kind(value))
		}
		return true
	})
	if len(kinds) < 12 {
		t.Fatalf("history.go has %d kinds; the test has not found them", len(kinds))
	}
	return kinds
}

// TestEveryKindIsAFilter, and the refusal of any other names them all.
func TestEveryKindIsAFilter(t *testing.T) {
	refusal := leasehold.HistoryRequest{Kind: "vanished"}.Validate()
	verifyInvalid(t, refusal, "event", "vanished")
	for _, kind := range kindsInSource(t) {
		if err := (leasehold.HistoryRequest{Kind: kind}).Validate(); err != nil {
			t.Errorf("Validate(kind %q) = %v, want it accepted", kind, err)
		}
		if !strings.Contains(refusal.Error(), string(kind)) {
			t.Errorf("the refusal does not name %q: %v", kind, refusal)
		}
	}
}

func TestHistoryFilterLimits(t *testing.T) {
	history := func(r leasehold.HistoryRequest) error { return r.Validate() }
	verifyLimits(t, []limitCase{
		{"no filter", history(leasehold.HistoryRequest{}), ""},
		{"all filters", history(leasehold.HistoryRequest{Resource: "a", Prefix: "b", Holder: "c", Kind: leasehold.KindRenewed}), ""},
		{"longer prefix", history(leasehold.HistoryRequest{Prefix: strings.Repeat("p", 1025)}), "prefix"},
		{"bad resource", history(leasehold.HistoryRequest{Resource: "a\n"}), "resource"},
		{"bad holder", history(leasehold.HistoryRequest{Holder: "\xff"}), "holder"},
		{"huge kind", history(leasehold.HistoryRequest{Kind: leasehold.Kind(strings.Repeat("x", 9000))}), "event"},
	})
}

func TestSharedNoticeIsEncodedOnce(t *testing.T) {
	n := &leasehold.SharedNotice{Notice: leasehold.Notice{Record: leasehold.Record{Resource: "r"}}}
	calls := 0
	for range 3 {
		got := n.Encode(func(n leasehold.Notice) []byte {
			calls++
			return []byte(n.Resource)
		})
		if string(got) != "r" {
			t.Errorf("Encode = %q, want r", got)
		}
	}
	if calls != 1 {
		t.Errorf("encoded %d times, want once", calls)
	}
}
