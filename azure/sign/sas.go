package sign

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// SAS is a shared access signature: a signed grant in the query. What Parse returns
// is well-formed but not proven: it grants nothing before Verify.
type SAS struct {
	values        map[string]string // as sent, which is how they were signed
	start, expiry *time.Time        // nil where absent
	from          addressRange
}

// parameters are those that a grant consists of.
var parameters = map[string]bool{
	"sv": true, "sr": true, "ss": true, "srt": true, "sp": true, "st": true, "se": true,
	"si": true, "sip": true, "spr": true, "ses": true, "sig": true,
	"rscc": true, "rscd": true, "rsce": true, "rscl": true, "rsct": true,
}

// delegation are the parameters that only a user delegation SAS has.
var delegation = []string{"skoid", "sktid", "skt", "ske", "sks", "skv", "sduoid", "skdutid"}

// Parse finds a shared access signature in a query. Without one (no sig) the
// answer is false; with one that cannot be used, true and the refusal.
func Parse(query url.Values) (*SAS, bool, error) {
	sent := map[string][]string{}
	for name, values := range query {
		name = strings.ToLower(name)
		sent[name] = append(sent[name], values...)
	}
	if len(sent["sig"]) == 0 {
		return nil, false, nil
	}
	for _, name := range delegation {
		if len(sent[name]) > 0 {
			return nil, true, authFailed("This is a user delegation SAS, which needs Entra ID, and this server does not have it. Sign with an account key.")
		}
	}
	s := &SAS{values: map[string]string{}}
	for name := range parameters {
		if err := s.add(name, sent[name]); err != nil {
			return nil, true, err
		}
	}
	if err := s.validate(); err != nil {
		return nil, true, err
	}
	return s, true, nil
}

