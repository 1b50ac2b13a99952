package cmd_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var someUUID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

var base64Word = regexp.MustCompile(`[A-Za-z0-9+/_-]{20,}`)

// leaks returns the ids that a text has in any spelling: as they are, in upper case,
// without their dashes, as numbers, or inside base64.
func leaks(text string, ids []string) (found []string) {
	texts := []string{strings.ToLower(text)}
	for _, word := range base64Word.FindAllString(text, -1) {
		for _, encoding := range []*base64.Encoding{base64.RawURLEncoding, base64.RawStdEncoding} {
			if inside, err := encoding.DecodeString(word); err == nil {
				texts = append(texts, string(inside), strings.ToLower(string(inside)))
			}
		}
	}
	for _, id := range ids {
		plain := strings.ReplaceAll(id, "-", "")
		raw, _ := hex.DecodeString(plain) // what is no hexadecimal has no such spelling
		spellings := []string{id, plain}
		if len(raw) > 0 {
			spellings = append(spellings, string(raw), strings.Trim(fmt.Sprint(raw), "[]"))
		}
		if containsAny(texts, spellings) {
			found = append(found, id)
		}
	}
	return found
}

func containsAny(texts, words []string) bool {
	for _, text := range texts {
		for _, word := range words {
			if strings.Contains(text, word) {
				return true
			}
		}
	}
	return false
}

// The search finds an id that is there.
func TestLeaks(t *testing.T) {
	const id, other = "0d9f6a0e-4b3c-4c52-9f0b-6f1c2a7e5d10", "7c1b9d52-8e0f-4f6d-a3b1-2e4c6a8f0b31"
	raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as it is":              `{"lease_id":"` + id + `"}`,
		"in large letters":      strings.ToUpper(id),
		"without dashes":        "id=" + strings.ReplaceAll(id, "-", ""),
		"as numbers":            fmt.Sprintf("id is %v", raw),
		"in base64":             "cursor=" + base64.RawURLEncoding.EncodeToString([]byte("after "+id)),
		"in base64, with signs": base64.StdEncoding.EncodeToString(append([]byte("??"), raw...)),
	} {
		if got := leaks(text, []string{other, id}); len(got) != 1 || got[0] != id {
			t.Errorf("leaks(%s) = %q, want %q", name, got, id)
		}
	}
	if got := leaks("0d9f6a0e-4b3c and 4c52-9f0b-6f1c2a7e5d10", []string{id, other}); len(got) != 0 {
		t.Errorf("leaks() = %q in a text without an id", got)
	}
}
