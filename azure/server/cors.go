package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
)

// The limits of rules.
const (
	maxRules       = 5
	maxRuleOrigins = 64
)

// corsRules say which web pages may use the account from a browser.
type corsRules struct {
	Rules []corsRule `xml:"CorsRule"`
}

// corsRule is one of them. Its lists have commas between their entries.
type corsRule struct {
	AllowedOrigins  string
	AllowedMethods  string
	AllowedHeaders  string
	ExposedHeaders  string
	MaxAgeInSeconds int
}

func (r *corsRules) validate() error {
	if len(r.Rules) > maxRules {
		return azerr.New(azerr.InvalidXmlDocument).With("An account has at most %d CORS rules.", maxRules)
	}
	for _, rule := range r.Rules {
		if err := rule.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (r corsRule) validate() error {
	bad := func(why string) error {
		return azerr.New(azerr.InvalidXmlNodeValue).With("A CORS rule is not valid: %s.", why)
	}
	origins := entries(r.AllowedOrigins)
	switch {
	case len(origins) == 0 || len(entries(r.AllowedMethods)) == 0:
		return azerr.New(azerr.MissingRequiredXmlNode).With("A CORS rule needs AllowedOrigins and AllowedMethods.")
	case len(origins) > maxRuleOrigins:
		return bad("it has more than 64 origins")
	case r.MaxAgeInSeconds < 0:
		return bad("MaxAgeInSeconds is negative")
	case !printable(r.AllowedOrigins + r.AllowedHeaders + r.ExposedHeaders):
		return bad("its lists are not plain text")
	}
	for _, method := range entries(r.AllowedMethods) {
		if !slices.Contains([]string{"DELETE", "GET", "HEAD", "MERGE", "PATCH", "POST", "OPTIONS", "PUT"}, method) {
			return bad("AllowedMethods has what is no method")
		}
	}
	return nil
}

// entries are the entries of a list.
func entries(list string) []string {
	var found []string
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one != "" {
			found = append(found, one)
		}
	}
	return found
}

// matching returns the first rule for this origin and method.
func (r *corsRules) matching(origin, method string) *corsRule {
	for i, rule := range r.Rules {
		if rule.allowsOrigin(origin) && slices.Contains(entries(rule.AllowedMethods), method) {
			return &r.Rules[i]
		}
	}
	return nil
}

func (r corsRule) allowsOrigin(origin string) bool {
	return slices.ContainsFunc(entries(r.AllowedOrigins), func(allowed string) bool {
		if before, after, wild := strings.Cut(allowed, "*"); wild {
			return len(origin) >= len(before)+len(after) && strings.HasPrefix(origin, before) && strings.HasSuffix(origin, after)
		}
		return allowed == origin
	})
}

// allowsHeaders reports whether a request may have all of these headers. An
// entry that ends in an asterisk stands for all that begin like it.
func (r corsRule) allowsHeaders(requested string) bool {
	for _, name := range entries(requested) {
		name = strings.ToLower(name)
		if !slices.ContainsFunc(entries(r.AllowedHeaders), func(allowed string) bool {
			prefix, wild := strings.CutSuffix(strings.ToLower(allowed), "*")
			return name == prefix || wild && strings.HasPrefix(name, prefix)
		}) {
			return false
		}
	}
	return true
}

// setOrigin sets the headers that allow this origin. Where any origin is allowed,
// the answer is the same for all, and caches may know.
func (r corsRule) setOrigin(h http.Header, origin string) {
	if slices.Contains(entries(r.AllowedOrigins), "*") {
		h.Set("Access-Control-Allow-Origin", "*")
		return
	}
	varyByOrigin(h)
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true")
}

// varyByOrigin: caches must know that another origin may get another answer.
func varyByOrigin(h http.Header) { h.Add("Vary", "Origin") }

// answerPreflight answers a browser that asks whether it may send a request.
func (s *Server) answerPreflight(c *call) error {
	origin, method := c.r.Header.Get("Origin"), c.r.Header.Get("Access-Control-Request-Method")
	switch {
	case origin == "":
		return noHeader("Origin")
	case method == "":
		return noHeader("Access-Control-Request-Method")
	}
	p, err := s.properties(c)
	if err != nil {
		return err
	}
	rule := p.CORS.matching(origin, method)
	requested := c.r.Header.Get("Access-Control-Request-Headers")
	if rule == nil || !rule.allowsHeaders(requested) {
		varyByOrigin(c.header())
		return azerr.New(azerr.CorsPreflightFailure)
	}
	h := c.header()
	rule.setOrigin(h, origin)
	h.Set("Access-Control-Allow-Methods", method)
	setSome(h, "Access-Control-Allow-Headers", requested)
	h.Set("Access-Control-Max-Age", strconv.Itoa(rule.MaxAgeInSeconds))
	return c.answer(http.StatusOK)
}

// setCORS lets the page see the answer, if a rule does. Requests that do not come
// from a browser have no Origin.
func (s *Server) setCORS(c *call) error {
	origin := c.r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	p, err := s.properties(c)
	if err != nil {
		return err
	}
	rule := p.CORS.matching(origin, c.r.Method)
	if rule == nil {
		varyByOrigin(c.header())
		return nil
	}
	rule.setOrigin(c.header(), origin)
	setSome(c.header(), "Access-Control-Expose-Headers", rule.ExposedHeaders)
	return nil
}