// add refuses a parameter that is there twice, of which signer and server might
// use different ones, and line breaks, which could make one signed text of two
// different grants.
func (s *SAS) add(name string, values []string) error {
	switch {
	case len(values) == 0:
		return nil
	case len(values) > 1:
		return malformed(name, "there more than once")
	case strings.ContainsFunc(values[0], isControl):
		return malformed(name, "not plain text")
	}
	if values[0] != "" {
		s.values[name] = values[0]
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// malformed does not repeat the value.
func malformed(name, why string) error {
	return authFailed("The shared access signature cannot be used: %s is %s.", name, why)
}

// Identifier names the stored access policy of the container that completes
// this SAS; "" when it needs none.
func (s *SAS) Identifier() string { return s.values["si"] }

// account reports whether it is an account SAS, not a service SAS.
func (s *SAS) account() bool { return s.values["srt"] != "" || s.values["ss"] != "" }

var overrides = map[string]string{
	"rscc": "Cache-Control",
	"rscd": "Content-Disposition",
	"rsce": "Content-Encoding",
	"rscl": "Content-Language",
	"rsct": "Content-Type",
}

// Overrides are the headers that the answer to a read carries instead of the
// blob's own. An account SAS has none, as its signature does not cover them.
func (s *SAS) Overrides() http.Header {
	h := http.Header{}
	if s.account() {
		return h
	}
	for name, header := range overrides {
		if value := s.values[name]; value != "" {
			h.Set(header, value)
		}
	}
	return h
}

// Format hides the signature, whatever the verb.
func (s SAS) Format(f fmt.State, _ rune) {
	kind := "service"
	if s.account() {
		kind = "account"
	}
	io.WriteString(f, kind+" SAS")
}

// validate refuses a grant that no signature makes valid.
func (s *SAS) validate() error {
	for _, step := range []func() error{s.validateVersion, s.validateKind, s.validatePermissions, s.validateTimes, s.validateOrigin} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// oldest is the version that brought account SAS, sip and spr. What was signed
// before is written differently again, by SDKs of a decade ago.
const oldest = "2015-04-05"

func (s *SAS) validateVersion() error {
	version := s.values["sv"]
	if _, err := time.Parse(time.DateOnly, version); err != nil {
		return malformed("sv", "missing or no date")
	}
	if version < oldest {
		return malformed("sv", "older than "+oldest)
	}
	return nil
}

func (s *SAS) validateKind() error {
	if s.account() {
		return s.validateAccount()
	}
	switch kind := s.values["sr"]; {
	case kind == "c", kind == "b":
		return nil
	case kind == "bs" && s.values["sv"] < withSnapshot:
		return malformed("sv", "older than "+withSnapshot+", which a snapshot (sr=bs) needs")
	case kind == "bs":
		return nil
	case kind == "":
		return malformed("sr", "missing, and so are ss and srt")
	}
	return malformed("sr", "not c (container), b (blob) or bs (snapshot)")
}

func (s *SAS) validateAccount() error {
	switch {
	case s.values["sr"] != "":
		return malformed("sr", "there together with ss or srt")
	case s.values["si"] != "":
		return malformed("si", "there, but an account SAS has no stored access policy")
	case !consistsOf(s.values["ss"], "bqtf"):
		return malformed("ss", "missing or not made of the letters b, q, t and f")
	case !consistsOf(s.values["srt"], "sco"):
		return malformed("srt", "missing or not made of the letters s, c and o")
	}
	return nil
}

// validatePermissions allows small letters only, so that the text of no grant can
// be that of a signed request, whose first line is its verb.
func (s *SAS) validatePermissions() error {
	permissions, complete := s.values["sp"], s.Identifier() != ""
	if permissions == "" && complete {
		return nil
	}
	if !consistsOf(permissions, "abcdefghijklmnopqrstuvwxyz") {
		return malformed("sp", "missing or not made of small letters")
	}
	return nil
}

func (s *SAS) validateTimes() (err error) {
	if s.start, err = ParseTime(s.values["st"]); err != nil {
		return malformed("st", notATime)
	}
	if s.expiry, err = ParseTime(s.values["se"]); err != nil {
		return malformed("se", notATime)
	}
	if s.expiry == nil && s.Identifier() == "" {
		return malformed("se", "missing")
	}
	return nil
}

const notATime = `no time, as in "2006-01-02T15:04:05Z"`

// layouts are the times that Azure reads: of a second, a minute or a day.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", time.DateOnly}

// ParseTime reads a time of a SAS or a stored access policy; nil for an empty text
// alone, whatever the year.
func ParseTime(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	var err error
	for _, layout := range layouts {
		var at time.Time
		if at, err = time.Parse(layout, text); err == nil {
			return &at, nil
		}
	}
	return nil, err
}

func (s *SAS) validateOrigin() (err error) {
	switch s.values["spr"] {
	case "", "https", "https,http":
	default:
		return malformed("spr", `neither "https" nor "https,http"`)
	}
	if s.from, err = parseAddressRange(s.values["sip"]); err != nil {
		return malformed("sip", "neither an address nor a range of two addresses")
	}
	return nil
}

// addressRange is a range with both ends; the zero value contains every address.
type addressRange struct{ first, last netip.Addr }

func parseAddressRange(text string) (addressRange, error) {
	if text == "" {
		return addressRange{}, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err := netip.ParseAddr(first)
	if err != nil {
		return addressRange{}, err
	}
	to, err := netip.ParseAddr(last)
	if err != nil {
		return addressRange{}, err
	}
	return addressRange{from.Unmap(), to.Unmap()}, nil
}

func (a addressRange) contains(ip netip.Addr) bool {
	if !a.first.IsValid() {
		return true
	}
	ip = ip.Unmap().WithZone("")
	return ip.BitLen() == a.first.BitLen() && ip.BitLen() == a.last.BitLen() && a.first.Compare(ip) <= 0 && ip.Compare(a.last) <= 0
}

func consistsOf(text, letters string) bool {
	return text != "" && strings.Trim(text, letters) == ""
}
