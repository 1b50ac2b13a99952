package leasehold_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/leasehold/leasehold"
)

// limitCase is one value at, below or above an edge. The field is empty for a
// value that must pass.
type limitCase struct {
	name  string
	err   error
	field string
}

func verifyLimits(t *testing.T, cases []limitCase) {
	t.Helper()
	for _, c := range cases {
		switch {
		case c.field == "" && c.err != nil:
			t.Errorf("%s: refused: %v", c.name, c.err)
		case c.field != "" && !errors.Is(c.err, leasehold.ErrInvalid):
			t.Errorf("%s: error %v, want ErrInvalid about %q", c.name, c.err, c.field)
		case c.field != "":
			t.Run(c.name, func(t *testing.T) { verifyInvalid(t, c.err, c.field) })
		}
	}
}

// acquiring is a valid request after one change to it.
func acquiring(change func(*leasehold.AcquireRequest)) error {
	r := leasehold.AcquireRequest{Resource: "job", Holder: "ann"}
	change(&r)
	return r.Validate()
}

func withTTL(d time.Duration) error {
	return acquiring(func(r *leasehold.AcquireRequest) { r.TTL = d })
}

func withMaxRenewals(n int) error {
	return acquiring(func(r *leasehold.AcquireRequest) { r.MaxRenewals = &n })
}

func withPriority(n int) error {
	return acquiring(func(r *leasehold.AcquireRequest) { r.Priority = n })
}

func withTimeout(d time.Duration) error {
	return acquiring(func(r *leasehold.AcquireRequest) { r.Timeout = d })
}

// century is the longest ttl of all.
const century = 36_500 * 24 * time.Hour

func TestNumberLimits(t *testing.T) {
	verifyLimits(t, []limitCase{
		{"ttl left out", withTTL(0), ""},
		{"ttl infinite", withTTL(leasehold.Infinite), ""},
		{"ttl at the least", withTTL(time.Second), ""},
		{"ttl below the least", withTTL(time.Second - 1), "ttl_seconds"},
		{"ttl at the most", withTTL(century), ""},
		{"ttl above the most", withTTL(century + 1), "ttl_seconds"},
		{"ttl negative", withTTL(-2), "ttl_seconds"},
		{"ttl minus a second", withTTL(-time.Second), "ttl_seconds"},
		{"ttl huge", withTTL(math.MaxInt64), "ttl_seconds"},
		{"ttl hugely negative", withTTL(math.MinInt64), "ttl_seconds"},

		{"max_renewals unlimited", withMaxRenewals(leasehold.Unlimited), ""},
		{"max_renewals none", withMaxRenewals(0), ""},
		{"max_renewals at the most", withMaxRenewals(1_000_000), ""},
		{"max_renewals above the most", withMaxRenewals(1_000_001), "max_renewals"},
		{"max_renewals below unlimited", withMaxRenewals(-2), "max_renewals"},
		{"max_renewals beyond 32 bits", withMaxRenewals(1 << 32), "max_renewals"},

		{"priority at the least", withPriority(-100), ""},
		{"priority below", withPriority(-101), "priority"},
		{"priority at the most", withPriority(100), ""},
		{"priority above", withPriority(101), "priority"},

		{"timeout left out", withTimeout(0), ""},
		{"timeout none", withTimeout(leasehold.NoTimeout), ""},
		{"timeout at the most", withTimeout(24 * time.Hour), ""},
		{"timeout above", withTimeout(24*time.Hour + 1), "timeout_ms"},
		{"timeout negative", withTimeout(-2), "timeout_ms"},
		{"timeout minus a millisecond", withTimeout(-time.Millisecond), "timeout_ms"},
	})
}

// TestMessagesNameTheValue: "is 86400000; want 0 to 86400000" helps nobody.
func TestMessagesNameTheValue(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{withTTL(century + time.Millisecond), "ttl_seconds is 3153600000.001; want 1 to 3153600000, or -1 for no end"},
		{withTTL(time.Millisecond), "ttl_seconds is 0.001; want 1 to 3153600000, or -1 for no end"},
		{leasehold.CheckTTL(24*time.Hour+1, 24*time.Hour), "ttl_seconds is 86400.000000001; want 1 to 86400, or -1 for no end"},
		{withTimeout(24*time.Hour + 1), "timeout_ms is 86400000.000001; want 0 to 86400000"},
		{withTimeout(-500 * time.Microsecond), "timeout_ms is -0.5; want 0 to 86400000"},
		{withTimeout(-time.Second), "timeout_ms is -1000; want 0 to 86400000"},
		{withMaxRenewals(-2), "max_renewals is -2; want 0 to 1000000, or -1 for no limit"},
		{withPriority(101), "priority is 101; want -100 to 100"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("Validate() = %v, want %q", tt.err, tt.want)
		}
	}
}

