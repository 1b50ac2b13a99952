package leasehold

import (
	"strings"
	"unicode/utf8"
)

// Claim is one part of what a lease covers. A lease of AcquireRequest.Resource has
// exactly one claim, exclusive on that name; a lease of AcquireRequest.Claims has up
// to MaxClaims, all or none.
//
// Claims of two leases conflict if they are of the same namespace, some path or name
// fits both, and at least one of them is exclusive.
type Claim struct {
	// Namespace keeps patterns apart: only those of one namespace can overlap.
	// Empty: Pattern is the name of a resource, every character of it plain data.
	Namespace string `json:"namespace,omitempty"`

	// Pattern is a path whose segments are separated by the namespace's Separator.
	// In a segment * stands for any characters, none included; a segment ** stands
	// for any number of segments, none included. So src/** covers src itself and all
	// below it, and a path without * covers only itself.
	Pattern string `json:"pattern"`

	// Mode is Exclusive unless set.
	Mode Mode `json:"mode"`
}

// Mode says whom a claim keeps out.
type Mode uint8

// The modes.
const (
	Exclusive Mode = iota // everybody else
	Shared                // whoever wants it exclusively
)

// String returns the mode's name.
func (m Mode) String() string {
	if m == Shared {
		return "shared"
	}
	return "exclusive"
}

// MarshalText writes the mode's name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the mode's name.
func (m *Mode) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMode(string(text))
	return err
}

// ParseMode is the inverse of String. Empty is Exclusive.
func ParseMode(name string) (Mode, error) {
	switch name {
	case "", "exclusive":
		return Exclusive, nil
	case "shared":
		return Shared, nil
	}
	return Exclusive, Invalid("mode", "%.64q is no mode; want shared or exclusive", name)
}

// String writes the claim for people: namespace, pattern, and the mode if it is shared.
func (c Claim) String() string {
	s := c.Pattern
	if c.Namespace != "" {
		s = c.Namespace + " " + s
	}
	if c.Mode == Shared {
		s += " (shared)"
	}
	return s
}

// Separator returns what separates the segments of a namespace's patterns: a colon
// if the namespace ends in one, as in "services:", else a slash.
func Separator(namespace string) string {
	if strings.HasSuffix(namespace, ":") {
		return ":"
	}
	return "/"
}

// SetPrefix begins the names that stores give to leases of Claims: such a lease is
// listed, read, broken and recorded under its name, which no request can choose.
const SetPrefix = "__set__"

// Resources makes exclusive claims of names.
func Resources(names ...string) []Claim {
	claims := make([]Claim, len(names))
	for i, name := range names {
		claims[i] = Claim{Pattern: name}
	}
	return claims
}

// Paths makes exclusive claims of patterns.
func Paths(namespace string, patterns ...string) []Claim {
	claims := Resources(patterns...)
	for i := range claims {
		claims[i].Namespace = namespace
	}
	return claims
}

// Note is what a holder left for the next one, by ReleaseRequest.Note or
// TransferRequest.Note.
type Note struct {
	From string `json:"from"` // the holder
	Text string `json:"text"`
}

// WaitEdge says that Holder waits for a claim that HeldBy has, or has reserved.
type WaitEdge struct {
	Holder string
	Claim  Claim // as Holder requested it
	HeldBy string
}

// Overlap is where two claims meet.
type Overlap struct {
	Requested Claim
	Held      Claim

	// Part is a pattern that fits into both: narrow the claim so that it leaves
	// this out. There may be more than one such part.
	Part string
}

// CheckClaims checks the claims of a request, their number and size.
func CheckClaims(claims []Claim) error {
	if len(claims) > MaxClaims {
		return Invalid("claims", "has %d claims; the limit is %d", len(claims), MaxClaims)
	}
	size := 0
	seen := make(map[[2]string]bool, len(claims))
	for _, c := range claims {
		if err := c.check(); err != nil {
			return err
		}
		key := [2]string{c.Namespace, c.Pattern}
		if seen[key] {
			return Invalid(c.field(), "has %.64q twice; want each once", c.Pattern)
		}
		seen[key] = true
		size += len(c.Namespace) + len(c.Pattern)
	}
	if size > MaxClaimsSize {
		return Invalid("claims", "has %d bytes of namespaces and patterns; the limit is %d", size, MaxClaimsSize)
	}
	return nil
}

// field names the claim in errors as the JSON API does.
func (c Claim) field() string {
	if c.Namespace == "" {
		return "resources"
	}
	return "paths"
}

func (c Claim) check() error {
	if c.Mode > Shared {
		return Invalid("mode", "is %d; want shared or exclusive", c.Mode)
	}
	if c.Namespace == "" {
		return checkAcquired("resources", c.Pattern)
	}
	return firstError(checkName("namespace", c.Namespace, MaxNamespace), c.checkPattern())
}

// checkPattern checks a pattern of a namespace.
func (c Claim) checkPattern() error {
	if err := checkName("paths", c.Pattern, MaxPattern); err != nil {
		return err
	}
	separator := Separator(c.Namespace)
	if at := strings.IndexAny(c.Pattern, strings.ReplaceAll(`\/`, separator, "")); at >= 0 {
		return Invalid("paths", "has %.64q with a %c; the segments of namespace %.64q are separated by %q",
			c.Pattern, c.Pattern[at], c.Namespace, separator)
	}
	segments := strings.Split(c.Pattern, separator)
	if len(segments) > MaxSegments {
		return Invalid("paths", "has a pattern of %d segments; the limit is %d", len(segments), MaxSegments)
	}
	for _, s := range segments {
		if problem := segmentProblem(s, separator); problem != "" {
			return Invalid("paths", "has %.64q, in which %s", c.Pattern, problem)
		}
	}
	return nil
}

// segmentProblem says what is wrong with a segment, or nothing.
func segmentProblem(s, separator string) string {
	switch {
	case s == "":
		return "a segment is empty; leave out " + separator + " at the start, at the end and after another, and write **" +
			" as the last segment to cover all below"
	case separator == "/" && (s == "." || s == ".."):
		return "a segment is " + s + "; resolve it first, because paths are compared as they are written"
	case s != "**" && strings.Contains(s, "**"):
		return "** is a part of a segment; it stands for whole segments, separated by " + separator + ", and * for a part of one"
	}
	return ""
}

// checkNote checks a note, which may have lines.
func checkNote(text string) error {
	if len(text) > MaxNote {
		return Invalid("note", "has %d bytes; the limit is %d", len(text), MaxNote)
	}
	if !utf8.ValidString(text) {
		return Invalid("note", "is not valid UTF-8")
	}
	return nil
}
