package storetest

import (
	"fmt"
	"math"
	"time"

	"github.com/leasehold/leasehold"
)

// badNames are names outside of the rules, by what is wrong with them.
func badNames(most int) map[string]string {
	return map[string]string{
		"empty":             "",
		"too long":          longText(most + 1),
		"much too long":     longText(1 << 20),
		"with NUL":          "a\x00b",
		"with a newline":    "a\nb",
		"with a tab":        "\t",
		"with DEL":          "a\x7f",
		"with a C1 control": "a\u0085b",
		"not UTF-8":         "a\xffb",
		"cut in a rune":     "日本語"[:4],
		"with a surrogate":  "a\xed\xa0\x80b",
	}
}

type badAcquire struct {
	what  string
	field string
	spoil func(*leasehold.AcquireRequest)
}

// badAcquires spoil one field each.
func badAcquires() []badAcquire {
	var all []badAcquire
	add := func(what, field string, spoil func(*leasehold.AcquireRequest)) {
		all = append(all, badAcquire{what, field, spoil})
	}
	for what, name := range badNames(leasehold.MaxResource) {
		add("a resource "+what, "resource", func(r *leasehold.AcquireRequest) { r.Resource = name })
	}
	for what, name := range badNames(leasehold.MaxHolder) {
		add("a holder "+what, "holder", func(r *leasehold.AcquireRequest) { r.Holder = name })
	}
	for _, ttl := range badTTLs {
		add(fmt.Sprint("ttl ", ttl), "ttl_seconds", func(r *leasehold.AcquireRequest) { r.TTL = ttl })
	}
	for what, m := range badMetadata() {
		add("metadata with "+what, "metadata", func(r *leasehold.AcquireRequest) { r.Metadata = m })
	}
	for _, n := range []int{-2, leasehold.MaxMaxRenewals + 1, math.MinInt32, math.MaxInt} {
		add(fmt.Sprint("max_renewals ", n), "max_renewals", func(r *leasehold.AcquireRequest) { r.MaxRenewals = &n })
	}
	for _, p := range []int{-101, 101, math.MinInt, math.MaxInt} {
		add(fmt.Sprint("priority ", p), "priority", func(r *leasehold.AcquireRequest) { r.Priority = p })
	}
	for _, d := range []time.Duration{-2, -time.Hour, leasehold.MaxTimeout + 1, math.MinInt64, math.MaxInt64} {
		add(fmt.Sprint("timeout ", d), "timeout_ms", func(r *leasehold.AcquireRequest) { r.Timeout = d })
	}
	return all
}

var badTTLs = []time.Duration{-2, -time.Second, 1, time.Second - 1, leasehold.MaxTTL + 1, math.MinInt64, math.MaxInt64}

func badMetadata() map[string]map[string]string {
	many, big := map[string]string{}, map[string]string{}
	for i := range leasehold.MaxMetadataPairs + 1 {
		many[fmt.Sprint("k", i)] = ""
	}
	for i := range 8 {
		big[fmt.Sprint("k", i)] = longText(leasehold.MaxMetadataValue)
	}
	return map[string]map[string]string{
		"too many pairs":    many,
		"too many bytes":    big,
		"an empty key":      {"": "v"},
		"a key too long":    {longText(leasehold.MaxMetadataKey + 1): "v"},
		"a space in a key":  {"a b": "v"},
		"an accent in key":  {"é": "v"},
		"a value too long":  {"k": longText(leasehold.MaxMetadataValue + 1)},
		"a value not UTF-8": {"k": "\xff"},
	}
}

// badMatch spoils what renew, release, change and transfer have in common.
type badMatch struct {
	what, field string
	id          leasehold.ID
	resource    string
	holder      string
	token       uint64
}

func badMatches(g leasehold.Grant) []badMatch {
	all := []badMatch{
		{"no id", "lease_id", leasehold.ID{}, "held", "", 0},
		{"a huge token", "token", g.ID, "held", "", leasehold.MaxToken + 1},
	}
	for what, name := range badNames(leasehold.MaxResource) {
		if name != "" {
			all = append(all, badMatch{"a resource " + what, "resource", g.ID, name, "", 0})
		}
	}
	for what, name := range badNames(leasehold.MaxHolder) {
		if name != "" {
			all = append(all, badMatch{"a holder " + what, "holder", g.ID, "held", name, 0})
		}
	}
	return all
}