func TestTTLSeconds(t *testing.T) {
	for _, tt := range []struct {
		in   float64
		want time.Duration
	}{
		{-1, leasehold.Infinite},
		{1, time.Second},
		{300, 300 * time.Second},
		{86_400, 24 * time.Hour},
		{3_153_600_000, century},
		{1.5, 1500 * time.Millisecond},
		{1.0009, time.Second}, // cut, not rounded
		{1.9999, 1999 * time.Millisecond},
		{86_399.9999, 24*time.Hour - time.Millisecond},
	} {
		if got, err := leasehold.TTLSeconds(tt.in); got != tt.want || err != nil {
			t.Errorf("TTLSeconds(%v) = %v, %v; want %v", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []float64{
		math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), -2, -1.5, -0.999, -1.0000001,
		0.999999, math.Nextafter(1, 0), math.Nextafter(3_153_600_000, 1e12), 3_153_600_000.001, 1e300, -1e300, math.SmallestNonzeroFloat64,
	} {
		got, err := leasehold.TTLSeconds(in)
		if got != 0 || !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("TTLSeconds(%v) = %v, %v; want ErrInvalid", in, got, err)
			continue
		}
		verifyInvalid(t, err, "ttl_seconds", "want 1 to 3153600000, or -1")
	}
}

// TestTTLSecondsKeepsMilliseconds: a ttl that was written with three decimals
// must come out as those, although a float cannot hold most of them.
func TestTTLSecondsKeepsMilliseconds(t *testing.T) {
	for ms := int64(1000); ms <= century.Milliseconds(); ms += 7 * (1 + ms/5000) {
		in := float64(ms) / 1000
		if got, err := leasehold.TTLSeconds(in); got != time.Duration(ms)*time.Millisecond || err != nil {
			t.Fatalf("TTLSeconds(%v) = %v, %v; want %d ms", in, got, err, ms)
		}
	}
}

func TestPageLimits(t *testing.T) {
	for _, tt := range []struct {
		n     int
		field string
	}{{0, ""}, {1, ""}, {1000, ""}, {1001, "limit"}, {-1, "limit"}} {
		verifyLimits(t, []limitCase{
			{fmt.Sprintf("list of %d", tt.n), leasehold.ListRequest{Limit: tt.n}.Validate(), tt.field},
			{fmt.Sprintf("history of %d", tt.n), leasehold.HistoryRequest{Limit: tt.n}.Validate(), tt.field},
		})
	}
}

func TestBreakLimits(t *testing.T) {
	breaking := func(d time.Duration) error {
		return leasehold.BreakRequest{Resource: "job", Period: &d}.Validate()
	}
	verifyLimits(t, []limitCase{
		{"no period", leasehold.BreakRequest{Resource: "job"}.Validate(), ""},
		{"at once", breaking(0), ""},
		{"at the most", breaking(time.Minute), ""},
		{"above", breaking(time.Minute + 1), "break_period_seconds"},
		{"negative", breaking(-1), "break_period_seconds"},
		{"no resource", leasehold.BreakRequest{}.Validate(), "resource"},
		{"reason at the most", leasehold.BreakRequest{Resource: "job", Why: strings.Repeat("y", 1024)}.Validate(), ""},
		{"reason too long", leasehold.BreakRequest{Resource: "job", Why: strings.Repeat("y", 1025)}.Validate(), "reason"},
		{"reason with a control character", leasehold.BreakRequest{Resource: "job", Why: "a\nb"}.Validate(), "reason"},
		{"reason no UTF-8", leasehold.BreakRequest{Resource: "job", Why: "\xff"}.Validate(), "reason"},
	})
}

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

// withClaims checks a request for these claims, of a store that grants them.
func withClaims(claims ...leasehold.Claim) error {
	return leasehold.AcquireRequest{Holder: "ann", Claims: claims}.ValidateAll()
}

func withPath(namespace, pattern string) error {
	return withClaims(leasehold.Paths(namespace, pattern)...)
}

// numbered are so many patterns of so many bytes.
func numbered(n, size int) (claims []leasehold.Claim) {
	for i := range n {
		claims = append(claims, leasehold.Claim{Namespace: "r", Pattern: fmt.Sprintf("%0*d", size-1, i)})
	}
	return claims
}

func TestPatternLimits(t *testing.T) {
	segments := func(n int, separator string) string { return strings.Repeat("a"+separator, n-1) + "a" }
	verifyLimits(t, []limitCase{
		{"a path", withPath("repo", "src/auth/token.go"), ""},
		{"wildcards", withPath("repo", "*/a*b*/**/*.go"), ""},
		{"only wildcards", withPath("repo", "**"), ""},
		{"double wildcards in a row", withPath("repo", "**/**"), ""},
		{"a colon as separator", withPath("services:", "prod:us:**"), ""},
		{"a colon in a path", withPath("repo", "a:b/c"), ""},
		{"names with dots", withPath("repo", ".github/..."), ""},
		{"dots between colons", withPath("services:", "a:..:."), ""},
		{"spaces and letters", withPath("repo", "my docs/ὁδός"), ""},
		{"a question mark and brackets", withPath("repo", "a?[b]{c}"), ""},
		{"empty", withPath("repo", ""), "paths"},
		{"a slash at the start", withPath("repo", "/src"), "paths"},
		{"a slash at the end", withPath("repo", "src/"), "paths"},
		{"two slashes", withPath("repo", "src//a"), "paths"},
		{"a colon at the end", withPath("services:", "prod:"), "paths"},
		{"a single dot", withPath("repo", "./src"), "paths"},
		{"two dots", withPath("repo", "src/../a"), "paths"},
		{"** behind letters", withPath("repo", "src/a**"), "paths"},
		{"** before letters", withPath("repo", "**.go"), "paths"},
		{"three stars", withPath("repo", "***"), "paths"},
		{"a backslash", withPath("repo", `src\a`), "paths"},
		{"a slash between colons", withPath("services:", "prod/us"), "paths"},
		{"a backslash between colons", withPath("services:", `prod\us`), "paths"},
		{"a line break", withPath("repo", "a\nb"), "paths"},
		{"NUL", withPath("repo", "a\x00"), "paths"},
		{"no UTF-8", withPath("repo", "\xff"), "paths"},
		{"the longest", withPath("repo", strings.Repeat("a", 1024)), ""},
		{"longer", withPath("repo", strings.Repeat("a", 1025)), "paths"},
		{"as many segments as may be", withPath("repo", segments(64, "/")), ""},
		{"one segment more", withPath("repo", segments(65, "/")), "paths"},
		{"one segment more, by colons", withPath("services:", segments(65, ":")), "paths"},
		{"the longest namespace", withPath(strings.Repeat("n", 256), "a"), ""},
		{"a longer namespace", withPath(strings.Repeat("n", 257), "a"), "namespace"},
		{"a namespace with a control character", withPath("a\tb", "a"), "namespace"},
		{"a namespace that is no UTF-8", withPath("\xff", "a"), "namespace"},
	})
}

func TestClaimLimits(t *testing.T) {
	one := leasehold.Claim{Pattern: "job"}
	reader, other := one, leasehold.Claim{Pattern: "job", Mode: 2}
	reader.Mode = leasehold.Shared
	verifyLimits(t, []limitCase{
		{"one name", withClaims(one), ""},
		{"a shared name", withClaims(reader), ""},
		{"names and paths", withClaims(one, leasehold.Claim{Namespace: "repo", Pattern: "job"}, leasehold.Claim{Namespace: "other", Pattern: "job"}), ""},
		{"a name with a star and a slash", withClaims(leasehold.Resources("*", "//", "**a")...), ""},
		{"an empty name", withClaims(leasehold.Claim{}), "resources"},
		{"a long name", withClaims(leasehold.Resources(strings.Repeat("a", 1025))...), "resources"},
		{"a name of a set", withClaims(leasehold.Resources("__set__7")...), "resources"},
		{"a path like the name of a set", withPath("repo", "__set__7"), ""},
		{"a name twice", withClaims(one, one), "resources"},
		{"a name twice, in other modes", withClaims(one, reader), "resources"},
		{"a path twice", withClaims(leasehold.Paths("repo", "a", "b", "a")...), "paths"},
		{"a mode that is none", withClaims(other), "mode"},
		{"as many as may be", withClaims(numbered(256, 2)...), ""},
		{"one more", withClaims(numbered(257, 2)...), "claims"},
		{"exactly the size", withClaims(numbered(256, 64)...), ""},
		{"a byte more", withClaims(append(numbered(255, 64), leasehold.Claim{Namespace: "r", Pattern: strings.Repeat("x", 64)})...), "claims"},
		{"no holder", leasehold.AcquireRequest{Claims: leasehold.Resources("job")}.ValidateAll(), "holder"},
		{"a bad ttl", leasehold.AcquireRequest{Holder: "ann", Claims: leasehold.Resources("job"), TTL: 5}.ValidateAll(), "ttl_seconds"},
		{"a resource beside claims", leasehold.AcquireRequest{Holder: "ann", Resource: "a", Claims: leasehold.Resources("job")}.ValidateAll(), "resource"},
		{"neither", leasehold.AcquireRequest{Holder: "ann"}.ValidateAll(), "resource"},
		{"a resource", leasehold.AcquireRequest{Holder: "ann", Resource: "job"}.ValidateAll(), ""},
		{"a resource and an empty list", leasehold.AcquireRequest{Holder: "ann", Resource: "job", Claims: []leasehold.Claim{}}.ValidateAll(), ""},
		{"a resource that is the name of a set", leasehold.AcquireRequest{Holder: "ann", Resource: "__set__7"}.ValidateAll(), "resource"},
		{"the same of any store", leasehold.AcquireRequest{Holder: "ann", Resource: "__set__"}.Validate(), "resource"},
		{"a break of a set", leasehold.BreakRequest{Resource: "__set__7"}.Validate(), ""},
	})
}

// TestPatternMessages: each says what to write instead.
func TestPatternMessages(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{withPath("repo", "src/a**"), `"src/a**", in which ** is a part of a segment; it stands for whole segments, separated by /, and * for a part of one`},
		{withPath("repo", "src/"), `"src/", in which a segment is empty; leave out / at the start, at the end and after another, and write ** as the last segment`},
		{withPath("services:", ":a"), `":a", in which a segment is empty; leave out : at the start`},
		{withPath("repo", "a/../b"), `"a/../b", in which a segment is ..; resolve it first`},
		{withPath("repo", `a\b`), `"a\\b" with a \; the segments of namespace "repo" are separated by "/"`},
		{withPath("services:", "a/b"), `"a/b" with a /; the segments of namespace "services:" are separated by ":"`},
		{withPath("repo", strings.Repeat("a/", 64)+"a"), "has a pattern of 65 segments; the limit is 64"},
		{withPath("repo", ""), "paths is empty; want 1 to 1024 bytes"},
		{withClaims(numbered(257, 2)...), "claims has 257 claims; the limit is 256"},
		{withClaims(leasehold.Resources("a", "a")...), `resources has "a" twice; want each once`},
		{withClaims(leasehold.Resources("__set__1")...), "resources begins with __set__, which names leases of several resources; choose another name"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("ValidateAll() = %v, want %q", tt.err, tt.want)
		}
	}
}

