package storetest

import (
	"maps"
	"strings"

	"github.com/leasehold/leasehold"
)

var nameChecks = []check{
	{name: "ArePlainData", run: namesArePlain},
	{name: "AreToldApart", run: namesToldApart},
	{name: "LongestAreAccepted", run: namesLongest},
	{name: "MetadataAtTheLimits", run: metadataAtLimits},
	{name: "MetadataIsPlainData", run: metadataIsPlain},
}

// oddNames are resources and holders that break naive stores.
var oddNames = []string{
	`it's`, `"quoted"`, "`ticks`", `back\slash`, `a/b/c`, `/`, `//`, `..`, `../../etc/passwd`, `./a`, `.`,
	`a b`, ` leading`, `trailing `, `%`, `%2F`, `%00`, `100%`, `_`, `*`, `?`, `a?b=c&d`, `#frag`, `a:b`, `::`,
	`'; DROP TABLE leases; --`, `Robert'); DELETE FROM lease_history WHERE 1=1;--`, `$1`, `@p`, `{name}`, `{`, `}`, `[x]`,
	`<script>alert(1)</script>`, `{{.}}`, `${HOME}`, "`id`", `null`, `NULL`, `nil`, `0`, `-1`, `true`, `1e9`,
	`日本語`, `مرحبا`, `Ünïcödé`, `😀`, `👩‍👩‍👧‍👦`, "e\u0301", "\u200b", "\ufeff", "\u202egnp.exe", `blob`, `lease:`, `__internal__`,
	`a\nb`, `CON`, `NUL`, `aux.txt`, `~`, `|`, `a;b`, `a,b`, `a=b`, `+`, `^`, `§`,
}

func namesArePlain(e *env) {
	for _, name := range oddNames {
		r := e.request(name, name)
		r.Metadata = map[string]string{"name": name}
		g := e.grant(r)
		if l := e.held(g.Lease); l.Metadata["name"] != name {
			e.Errorf("metadata of %q = %q", name, l.Metadata)
		}
		if err := e.refused(e.request(name, "other"), leasehold.ReasonHeld); err.Current.Holder != name || err.Current.Resource != name {
			e.Errorf("Current = lease on %q of %q, want %q", err.Current.Resource, err.Current.Holder, name)
		}
		e.renew(g.Lease)
		if e.h.can(Listing) {
			e.lists(leasehold.ListRequest{Resource: name, Holder: name}, name)
		}
		e.release(g.Lease)
		e.free(name)
		if e.h.can(History) {
			e.kinds(name, leasehold.KindAcquired, leasehold.KindRenewed, leasehold.KindReleased)
		}
	}
}

// namesToldApart has pairs that case folding, trimming, normalising or
// escaping would make one.
func namesToldApart(e *env) {
	names := []string{
		"a", "A", "a ", " a", "a/", "/a", "a//", "ａ", "á", "a\u0301", "Á", "a%", "a%20", "a+", "a.", "a\\", "ss", "ß", "SS",
		"i", "I", "ı", "İ", "a\u200b", "lease-a", "lease:a", "a-", "a_", "%61", "K", "\u212a",
	}
	var grants []leasehold.Grant
	for _, n := range names {
		grants = append(grants, e.acquire(n, n))
	}
	for _, g := range grants {
		e.held(g.Lease)
		e.renew(g.Lease)
	}
	for i, g := range grants {
		e.release(g.Lease)
		if i+1 < len(grants) {
			e.held(grants[i+1].Lease)
		}
	}
}

func longText(n int) string { return strings.Repeat("x", n) }

func namesLongest(e *env) {
	for _, unit := range []string{"x", "é", "😀", "/", "%"} {
		resource := strings.Repeat(unit, e.h.MaxResource/len(unit))
		holder := strings.Repeat(unit, leasehold.MaxHolder/len(unit))
		g := e.acquire(resource, holder)
		e.held(g.Lease)
		e.renew(g.Lease)
		if e.h.can(Listing) {
			e.lists(leasehold.ListRequest{Prefix: resource, Limit: 1}, resource)
		}
		// One byte less must be another resource: nothing is cut off.
		shorter := resource[:len(resource)-len(unit)]
		e.free(shorter)
		e.acquire(shorter, holder)
		e.release(g.Lease)
		e.free(resource)
	}
}

// metadataIsPlain has keys that folding or escaping would make one, and values
// that grow when they are encoded.
func metadataIsPlain(e *env) {
	keys := map[string]string{"empty": "", "space": " "}
	for i, k := range []string{"key", "Key", "KEY", "k.ey", "k_ey", "k-ey", "k__ey", ".", "..", "-", "_", "__proto__", "id", "ttl", "_etag", "7", "7.0", "-1", "m_key"} {
		keys[k] = oddNames[i]
	}
	controls := map[string]string{"control": "\x00\x01\x1b\r\n\t\x7f\u0085\u2028"}
	growing := map[string]string{}
	for i, unit := range []string{"\"", "\\", "\x01", "<", "é", "😀", "\u2028"} {
		growing[string(rune('a'+i))] = strings.Repeat(unit, leasehold.MaxMetadataValue/len(unit))
	}
	for what, m := range map[string]map[string]string{"odd keys": keys, "control characters": controls, "values that grow": growing} {
		r := e.request(what, "h")
		r.Metadata = m
		g := e.grant(r)
		if got := e.held(g.Lease).Metadata; !maps.Equal(got, m) {
			e.Errorf("%s: Status has %.200q, want %.200q", what, got, m)
		}
		e.renew(g.Lease)
		e.release(g.Lease)
	}
}

func metadataAtLimits(e *env) {
	many := map[string]string{}
	for i := range leasehold.MaxMetadataPairs {
		many["key-"+string(rune('A'+i%26))+string(rune('a'+i/26))] = "v"
	}
	big := map[string]string{longText(leasehold.MaxMetadataKey): longText(leasehold.MaxMetadataValue)}
	full := map[string]string{}
	for _, k := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		full[k] = longText(leasehold.MaxMetadataValue)
	}
	full["h"] = longText(leasehold.MaxMetadataValue - 8)
	for what, m := range map[string]map[string]string{"many pairs": many, "long pair": big, "full size": full} {
		r := e.request(what, "h")
		r.Metadata = m
		g := e.grant(r)
		got := e.held(g.Lease).Metadata
		if len(got) != len(m) {
			e.Errorf("%s: Status has %d pairs, want %d", what, len(got), len(m))
		}
		for k, v := range m {
			if got[k] != v {
				e.Errorf("%s: Status has %d bytes under a key of %d, want %d", what, len(got[k]), len(k), len(v))
			}
		}
	}
}
