package sign

import (
	"net/netip"
	"strings"
	"time"
)

// check refuses a grant that no signature could save.
func (s *SAS) check() error {
	for _, step := range []func() error{s.checkVersion, s.checkKind, s.checkPermissions, s.checkTimes, s.checkOrigin} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// oldest is the version that brought account SAS, sip and spr. What was signed
// before is written differently again, by SDKs of a decade ago.
const oldest = "2015-04-05"

func (s *SAS) checkVersion() error {
	version := s.values["sv"]
	if _, err := time.Parse(time.DateOnly, version); err != nil {
		return malformed("sv", "missing or no date")
	}
	if version < oldest {
		return malformed("sv", "older than "+oldest)
	}
	return nil
}

func (s *SAS) checkKind() error {
	if s.account() {
		return s.checkAccount()
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

func (s *SAS) checkAccount() error {
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

// checkPermissions allows small letters only, so that no grant can be taken for
// the first line of a signed request, which is its verb.
func (s *SAS) checkPermissions() error {
	permissions, complete := s.values["sp"], s.Identifier() != ""
	if permissions == "" && complete {
		return nil
	}
	if !consistsOf(permissions, "abcdefghijklmnopqrstuvwxyz") {
		return malformed("sp", "missing or not made of small letters")
	}
	return nil
}

func (s *SAS) checkTimes() (err error) {
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

// ParseTime reads a time of a signature or a stored access policy. An empty text
// is none; no time is taken for none, whatever its year.
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

func (s *SAS) checkOrigin() (err error) {
	switch s.values["spr"] {
	case "", "https", "https,http":
	default:
		return malformed("spr", `neither "https" nor "https,http"`)
	}
	if s.from, err = parseAddresses(s.values["sip"]); err != nil {
		return malformed("sip", "neither an address nor a range of two addresses")
	}
	return nil
}

// addresses is a range with both ends; the zero value holds every address.
type addresses struct{ first, last netip.Addr }

func parseAddresses(text string) (addresses, error) {
	if text == "" {
		return addresses{}, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err := netip.ParseAddr(first)
	if err != nil {
		return addresses{}, err
	}
	to, err := netip.ParseAddr(last)
	if err != nil {
		return addresses{}, err
	}
	return addresses{from.Unmap(), to.Unmap()}, nil
}

func (a addresses) hold(ip netip.Addr) bool {
	if !a.first.IsValid() {
		return true
	}
	ip = ip.Unmap().WithZone("")
	return ip.BitLen() == a.first.BitLen() && ip.BitLen() == a.last.BitLen() && a.first.Compare(ip) <= 0 && ip.Compare(a.last) <= 0
}

func consistsOf(text, letters string) bool {
	return text != "" && strings.Trim(text, letters) == ""
}
