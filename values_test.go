package leasehold_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/leasehold/leasehold"
)

// nameCases are the rules for a name, tried on a field that takes one of at
// most so many bytes.
func nameCases(field string, most int, check func(string) error) (cases []limitCase) {
	try := func(what, name, refused string) {
		if refused != "" {
			refused = field
		}
		cases = append(cases, limitCase{field + " " + what, check(name), refused})
	}
	try("of one byte", "a", "")
	try("at the most", strings.Repeat("a", most), "")
	try("above the most", strings.Repeat("a", most+1), "no")
	try("at the most in bytes", strings.Repeat("é", most/2), "")
	try("above in bytes, not in letters", strings.Repeat("é", most/2+1), "no")
	for what, name := range map[string]string{
		"with quotes": `'"` + "`", "with slashes": "/a//b/../c%2F", "with spaces": " a b ", "with SQL": "'; DROP TABLE leases; --",
		"with a star": "*", "with emoji": "🔑🗝️", "in Greek": "ὁδός", "with a zero-width space": "a\u200bb", "with U+FFFD": "\ufffd",
		"with a line separator": "a\u2028b",
	} {
		try(what, name, "")
	}
	for what, name := range map[string]string{
		"with NUL": "\x00", "with a tab": "a\tb", "with a line break": "a\n", "with DEL": "a\x7f", "with a C1 control": "a\u0085",
		"cut inside a letter": "a\xc3", "with a stray byte": "\x80", "with a surrogate": "\xed\xa0\x80", "overlong": "\xc0\xaf",
	} {
		try(what, name, "no")
	}
	return cases
}

func TestNameLimits(t *testing.T) {
	verifyLimits(t, nameCases("resource", leasehold.MaxResource, leasehold.CheckResource))
	verifyLimits(t, nameCases("holder", leasehold.MaxHolder, leasehold.CheckHolder))
	verifyLimits(t, []limitCase{
		{"no resource", leasehold.CheckResource(""), "resource"},
		{"no holder", leasehold.CheckHolder(""), "holder"},
		{"acquire without a resource", leasehold.AcquireRequest{Holder: "ann"}.Validate(), "resource"},
		{"acquire without a holder", leasehold.AcquireRequest{Resource: "job"}.Validate(), "holder"},
	})
	verifyLimits(t, nameCases("to_holder", leasehold.MaxHolder, func(name string) error {
		return leasehold.TransferRequest{ID: leasehold.NewID(), To: name}.Validate()
	}))
}

// TestMatchLimits: what is sent to be compared obeys the rules of what it is
// compared with, and may be left out.
func TestMatchLimits(t *testing.T) {
	id, other := leasehold.NewID(), leasehold.NewID()
	validate := map[string]func(id leasehold.ID, resource, holder string, token uint64) error{
		"renew": func(id leasehold.ID, resource, holder string, token uint64) error {
			return leasehold.RenewRequest{ID: id, Resource: resource, Holder: holder, Token: token}.Validate()
		},
		"release": func(id leasehold.ID, resource, holder string, token uint64) error {
			return leasehold.ReleaseRequest{ID: id, Resource: resource, Holder: holder, Token: token}.Validate()
		},
		"change": func(id leasehold.ID, resource, holder string, token uint64) error {
			return leasehold.ChangeRequest{ID: id, Resource: resource, Holder: holder, Token: token, Proposed: other}.Validate()
		},
		"transfer": func(id leasehold.ID, resource, holder string, token uint64) error {
			return leasehold.TransferRequest{ID: id, Resource: resource, Holder: holder, Token: token, To: "bob"}.Validate()
		},
	}
	for verb, check := range validate {
		verifyLimits(t, []limitCase{
			{verb + " with the id alone", check(id, "", "", 0), ""},
			{verb + " with all", check(id, "job", "ann", 7), ""},
			{verb + " without an id", check(leasehold.ID{}, "job", "ann", 7), "lease_id"},
			{verb + " at the largest token", check(id, "", "", leasehold.MaxToken), ""},
			{verb + " above the largest token", check(id, "", "", leasehold.MaxToken+1), "token"},
			{verb + " with a bad resource", check(id, "a\n", "", 0), "resource"},
			{verb + " with a long resource", check(id, strings.Repeat("a", leasehold.MaxResource+1), "", 0), "resource"},
			{verb + " with a bad holder", check(id, "", "a\n", 0), "holder"},
			{verb + " with a bad holder of a good resource", check(id, "job", "a\n", 0), "holder"},
			{verb + " with a bad token of a good holder", check(id, "job", "ann", leasehold.MaxToken+1), "token"},
			{verb + " with a long holder", check(id, "", strings.Repeat("a", leasehold.MaxHolder+1), 0), "holder"},
		})
	}
	verifyLimits(t, []limitCase{
		{"renew with a bad ttl", leasehold.RenewRequest{ID: id, TTL: 5}.Validate(), "ttl_seconds"},
		{"release with a long reason", leasehold.ReleaseRequest{ID: id, Why: strings.Repeat("y", 1025)}.Validate(), "reason"},
		{"change without a proposal", leasehold.ChangeRequest{ID: id}.Validate(), "proposed_lease_id"},
		{"transfer to nobody", leasehold.TransferRequest{ID: id}.Validate(), "to_holder"},
		{"transfer with bad metadata", leasehold.TransferRequest{ID: id, To: "bob", Metadata: map[string]string{"": ""}}.Validate(), "metadata"},
	})
}

