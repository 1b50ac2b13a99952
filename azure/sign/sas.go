package sign

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// SAS is a shared access signature: a grant that somebody with the key signed
// and that travels in the query. What Parse returns is well-formed and not yet
// proven: nothing may be done on its word before Verify.
type SAS struct {
	values        map[string]string // as sent, which is how they were signed
	start, expiry *time.Time        // nil where absent
	from          addresses
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
			return nil, true, unauthentic("This is a user delegation SAS, which needs Entra ID, and this server does not have it. Sign with an account key.")
		}
	}
	s := &SAS{values: map[string]string{}}
	for name := range parameters {
		if err := s.take(name, sent[name]); err != nil {
			return nil, true, err
		}
	}
	if err := s.check(); err != nil {
		return nil, true, err
	}
	return s, true, nil
}

// take refuses a parameter that is there twice, since signer and server might
// each mean another of the two, and line breaks, which could make one signed
// text out of two different grants.
func (s *SAS) take(name string, values []string) error {
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

// malformed never repeats the value.
func malformed(name, why string) error {
	return unauthentic("The shared access signature cannot be used: %s is %s.", name, why)
}

// Identifier names the stored access policy of the container that completes
// this SAS; "" when it needs none.
func (s *SAS) Identifier() string { return s.values["si"] }

// account tells an account SAS from a service SAS.
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

// Format hides the signature, whatever the verb: a signature is a key to what
// it grants.
func (s SAS) Format(f fmt.State, _ rune) {
	kind := "service"
	if s.account() {
		kind = "account"
	}
	io.WriteString(f, kind+" SAS")
}
