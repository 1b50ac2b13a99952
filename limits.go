package leasehold

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits. A value outside them is refused with ErrInvalid before anything
// happens. A store may be narrower, never wider.
const (
	MaxResource      = 1024 // bytes
	MaxHolder        = 256  // bytes
	MaxWhy           = 1024 // bytes
	MinTTL           = time.Second
	MaxTTL           = 100 * 365 * 24 * time.Hour // setting max_ttl_seconds is narrower
	MaxMetadataPairs = 64
	MaxMetadataKey   = 128  // bytes
	MaxMetadataValue = 1024 // bytes
	MaxMetadataSize  = 8192 // bytes, all keys and values together
	MaxMaxRenewals   = 1_000_000
	MaxPriority      = 100 // and -100
	MaxTimeout       = 24 * time.Hour
	MaxBreakPeriod   = 60 * time.Second
	DefaultPage      = 100
	MaxPage          = 1000

	MaxClaims     = 256       // of a lease
	MaxClaimsSize = 16 * 1024 // bytes, all namespaces and patterns of a lease together
	MaxNamespace  = 256       // bytes
	MaxPattern    = 1024      // bytes
	MaxSegments   = 64        // of a pattern
	MaxNote       = 4096      // bytes
)

// HealthPrefix begins the names of resources that health checks lease. Their
// leases leave no history.
const HealthPrefix = "__healthcheck__"

// What a store without Claims cannot do.
var (
	errNoClaims = errors.New("it grants no leases on several resources or patterns, and none that are shared")
	errNoPaths  = errors.New("its leases have no namespaces and paths")
	errNoNotes  = errors.New("it keeps no notes for the next holder")
)

// Validate checks the request against the limits, for a store that grants no Claims:
// they are ErrUnsupported.
func (r AcquireRequest) Validate() error {
	if len(r.Claims) > 0 {
		return firstError(r.ValidateAll(), &Error{Reason: ReasonUnsupported, Cause: errNoClaims})
	}
	return firstError(checkAcquired("resource", r.Resource), r.checkTerms())
}

// ValidateAll checks the request against the limits, for a store that grants Claims.
func (r AcquireRequest) ValidateAll() error {
	switch {
	case len(r.Claims) == 0:
		return r.Validate()
	case r.Resource != "":
		return Invalid("resource", "is sent together with claims; send one of them")
	}
	return firstError(CheckClaims(r.Claims), r.checkTerms())
}

// checkTerms checks all but what the lease is to cover.
func (r AcquireRequest) checkTerms() error {
	return firstError(
		CheckHolder(r.Holder),
		checkTTL(r.TTL),
		CheckMetadata(r.Metadata),
		checkMaxRenewals(r.MaxRenewals),
		checkPriority(r.Priority),
		checkTimeout(r.Timeout),
		checkCaller(r.Caller),
	)
}

// Validate checks the request against the limits.
func (r RenewRequest) Validate() error {
	return firstError(checkID("lease_id", r.ID), checkTTL(r.TTL), checkMatch(r.Resource, r.Holder, r.Token))
}

// Validate checks the request against the limits, for a store that keeps no notes:
// one is ErrUnsupported.
func (r ReleaseRequest) Validate() error { return firstError(r.ValidateAll(), refuseNote(r.Note)) }

// ValidateAll checks the request against the limits, for a store that keeps notes.
func (r ReleaseRequest) ValidateAll() error {
	return firstError(checkID("lease_id", r.ID), checkMatch(r.Resource, r.Holder, r.Token), checkWhy(r.Why), checkNote(r.Note))
}

func refuseNote(note string) error {
	if note == "" {
		return nil
	}
	return &Error{Reason: ReasonUnsupported, Cause: errNoNotes}
}

// Validate checks the request against the limits.
func (r ChangeRequest) Validate() error {
	return firstError(checkID("lease_id", r.ID), checkID("proposed_lease_id", r.Proposed), checkMatch(r.Resource, r.Holder, r.Token))
}

// Validate checks the request against the limits, for a store that keeps no notes:
// one is ErrUnsupported.
func (r TransferRequest) Validate() error { return firstError(r.ValidateAll(), refuseNote(r.Note)) }

// ValidateAll checks the request against the limits, for a store that keeps notes.
func (r TransferRequest) ValidateAll() error {
	err := CheckHolder(r.To)
	if e, ok := err.(*Error); ok {
		e.Field = "to_holder"
	}
	return firstError(checkID("lease_id", r.ID), err, CheckMetadata(r.Metadata), checkMatch(r.Resource, r.Holder, r.Token), checkNote(r.Note))
}

