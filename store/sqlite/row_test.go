package sqlite

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEncodePairs: the short way to write a pair writes what encoding/json does.
func TestEncodePairs(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{0,12}`))
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.MapOfN(text, text, 1, 3).Draw(t, "pairs")
		var b bytes.Buffer
		long := json.NewEncoder(&b)
		long.SetEscapeHTML(false)
		if err := long.Encode(pairs); err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSuffix(b.String(), "\n")
		if got := encodePairs(pairs); got != want {
			t.Fatalf("encodePairs(%q) = %s, want %s", pairs, got, want)
		}
	})
}
