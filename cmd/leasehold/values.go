package main

import (
	"fmt"
	"math"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/spf13/cobra"
)

// endless are the words for a duration without an end.
var endless = map[string]bool{"infinite": true, "forever": true, "-1": true}

// durationFlag takes what people write for a duration: 90s, 5m, or a bare
// number, which is seconds. Where there may be no end it takes the words too.
type durationFlag struct {
	value   *time.Duration
	endless time.Duration // what "infinite" means; zero: it is refused
}

// String is empty where the flag was not given.
func (f durationFlag) String() string {
	switch {
	case f.value == nil || *f.value == 0:
		return ""
	case *f.value < 0:
		return "infinite"
	}
	return f.value.String()
}

func (f durationFlag) Type() string { return "duration" }

func (f durationFlag) Set(s string) error {
	if f.endless != 0 && endless[s] {
		*f.value = f.endless
		return nil
	}
	d, err := parseDuration(s)
	if err != nil {
		return err
	}
	*f.value = d
	return nil
}

// ttlFlag is a durationFlag that takes no zero: a request has it for "not given".
type ttlFlag struct{ durationFlag }

func newTTLFlag(value *time.Duration) ttlFlag {
	return ttlFlag{durationFlag{value, leasehold.Infinite}}
}

func (f ttlFlag) Set(s string) error {
	if d, err := parseDuration(s); err == nil && d == 0 {
		return fmt.Errorf("a lease lasts %v at least", leasehold.MinTTL)
	}
	return f.durationFlag.Set(s)
}

// parseDuration reads a duration that is not negative; a bare number is seconds.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if seconds, ok := bareNumber(s); ok {
		d, err = seconds, nil
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("want a duration such as 90s, 5m or 1h30m; a bare number is seconds")
	}
	return d, nil
}

func bareNumber(s string) (time.Duration, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > math.MaxInt64/1e9 {
		return 0, false
	}
	return time.Duration(math.Round(f * 1e9)), true
}

// noneEmpty refuses flags that were given without a value, by an unset variable
// of a script, say. What they guard would be open: a token without an end, a
// release of any holder's lease.
func noneEmpty(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		switch f := cmd.Flags().Lookup(name); {
		case f.Changed && f.Value.String() == "":
			return usagef("--%s is empty; give it a value, or leave it out", name)
		case f.Changed && f.Value.Type() == "uint64" && f.Value.String() == "0":
			return usagef("--%s is 0, which none is; give it a value, or leave it out", name)
		}
	}
	return nil
}

// parseMoment reads a time: RFC 3339, or a duration, which means so long ago.
func parseMoment(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := parseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	switch {
	case err != nil:
		return t, usagef("--%s is %q; want a time such as 2026-01-31T12:00:00Z, or 15m for a quarter of an hour ago", flag, s)
	case t.IsZero(): // the year 1, which a filter would take for none
		return t.Add(time.Nanosecond), nil
	}
	return t, nil
}

// parsePairs reads KEY=VALUE arguments. No pairs are nil.
func parsePairs(words []string) (map[string]string, error) {
	var m map[string]string
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok || key == "" {
			return nil, usagef("--metadata is %q; want KEY=VALUE", w)
		}
		if _, twice := m[key]; twice {
			return nil, usagef("--metadata has the key %q twice", key)
		}
		if m == nil {
			m = map[string]string{}
		}
		m[key] = value
	}
	return m, nil
}

// holderName is who asks: the flag, the environment, or a name that others can
// make sense of and that stays the same within one shell or script.
func holderName(flag string) string {
	for _, name := range []string{flag, os.Getenv("LEASEHOLD_HOLDER")} {
		if name != "" {
			return name
		}
	}
	who := "somebody"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	name := fmt.Sprintf("%s@%s:%d", who, host, os.Getppid())
	if leasehold.CheckHolder(name) != nil {
		return fmt.Sprintf("process:%d", os.Getppid())
	}
	return name
}
