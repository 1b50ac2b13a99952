package leasehold

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// Options configure a Manager. A nil *Options and the zero value are fine: every
// zero field means its default.
type Options struct {
	// TTL is the length of a lease, or Infinite. Default 60 s.
	TTL time.Duration

	// NoAutoRenew leaves renewing to the caller, by Held.Renew. A lease that is
	// not renewed is declared lost at its safety line. Default: the Manager
	// renews.
	NoAutoRenew bool

	// RenewInterval is the time from one success to the next renewal. It must
	// be shorter than TTL × SafetyThreshold; for infinite leases it is how
	// often they are verified, at most 30 s. A lease with a TTL of its own
	// is renewed at the same fraction of it. Default 2/3 of TTL, somewhat less
	// where the safety line is drawn early; 30 s for infinite leases.
	RenewInterval time.Duration

	// RenewRetryInterval is the pause before the first quick retry of a failed
	// renewal. Each further pause is twice as long; jitter only ever shortens
	// them. The RenewMaxRetries pauses together must fit between RenewInterval
	// and the safety line. Default: what leaves about half of that room to
	// the answers, at most 1 s.
	RenewRetryInterval time.Duration

	// RenewMaxRetries is how many quick, doubling retries there are. After them
	// the Manager retries at the last interval, and more often right before the
	// safety line: running out of retries never loses a lease. Negative: none.
	// Default 3.
	RenewMaxRetries int

	// SafetyThreshold is the fraction of the ttl, counted from the last
	// success, at which a lease is declared lost: 0.5 to 0.95. What is above it
	// is the time in which your work can stop before another's may start.
	// Default 0.9.
	SafetyThreshold float64

	// AcquireTimeout ends the wait of Acquire, Do and one wait of Lead.
	// Default: none.
	AcquireTimeout time.Duration

	// AcquireRetryInterval is the first pause between two attempts on a store
	// without a queue; the pauses grow to four times as long, jittered, and end
	// early when the lease in the way does. Default 5 s.
	AcquireRetryInterval time.Duration

	// Holder names this sequence of work to others. Two processes must never
	// share one. Default: host name, process id and a random part.
	Holder string

	// Metadata is that of every lease. Default: none; DefaultMetadata returns
	// what operators usually need.
	Metadata map[string]string

	// Observe is called with what happens to the held leases; see Event.
	// Default: none.
	Observe func(Event)

	// Trace is called before each operation of the Manager. It returns the
	// context for the operation's requests, which descends from the one it got,
	// and a function that is called with the lease's token, if there is a lease,
	// and the operation's error. Both are called without a lock, but the operation
	// waits for them. Package telemetry uses it. Default: none.
	Trace func(context.Context, Operation) (context.Context, func(token uint64, err error))
}

// The defaults, and the bounds that are no option.
const (
	defaultTTL             = 60 * time.Second
	defaultSafetyThreshold = 0.9
	defaultRetries         = 3
	defaultAcquireRetry    = 5 * time.Second

	verifyInterval = 30 * time.Second // how long an infinite lease may go unverified
	minInterval    = 10 * time.Millisecond
	maxRetries     = 16
)

// complete returns a copy of the options with every default filled in, or says
// which value does not fit and what would.
func (o *Options) complete() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	c.Metadata = maps.Clone(c.Metadata)
	setDefault(&c.TTL, defaultTTL)
	setDefault(&c.SafetyThreshold, defaultSafetyThreshold)
	setDefault(&c.RenewMaxRetries, defaultRetries)
	c.RenewMaxRetries = max(c.RenewMaxRetries, 0)
	setDefault(&c.AcquireRetryInterval, defaultAcquireRetry)
	if c.Holder == "" {
		c.Holder = defaultHolder()
	}
	err := firstError(c.checkTTL(), c.checkThreshold(), c.checkRetries())
	if err == nil {
		setDefault(&c.RenewInterval, c.defaultInterval())
		err = c.checkInterval()
	}
	if err == nil {
		setDefault(&c.RenewRetryInterval, c.defaultRetry())
		err = c.checkPlan()
	}
	return c, firstError(err, c.checkAcquire(), CheckHolder(c.Holder), CheckMetadata(c.Metadata))
}

func setDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

func (o *Options) checkTTL() error {
	if err := checkTTL(o.TTL); err != nil {
		return Invalid("TTL", "is %v; want %v to %v, or Infinite; 60s suits most work", o.TTL, MinTTL, MaxTTL)
	}
	return nil
}

func (o *Options) checkThreshold() error {
	if o.SafetyThreshold >= 0.5 && o.SafetyThreshold <= 0.95 { // a NaN is neither
		return nil
	}
	return Invalid("SafetyThreshold", "is %v; want 0.5 to 0.95; 0.9 suits most work", o.SafetyThreshold)
}