// Validate checks the request against the limits.
func (r BreakRequest) Validate() error {
	if r.Period != nil && (*r.Period < 0 || *r.Period > MaxBreakPeriod) {
		return Invalid("break_period_seconds", "is %v; want 0 s to %v", *r.Period, MaxBreakPeriod)
	}
	return firstError(CheckResource(r.Resource), checkWhy(r.Why))
}

// Validate checks the request against the limits, for a store that grants no Claims:
// filters by namespace are ErrUnsupported. Filters obey the same rules as the values
// they are compared with.
func (r ListRequest) Validate() error {
	if r.Namespace != "" || r.Path != "" {
		return firstError(r.ValidateAll(), &Error{Reason: ReasonUnsupported, Cause: errNoPaths})
	}
	return r.ValidateAll()
}

// ValidateAll checks the request against the limits, for a store that grants Claims.
func (r ListRequest) ValidateAll() error {
	for _, s := range r.States {
		if s > StateBroken {
			return Invalid("status", "%v is no state", s)
		}
	}
	return firstError(checkFilters(r.Resource, r.Prefix, r.Holder), r.checkPath(), CheckMetadata(r.Metadata), checkLimit(r.Limit))
}

// checkPath checks the filter by namespace and path.
func (r ListRequest) checkPath() error {
	switch {
	case r.Namespace == "" && r.Path == "":
		return nil
	case r.Namespace == "":
		return Invalid("namespace", "is missing; a path is one of a namespace")
	case r.Path == "":
		return checkName("namespace", r.Namespace, MaxNamespace)
	}
	return Claim{Namespace: r.Namespace, Pattern: r.Path}.check()
}

// Validate checks the request against the limits.
func (r HistoryRequest) Validate() error {
	if r.Kind != "" && !kinds[r.Kind] {
		return Invalid("event", "%.64q is no event; want acquired, renewed, released, expired, breaking, broken, changed, transferred, force_released, failed, purged or configured", r.Kind)
	}
	return firstError(checkFilters(r.Resource, r.Prefix, r.Holder), checkLimit(r.Limit))
}

// Validate checks the request against the limits.
func (r WatchRequest) Validate() error { return checkFilters("", r.Prefix, r.Holder) }

// CheckResource checks the name of a resource.
func CheckResource(name string) error { return checkName("resource", name, MaxResource) }

// checkAcquired checks the name of a resource that is to be acquired: not one that a
// store gave to a set.
func checkAcquired(field, name string) error {
	if strings.HasPrefix(name, SetPrefix) {
		return Invalid(field, "begins with %s, which names leases of several resources; choose another name", SetPrefix)
	}
	return checkName(field, name, MaxResource)
}

// CheckHolder checks the name of a holder.
func CheckHolder(name string) error { return checkName("holder", name, MaxHolder) }

// CheckMetadata checks keys, values and their number and size.
func CheckMetadata(m map[string]string) error {
	if len(m) > MaxMetadataPairs {
		return Invalid("metadata", "has %d pairs; the limit is %d", len(m), MaxMetadataPairs)
	}
	size := 0
	for k, v := range m {
		if err := checkPair(k, v); err != nil {
			return err
		}
		size += len(k) + len(v)
	}
	if size > MaxMetadataSize {
		return Invalid("metadata", "has %d bytes of keys and values; the limit is %d", size, MaxMetadataSize)
	}
	return nil
}

func checkPair(k, v string) error {
	switch {
	case k == "" || len(k) > MaxMetadataKey:
		return Invalid("metadata", "has a key of %d bytes; want 1 to %d", len(k), MaxMetadataKey)
	case strings.ContainsFunc(k, notKeyRune):
		return Invalid("metadata", "has the key %.64q; want only A-Z a-z 0-9 _ . -", k)
	case len(v) > MaxMetadataValue:
		return Invalid("metadata", "has a value of %d bytes under %q; the limit is %d", len(v), k, MaxMetadataValue)
	case !utf8.ValidString(v):
		return Invalid("metadata", "has a value under %q that is not valid UTF-8", k)
	}
	return nil
}

func notKeyRune(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-')
}

