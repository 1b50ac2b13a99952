package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/leasehold/leasehold"
)

// printJSON writes one indented JSON document.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// note writes to standard error what is no part of the answer.
func (a *app) note(format string, args ...any) {
	if !a.json {
		fmt.Fprintf(a.err, format+"\n", args...)
	}
}

// table writes rows in columns.
func table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return t.Flush()
}

// span formats a duration for people: 350 ms, 41 s, 5 min 3 s, 2 h 10 min, 3 d.
func span(d time.Duration) string {
	switch d = d.Round(time.Millisecond); {
	case d == 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d.Round(time.Second) < time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	case d.Round(time.Second) < time.Hour:
		d = d.Round(time.Second)
		return twoUnits(int(d/time.Minute), "min", int(d%time.Minute/time.Second), "s")
	case d.Round(time.Minute) < 48*time.Hour:
		d = d.Round(time.Minute)
		return twoUnits(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "min")
	default:
		return fmt.Sprintf("%d d", int(d.Round(24*time.Hour)/(24*time.Hour)))
	}
}

func twoUnits(n int, unit string, m int, smaller string) string {
	if m == 0 {
		return fmt.Sprintf("%d %s", n, unit)
	}
	return fmt.Sprintf("%d %s %d %s", n, unit, m, smaller)
}

// ago formats a time as its distance from now.
func ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "-"
	case d < time.Second:
		return "now"
	default:
		return span(d) + " ago"
	}
}

// remaining formats the time until a lease ends.
func remaining(l leasehold.Lease) string {
	switch {
	case !l.State.Locked():
		return "-"
	case l.Remaining == leasehold.Infinite:
		return "never"
	default:
		return span(l.Remaining)
	}
}

// shownClaims is how many claims of a lease a line shows.
const shownClaims = 4

// leaseName is the name of a lease as one word for a shell, and what it covers where
// the name does not say it.
func leaseName(l leasehold.Lease) string {
	if len(l.Claims) == 0 {
		return quote(l.Resource)
	}
	return quote(l.Resource) + " (" + claimList(l.Claims) + ")"
}

// claimList formats the first claims in one line.
func claimList(claims []leasehold.Claim) string {
	var b []string
	for _, c := range claims[:min(shownClaims, len(claims))] {
		b = append(b, c.String())
	}
	if more := len(claims) - shownClaims; more > 0 {
		b = append(b, fmt.Sprintf("%d more", more))
	}
	return strings.Join(b, ", ")
}

// claimLines formats claims for programs, one in a line: mode, pattern, and the
// namespace unless it is a name, with tabs between. None of them has a tab or a line
// break. The namespace is last because a shell's read drops empty fields elsewhere.
func claimLines(claims []leasehold.Claim) string {
	var b []string
	for _, c := range claims {
		b = append(b, strings.TrimRight(c.Mode.String()+"\t"+c.Pattern+"\t"+c.Namespace, "\t"))
	}
	return strings.Join(b, "\n")
}

// noteText formats what an earlier holder left. Its lines are indented, so that none
// of them looks like a message of this program.
func noteText(n leasehold.Note) string {
	lines := strings.Split(strings.TrimSpace(n.Text), "\n")
	for i, line := range lines {
		lines[i] = visible(strings.TrimRight(line, "\r"))
	}
	return "note from " + n.From + ": " + strings.Join(lines, "\n  ")
}

// endTime formats the end of a lease for programs; empty if it has none.
func endTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// renewals formats how many renewals there were, and may be.
func renewals(l leasehold.Lease) string {
	if l.MaxRenewals == leasehold.Unlimited {
		return fmt.Sprint(l.Renewals)
	}
	return fmt.Sprintf("%d of %d", l.Renewals, l.MaxRenewals)
}

// pairs formats metadata in one line, in a stable order.
func pairs(m map[string]string) string {
	var b []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = append(b, k+"="+visible(m[k]))
	}
	return strings.Join(b, " ")
}

// visible replaces control characters: metadata and reasons may hold anything, and
// must not control a terminal.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, s)
}

// ordinal formats 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}

// quote makes one word of s for a POSIX shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