func (o *Options) checkRetries() error {
	if o.RenewMaxRetries > maxRetries {
		return Invalid("RenewMaxRetries", "is %d; want at most %d: each pause is twice the last", o.RenewMaxRetries, maxRetries)
	}
	return nil
}

func (o *Options) checkInterval() error {
	most, why := verifyInterval, "an infinite lease is verified at least that often"
	if o.TTL != Infinite {
		most, why = o.lineOf(o.TTL)-minInterval, fmt.Sprintf("it must be shorter than TTL × SafetyThreshold = %v", o.lineOf(o.TTL))
	}
	if o.RenewInterval < minInterval || o.RenewInterval > most {
		return Invalid("RenewInterval", "is %v; want %v to %v: %s; try %v", o.RenewInterval, minInterval, most, why, min(o.defaultInterval(), most))
	}
	return nil
}

// checkPlan makes sure that the quick retries end before the safety line.
func (o *Options) checkPlan() error {
	if o.RenewRetryInterval < time.Millisecond {
		return Invalid("RenewRetryInterval", "is %v; want at least 1ms; try %v", o.RenewRetryInterval, o.defaultRetry())
	}
	most := o.room() / time.Duration(pauses(o.RenewMaxRetries))
	switch {
	case o.RenewRetryInterval <= most:
		return nil
	case most < time.Millisecond:
		return Invalid("RenewMaxRetries", "is %d; so many pauses, each twice the last, do not fit into the %v between RenewInterval and the safety line; try %d",
			o.RenewMaxRetries, o.room(), min(defaultRetries, o.RenewMaxRetries-1))
	}
	return Invalid("RenewRetryInterval", "is %v; with %d retries, each pause twice the last, at most %v fits into the %v between RenewInterval and the safety line; try %v",
		o.RenewRetryInterval, o.RenewMaxRetries, most, o.room(), o.defaultRetry())
}

func (o *Options) checkAcquire() error {
	if o.AcquireTimeout < 0 {
		return Invalid("AcquireTimeout", "is %v; want zero for none, or how long to wait", o.AcquireTimeout)
	}
	if o.AcquireRetryInterval < minInterval {
		return Invalid("AcquireRetryInterval", "is %v; want at least %v; %v suits most stores", o.AcquireRetryInterval, minInterval, defaultAcquireRetry)
	}
	return nil
}

func (o *Options) defaultInterval() time.Duration {
	if o.TTL == Infinite {
		return verifyInterval
	}
	return min(o.TTL*2/3, o.lineOf(o.TTL)*3/4) // the latter where the line is drawn early
}

func (o *Options) defaultRetry() time.Duration {
	return max(min(time.Second, o.room()/time.Duration(2*pauses(o.RenewMaxRetries)+2)), time.Millisecond)
}

// room is the time between RenewInterval and the safety line. An infinite lease
// has no line; there the plan has to fit between two verifications.
func (o *Options) room() time.Duration {
	if o.TTL == Infinite {
		return verifyInterval
	}
	return o.lineOf(o.TTL) - o.RenewInterval
}

// pauses is the sum of n pauses, each twice the last, in units of the first.
func pauses(n int) int { return max(1<<n-1, 1) }

func defaultHolder() string {
	host, err := os.Hostname()
	if err != nil || len(host) > MaxHolder/2 || CheckHolder(host) != nil {
		host = "unknown-host"
	}
	var random [4]byte
	rand.Read(random[:]) // never fails: crypto/rand aborts the program instead
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), hex.EncodeToString(random[:]))
}

// DefaultMetadata returns what an operator needs to know about the holder of a
// lease, as far as the process knows it:
//
//	host      the machine's name
//	pod       POD_NAME, which Kubernetes' downward API can set
//	version   of the main module, as built into the program
//	trace_id  of the trace that started the process, from TRACEPARENT
//
// The Manager does not add it: set Options.Metadata to it, or to a copy with
// more.
func DefaultMetadata() map[string]string {
	host, _ := os.Hostname()
	m := make(map[string]string, 4)
	addPair(m, "host", host)
	addPair(m, "pod", os.Getenv("POD_NAME"))
	if build, ok := debug.ReadBuildInfo(); ok {
		addPair(m, "version", build.Main.Version)
	}
	addPair(m, "trace_id", traceID(os.Getenv("TRACEPARENT")))
	return m
}

// addPair omits what is empty or would be refused: an odd environment must not
// keep a program from acquiring leases.
func addPair(m map[string]string, key, value string) {
	if value != "" && checkPair(key, value) == nil {
		m[key] = value
	}
}

// traceID returns the trace id of a W3C traceparent, version-trace-span-flags.
func traceID(parent string) string {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdef") != "" || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}