func checkName(field, name string, most int) error {
	switch {
	case name == "":
		return Invalid(field, "is empty; want 1 to %d bytes", most)
	case len(name) > most:
		return Invalid(field, "has %d bytes; the limit is %d", len(name), most)
	}
	return checkText(field, name)
}

func checkText(field, s string) error {
	if !utf8.ValidString(s) {
		return Invalid(field, "is not valid UTF-8")
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		return Invalid(field, "has a control character at byte %d", i)
	}
	return nil
}

// checkCaller checks the name of a caller, which may be left out.
func checkCaller(name string) error {
	if name == "" {
		return nil
	}
	return checkName("caller", name, MaxHolder)
}

func checkID(field string, id ID) error {
	if id.IsZero() {
		return Invalid(field, "is missing")
	}
	return nil
}

func checkTTL(ttl time.Duration) error {
	if ttl == 0 || ttl == Infinite || ttl >= MinTTL && ttl <= MaxTTL {
		return nil
	}
	return badTTL(ttl.Seconds(), MaxTTL)
}

// CheckTTL checks a ttl that was sent, against a maximum below MaxTTL.
func CheckTTL(ttl, most time.Duration) error {
	if ttl <= most { // Infinite is
		return nil
	}
	return badTTL(ttl.Seconds(), most)
}

func badTTL(seconds float64, most time.Duration) error {
	format := byte('f')
	if math.Abs(seconds) >= 1e15 || math.Abs(seconds) < 1e-6 {
		format = 'g' // without hundreds of zeros
	}
	return Invalid("ttl_seconds", "is %s; want %v to %.0f, or -1 for no end",
		strconv.FormatFloat(seconds, format, -1, 64), MinTTL.Seconds(), most.Seconds())
}

func checkMaxRenewals(n *int) error {
	if n == nil || *n >= Unlimited && *n <= MaxMaxRenewals {
		return nil
	}
	return Invalid("max_renewals", "is %d; want 0 to %d, or -1 for no limit", *n, MaxMaxRenewals)
}

func checkPriority(p int) error {
	if p < -MaxPriority || p > MaxPriority {
		return Invalid("priority", "is %d; want %d to %d", p, -MaxPriority, MaxPriority)
	}
	return nil
}

func checkTimeout(d time.Duration) error {
	if d == NoTimeout || d >= 0 && d <= MaxTimeout {
		return nil
	}
	ms := strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64)
	return Invalid("timeout_ms", "is %s; want 0 to %d", ms, MaxTimeout.Milliseconds())
}

// checkMatch checks the optional parts that must match a lease.
func checkMatch(resource, holder string, token uint64) error {
	if resource != "" {
		if err := CheckResource(resource); err != nil {
			return err
		}
	}
	if holder != "" {
		if err := CheckHolder(holder); err != nil {
			return err
		}
	}
	if token > MaxToken {
		return Invalid("token", "is %d; tokens are below 2^53", token)
	}
	return nil
}

func checkWhy(why string) error {
	if len(why) > MaxWhy {
		return Invalid("reason", "has %d bytes; the limit is %d", len(why), MaxWhy)
	}
	return checkText("reason", why)
}

func checkFilters(resource, prefix, holder string) error {
	if len(prefix) > MaxResource {
		return Invalid("prefix", "has %d bytes; the limit is %d", len(prefix), MaxResource)
	}
	return firstError(checkText("prefix", prefix), checkMatch(resource, holder, 0))
}

func checkLimit(n int) error {
	if n < 0 || n > MaxPage {
		return Invalid("limit", "is %d; want 1 to %d", n, MaxPage)
	}
	return nil
}

// firstError returns the first error that is one. The checks are cheap, so
// running them all is no loss.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TTLSeconds converts seconds of a request, fractions and -1 allowed, to a TTL
// in whole milliseconds. Numbers that no duration can hold are ErrInvalid.
func TTLSeconds(s float64) (time.Duration, error) {
	if s == -1 {
		return Infinite, nil
	}
	if math.IsNaN(s) || s < MinTTL.Seconds() || s > MaxTTL.Seconds() {
		return 0, badTTL(s, MaxTTL)
	}
	// Most decimals lie a hair beside their float: round that off before the cut.
	// Beyond 97 days that hair is longer than half a nanosecond.
	unit := time.Nanosecond
	if s >= 1<<23 {
		unit = time.Microsecond
	}
	return (time.Duration(math.Round(s*float64(time.Second/unit))) * unit).Truncate(time.Millisecond), nil
}
