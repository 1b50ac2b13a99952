package repo_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// changing are the fields of answers whose values differ from run to run; they
// are compared by their type.
var changing = map[string]bool{
	"lease_id": true, "token": true, "seq": true, "request_id": true, "next_cursor": true, "detail": true,
	"acquired_at": true, "renewed_at": true, "expires_at": true, "at": true, "since": true,
	"remaining_seconds": true, "retry_after_seconds": true, "waited_ms": true, "duration_ms": true,
}

const leftOut = "…" // in a document: further fields, or further elements

// diffJSON returns what differs between the JSON of a document and a real one.
func diffJSON(want, got string) []string {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return []string{fmt.Sprintf("the document's answer is no JSON: %v", err)}
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return []string{fmt.Sprintf("the real answer is no JSON: %v", err)}
	}
	return diffValue("answer", w, g)
}

func diffValue(at string, want, got any) []string {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return diffObject(at, w, g)
		}
	case []any:
		if g, ok := got.([]any); ok {
			return diffList(at, w, g)
		}
	default:
		if want == got || isSet(want) && isSet(got) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s is %v, want %v", at, got, want)}
}

// isSet reports whether the value is the name of a lease of several resources, which
// ends in the number of its first token.
func isSet(v any) bool {
	s, _ := v.(string)
	return strings.HasPrefix(s, "__set__")
}

func diffObject(at string, want, got map[string]any) []string {
	var wrong []string
	_, open := want[leftOut]
	for _, key := range slices.Sorted(maps.Keys(want)) {
		g, there := got[key]
		switch {
		case key == leftOut:
		case !there:
			wrong = append(wrong, fmt.Sprintf("%s has no %s", at, key))
		case changing[key] && fmt.Sprintf("%T", want[key]) == fmt.Sprintf("%T", g):
		default:
			wrong = append(wrong, diffValue(at+"."+key, want[key], g)...)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, known := want[key]; !known && !open {
			wrong = append(wrong, fmt.Sprintf("%s has a %s besides", at, key))
		}
	}
	return wrong
}

func diffList(at string, want, got []any) []string {
	open := len(want) > 0 && want[len(want)-1] == leftOut
	if open {
		want = want[:len(want)-1]
	}
	if len(got) < len(want) || len(got) > len(want) && !open {
		return []string{fmt.Sprintf("%s has %d elements, want %d", at, len(got), len(want))}
	}
	var wrong []string
	for i, w := range want {
		wrong = append(wrong, diffValue(fmt.Sprintf("%s[%d]", at, i), w, got[i])...)
	}
	return wrong
}

func TestDiffJSON(t *testing.T) {
	const got = `{"token":7,"holder":"a","list":[{"seq":1},{"seq":2}],"none":null,"resource":"__set__7"}`
	tests := []struct {
		name, want string
		differs    int
	}{
		{"the same", got, 0},
		{"another token", `{"token":8,"holder":"a","list":[{"seq":1},{"seq":2}],"none":null,"resource":"__set__8"}`, 0},
		{"no name of a set", `{"resource":"set","…":"…"}`, 1},
		{"a token of another type", `{"token":"8","…":"…"}`, 1},
		{"another holder", `{"holder":"b","…":"…"}`, 1},
		{"fields left out", `{"holder":"a","…":"…"}`, 0},
		{"fields left out in silence", `{"holder":"a"}`, 4},
		{"a field that is not there", `{"colour":1,"…":"…"}`, 1},
		{"elements left out", `{"list":[{"seq":1},"…"],"…":"…"}`, 0},
		{"elements left out in silence", `{"list":[{"seq":1}],"…":"…"}`, 1},
		{"no object", `[]`, 1},
		{"no JSON", `{`, 1},
	}
	for _, tt := range tests {
		if wrong := diffJSON(tt.want, got); len(wrong) != tt.differs {
			t.Errorf("diffJSON(%s) = %q, want %d differences", tt.name, wrong, tt.differs)
		}
	}
}
