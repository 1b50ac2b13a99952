package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// endless are the words for a duration without an end.
var endless = map[string]bool{"infinite": true, "forever": true, "-1": true}

// durationFlag parses 90s, 5m, or a bare number, which is seconds; and, where a
// duration may have no end, the words for that.
type durationFlag struct {
	value   *time.Duration
	endless time.Duration // what the words stand for; zero: they are refused
}

// String is empty if the flag is not given.
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

// ttlFlag is a durationFlag that refuses zero: in a request it means "not given".
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

// refuseEmpty refuses flags that are given without a value, as by an unset
// variable of a script. They restrict something, which must not be open then: a
// token without an end, a release of any holder's lease.
func refuseEmpty(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		text := f.Value.String()
		list, isList := f.Value.(interface{ GetSlice() []string })
		switch {
		case text == "" || isList && slices.Contains(list.GetSlice(), ""):
			return usagef("--%s is empty; give it a value, or leave it out", name)
		case f.Value.Type() == "uint64" && text == "0":
			return usagef("--%s is 0, which none is; give it a value, or leave it out", name)
		}
	}
	return nil
}

// refuseBeside refuses flags of the command that mean nothing beside one, except some.
func refuseBeside(cmd *cobra.Command, flag string, except ...string) (err error) {
	inherited := cmd.InheritedFlags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != flag && !slices.Contains(except, f.Name) && inherited.Lookup(f.Name) == nil && err == nil {
			err = usagef("takes --%s or --%s, not both", flag, f.Name)
		}
	})
	return err
}

// parseMoment reads a time: RFC 3339, or a duration, which counts back from now.
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
	case t.IsZero(): // the year 1; a filter takes the zero time for none
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

// holderName returns the holder: the flag, the environment, or a name that says
// who and where, and which process. With the parent's pid it stays the same
// within one shell or script; with the process's own it differs from run to run.
func holderName(flag string, pid int) string {
	for _, name := range []string{flag, os.Getenv("LEASEHOLD_HOLDER")} {
		if name != "" {
			return name
		}
	}
	who, host := "somebody", "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	name := fmt.Sprintf("%s@%s:%d", who, host, pid)
	if leasehold.CheckHolder(name) != nil {
		return fmt.Sprintf("process:%d", pid)
	}
	return name
}

// claimFlags say what to acquire, besides the names in the arguments.
type claimFlags struct {
	paths     []string
	namespace string
	shared    bool
}

const claimHelp = `

Several resources, or --path patterns of a --namespace, are one lease: all of them or
none, with one id and one token. Patterns conflict by overlap, and only within their
namespace: src/auth/** covers src/auth and all below it, docs/*.md the files in docs.
With --shared others may share it; whoever wants it exclusively has to wait. The store
gives such a lease a name, ` + leasehold.SetPrefix + `N.`

func (f *claimFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.paths, "path", nil, "pattern of the namespace to acquire, such as 'src/auth/**' (repeatable)")
	flags.StringVar(&f.namespace, "namespace", "", "what the patterns belong to, such as a repository; one that ends in : separates segments by :, others by /")
	flags.BoolVarP(&f.shared, "shared", "s", false, "share it with others who share it")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return refuseEmpty(cmd, "path", "namespace") }
}

// claims returns the name of a plain lease, or the claims of another.
func (f *claimFlags) claims(names []string) (resource string, claims []leasehold.Claim, err error) {
	switch {
	case len(f.paths) > 0 && f.namespace == "":
		return "", nil, usagef("--path needs --namespace: patterns conflict only within one")
	case len(f.paths) == 0 && f.namespace != "":
		return "", nil, usagef("--namespace is for patterns; give --path")
	case len(f.paths) == 0 && len(names) == 1 && !f.shared:
		return names[0], nil, nil
	}
	claims = append(leasehold.Resources(names...), leasehold.Paths(f.namespace, f.paths...)...)
	if f.shared {
		for i := range claims {
			claims[i].Mode = leasehold.Shared
		}
	}
	return "", claims, leasehold.CheckClaims(claims)
}

const leaseIDHelp = `

The lease id is a secret: a client that shows it may renew, transfer or release. It is
taken from --lease-id, else from $LEASEHOLD_LEASE_ID. Other users of the machine
can read a command line with ps, so prefer the environment, or --lease-id - with
the id on standard input.`

// leaseFlags name a lease that the caller holds.
type leaseFlags struct {
	id       string
	resource string
	holder   string
	token    uint64
}

func (f *leaseFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.id, "lease-id", "", "id of the lease; - reads it from standard input (default $LEASEHOLD_LEASE_ID)")
	flags.StringVar(&f.resource, "resource", "", "resource of the lease; needed only for stores that cannot find a lease by its id")
	flags.StringVar(&f.holder, "holder", "", "refuse unless this is the lease's holder")
	flags.Uint64Var(&f.token, "token", 0, "refuse unless this is the lease's fencing token")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return refuseEmpty(cmd, "lease-id", "resource", "holder", "token")
	}
}

// leaseID returns the id that the flags, standard input or the environment name.
func (a *app) leaseID(f leaseFlags) (leasehold.ID, error) {
	text := f.id
	switch {
	case text == "-":
		var err error
		if text, err = a.firstLine(); err != nil {
			return leasehold.ID{}, err
		}
	case text == "":
		text = os.Getenv("LEASEHOLD_LEASE_ID")
	}
	if text == "" {
		return leasehold.ID{}, usagef("names no lease; set LEASEHOLD_LEASE_ID, as eval \"$(leasehold acquire …)\" does, or give --lease-id")
	}
	return leasehold.ParseID(text)
}

// proposedID returns the id that a flag proposes, zero if none.
func (a *app) proposedID(text string) (leasehold.ID, error) {
	if text == "" {
		return leasehold.ID{}, nil
	}
	return a.leaseID(leaseFlags{id: text})
}

func (a *app) firstLine() (string, error) {
	line, err := bufio.NewReader(io.LimitReader(a.in, 256)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}
