package leasehold_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
)

// sampleID is an id whose every byte can be told apart.
const sampleID = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"

func mustID(t testing.TB, s string) leasehold.ID {
	t.Helper()
	id, err := leasehold.ParseID(s)
	if err != nil {
		t.Fatalf("ParseID of the sample = %v, want an id", err)
	}
	return id
}

func TestParseIDForms(t *testing.T) {
	want := mustID(t, sampleID)
	bare := strings.ReplaceAll(sampleID, "-", "")
	for name, s := range map[string]string{
		"lower case":             sampleID,
		"upper case":             strings.ToUpper(sampleID),
		"mixed case":             strings.ToUpper(sampleID[:10]) + sampleID[10:],
		"braces":                 "{" + sampleID + "}",
		"parentheses":            "(" + sampleID + ")",
		"bare digits":            bare,
		"bare digits, upper":     strings.ToUpper(bare),
		"bare digits, in braces": "{" + bare + "}",
	} {
		if got, err := leasehold.ParseID(s); err != nil || got != want {
			t.Errorf("ParseID(%s): same id: %t, error %v; want the same id", name, got == want, err)
		}
	}
}

func TestParseIDRefuses(t *testing.T) {
	for name, s := range map[string]string{
		"empty":                       "",
		"a word":                      "lease",
		"a digit short":               sampleID[:35],
		"a digit long":                sampleID + "0",
		"no hexadecimal digit":        "g" + sampleID[1:],
		"no hexadecimal digit, last":  sampleID[:35] + "z",
		"a hyphen elsewhere":          "f81d4fa-e7dec-41d0-a765-00a0c91e6bf6",
		"other separators":            strings.ReplaceAll(sampleID, "-", "_"),
		"one hyphen missing":          strings.Replace(sampleID, "-", "0", 1),
		"the last hyphen missing":     sampleID[:23] + "0" + sampleID[24:],
		"the second hyphen missing":   sampleID[:13] + "0" + sampleID[14:],
		"the third hyphen missing":    sampleID[:18] + "0" + sampleID[19:],
		"hyphen in place of a digit":  "-" + sampleID[1:],
		"half a pair":                 "{" + sampleID,
		"the other half":              sampleID + "}",
		"half a pair of parentheses":  "(" + sampleID,
		"the other parenthesis":       sampleID + ")",
		"a mixed pair":                "{" + sampleID + ")",
		"two pairs":                   "{{" + sampleID + "}}",
		"urn":                         "urn:uuid:" + sampleID,
		"a space before":              " " + sampleID,
		"a line break after":          sampleID + "\n",
		"quotes":                      `"` + sampleID + `"`,
		"full-width digits":           "ｆ81d4fae7dec41d0a76500a0c91e6bf",
		"a pair around nothing":       "{}",
		"one brace":                   "{",
		"megabytes":                   strings.Repeat("a", 1<<20),
		"zero":                        "00000000-0000-0000-0000-000000000000",
		"zero, bare":                  strings.Repeat("0", 32),
		"36 bytes without any hyphen": strings.Repeat("a", 36),
	} {
		id, err := leasehold.ParseID(s)
		if !errors.Is(err, leasehold.ErrInvalid) || !id.IsZero() {
			t.Errorf("ParseID(%s) = %v, error %v; want no id, ErrInvalid", name, id, err)
			continue
		}
		verifyInvalid(t, err, "lease_id", "UUID")
		if len(s) > 8 && strings.Contains(err.Error(), s[:8]) && !strings.HasPrefix(s, "0000") {
			t.Errorf("ParseID(%s): the error repeats the input; a mistyped id is most of a secret", name)
		}
	}
}

// verifyInvalid checks that an error names the field and says the given words.
func verifyInvalid(t *testing.T, err error, field string, words ...string) {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) || e.Reason != leasehold.ReasonInvalid || e.Field != field {
		t.Errorf("error %v: want invalid_argument about %q", err, field)
		return
	}
	for _, w := range append(words, field) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestNewID(t *testing.T) {
	seen := map[leasehold.ID]bool{}
	for range 10_000 {
		id := leasehold.NewID()
		if id[6]>>4 != 4 || id[8]>>6 != 2 {
			t.Fatal("NewID() is no version 4 UUID of variant 1")
		}
		if id.IsZero() || seen[id] {
			t.Fatal("NewID() is zero or was there before")
		}
		seen[id] = true
		if mustID(t, id.Reveal()) != id {
			t.Fatal("ParseID(Reveal()) is another id")
		}
	}
}

func TestReveal(t *testing.T) {
	if got := mustID(t, strings.ToUpper(sampleID)).Reveal(); got != sampleID {
		t.Errorf("Reveal() = %q, want %q", got, sampleID)
	}
	if got, want := (leasehold.ID{}).Reveal(), "00000000-0000-0000-0000-000000000000"; got != want {
		t.Errorf("Reveal() of none = %q, want %q", got, want)
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{sampleID, "{" + sampleID + "}", "(" + sampleID + ")", strings.ReplaceAll(sampleID, "-", ""), "", "{}", "é" + sampleID[2:]} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := leasehold.ParseID(s)
		if err != nil {
			if !id.IsZero() || !errors.Is(err, leasehold.ErrInvalid) {
				t.Fatalf("ParseID(%q) = %v, %v; want no id, ErrInvalid", s, id, err)
			}
			return
		}
		if id.IsZero() {
			t.Fatalf("ParseID(%q) = no id, want an error", s)
		}
		digits := strings.NewReplacer("-", "", "{", "", "}", "", "(", "", ")", "").Replace(s)
		if got := strings.ReplaceAll(id.Reveal(), "-", ""); got != strings.ToLower(digits) {
			t.Fatalf("ParseID(%q).Reveal() has the digits %q", s, got)
		}
	})
}