func TestMetadataLimits(t *testing.T) {
	pairs := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprint("k", i)] = ""
		}
		return m
	}
	one := func(k, v string) error { return leasehold.CheckMetadata(map[string]string{k: v}) }
	sized := func(last int) map[string]string { // 7 × (1 + 1024) + 1 + last bytes
		m := map[string]string{"h": strings.Repeat("v", last)}
		for _, k := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			m[k] = strings.Repeat("v", 1024)
		}
		return m
	}
	verifyLimits(t, []limitCase{
		{"none", leasehold.CheckMetadata(nil), ""},
		{"empty", leasehold.CheckMetadata(pairs(0)), ""},
		{"as many as may be", leasehold.CheckMetadata(pairs(64)), ""},
		{"one too many", leasehold.CheckMetadata(pairs(65)), "metadata"},
		{"a key of one byte", one("k", "v"), ""},
		{"an empty key", one("", "v"), "metadata"},
		{"the longest key", one(strings.Repeat("k", 128), "v"), ""},
		{"a longer key", one(strings.Repeat("k", 129), "v"), "metadata"},
		{"every letter of a key", one("AZaz09_.-", "v"), ""},
		{"the longest value", one("k", strings.Repeat("v", 1024)), ""},
		{"a longer value", one("k", strings.Repeat("v", 1025)), "metadata"},
		{"an empty value", one("k", ""), ""},
		{"a value of any text", one("k", "ὁδός\n\t'\"\x00"), ""},
		{"a value that is no UTF-8", one("k", "\xff"), "metadata"},
		{"exactly the size", leasehold.CheckMetadata(sized(8192 - 7*1025 - 1)), ""},
		{"a byte more", leasehold.CheckMetadata(sized(8192 - 7*1025)), "metadata"},
	})
	for r := rune(0); r < 0x250; r++ {
		plain := r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.-", r))
		if err := one("k"+string(r), "v"); (err == nil) != plain {
			t.Errorf("a key with %q: error %v, want refused: %t", r, err, !plain)
		}
	}
}

func TestFilterLimits(t *testing.T) {
	list := func(r leasehold.ListRequest) error { return r.Validate() }
	verifyLimits(t, []limitCase{
		{"no filter", list(leasehold.ListRequest{}), ""},
		{"all filters", list(leasehold.ListRequest{Resource: "a", Prefix: "b", Holder: "c", Metadata: map[string]string{"k": "v"},
			States: []leasehold.State{leasehold.StateAvailable, leasehold.StateBroken}}), ""},
		{"longest prefix", list(leasehold.ListRequest{Prefix: strings.Repeat("p", 1024)}), ""},
		{"longer prefix", list(leasehold.ListRequest{Prefix: strings.Repeat("p", 1025)}), "prefix"},
		{"prefix with a control character", list(leasehold.ListRequest{Prefix: "a\x00"}), "prefix"},
		{"bad resource", list(leasehold.ListRequest{Resource: "a\n"}), "resource"},
		{"bad holder", list(leasehold.ListRequest{Holder: "a\n"}), "holder"},
		{"bad metadata", list(leasehold.ListRequest{Metadata: map[string]string{"a b": ""}}), "metadata"},
		{"no state", list(leasehold.ListRequest{States: []leasehold.State{leasehold.StateActive, leasehold.StateBroken + 1}}), "status"},
	})
}

// FuzzNames holds the checks of names to their rule, stated the other way round.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "\xff", strings.Repeat("a", 257), strings.Repeat("é", 512), "\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean := utf8.ValidString(s)
		for _, r := range s {
			clean = clean && !unicode.Is(unicode.Cc, r)
		}
		if got, want := leasehold.CheckResource(s) == nil, clean && len(s) >= 1 && len(s) <= 1024; got != want {
			t.Errorf("CheckResource(%q) passes: %t, want %t", s, got, want)
		}
		if got, want := leasehold.CheckHolder(s) == nil, clean && len(s) >= 1 && len(s) <= 256; got != want {
			t.Errorf("CheckHolder(%q) passes: %t, want %t", s, got, want)
		}
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add("k", "v", 1)
	f.Add("", "", 65)
	f.Add("é", "\xff", 3)
	f.Fuzz(func(t *testing.T, key, value string, n int) {
		m := map[string]string{}
		for i := range n & 127 {
			m[fmt.Sprint(key, i)] = value
		}
		want, size := len(m) <= 64, 0
		for k, v := range m {
			size += len(k) + len(v)
			want = want && len(k) >= 1 && len(k) <= 128 && len(v) <= 1024 && utf8.ValidString(v) &&
				strings.Trim(k, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
		}
		if got := leasehold.CheckMetadata(m) == nil; got != (want && size <= 8192) {
			t.Errorf("CheckMetadata(%d pairs, %d bytes) passes: %t, want %t", len(m), size, got, want && size <= 8192)
		}
	})
}