// TestWithoutClaims: a store without sets answers that it has none, but a request that
// no store would grant is wrong everywhere.
func TestWithoutClaims(t *testing.T) {
	id := leasehold.NewID()
	for name, err := range map[string]error{
		"acquire":              leasehold.AcquireRequest{Holder: "ann", Claims: leasehold.Resources("job")}.Validate(),
		"release with a note":  leasehold.ReleaseRequest{ID: id, Note: "n"}.Validate(),
		"transfer with a note": leasehold.TransferRequest{ID: id, To: "bob", Note: "n"}.Validate(),
		"list of a namespace":  leasehold.ListRequest{Namespace: "repo"}.Validate(),
		"list of a path":       leasehold.ListRequest{Namespace: "repo", Path: "src/**"}.Validate(),
	} {
		if leasehold.ReasonOf(err) != leasehold.ReasonUnsupported {
			t.Errorf("%s: Validate() = %v, want ErrUnsupported", name, err)
		}
	}
	verifyLimits(t, []limitCase{
		{"acquire", leasehold.AcquireRequest{Holder: "ann", Claims: leasehold.Resources("")}.Validate(), "resources"},
		{"release", leasehold.ReleaseRequest{Note: "n"}.Validate(), "lease_id"},
		{"transfer", leasehold.TransferRequest{ID: id, Note: "n"}.Validate(), "to_holder"},
		{"list", leasehold.ListRequest{Path: "src"}.Validate(), "namespace"},
	})
}

func TestNoteLimits(t *testing.T) {
	id := leasehold.NewID()
	for verb, check := range map[string]func(note string) error{
		"release":  func(note string) error { return leasehold.ReleaseRequest{ID: id, Note: note}.ValidateAll() },
		"transfer": func(note string) error { return leasehold.TransferRequest{ID: id, To: "bob", Note: note}.ValidateAll() },
	} {
		verifyLimits(t, []limitCase{
			{verb + " without", check(""), ""},
			{verb + " with lines", check("a\n\tb"), ""},
			{verb + " with the longest", check(strings.Repeat("n", 4096)), ""},
			{verb + " with a longer one", check(strings.Repeat("n", 4097)), "note"},
			{verb + " with no UTF-8", check("\xff"), "note"},
		})
	}
}

func TestPathFilterLimits(t *testing.T) {
	list := func(namespace, path string) error {
		return leasehold.ListRequest{Namespace: namespace, Path: path}.ValidateAll()
	}
	verifyLimits(t, []limitCase{
		{"neither", list("", ""), ""},
		{"a namespace", list("repo", ""), ""},
		{"a long namespace", list(strings.Repeat("n", 257), ""), "namespace"},
		{"a pattern", list("repo", "src/**"), ""},
		{"a bad pattern", list("repo", "src/"), "paths"},
		{"a path without a namespace", list("", "src"), "namespace"},
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
