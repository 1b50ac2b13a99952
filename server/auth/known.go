package auth

import (
	"net/http"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// authenticate finds out whose request it is.
func (g *Guard) authenticate(r *http.Request, tokens *table) (*entry, *refusal) {
	e, why := identify(r, tokens)
	if e != nil && e.Expired(time.Now()) {
		e, why = nil, errExpired.Error()
	}
	if e != nil {
		return e, nil
	}
	// A valid token is never counted here: strangers behind the same address
	// must not be able to shut its owner out.
	if wait, ok := allow(g.failed.of(r.RemoteAddr)); !ok {
		return nil, tooMany(wait, "too many requests without a valid token from this address")
	}
	return nil, unauthenticated(r, why)
}

// identify returns the entry, or why there is none. Whoever shows a bearer token
// is judged by that alone: to fall back to the certificate would hide that the
// token has been revoked.
func identify(r *http.Request, tokens *table) (e *entry, why string) {
	shown := r.Header.Values("Authorization")
	switch {
	case len(shown) > 1:
		return nil, "there are several Authorization headers; send one"
	case len(shown) == 1:
		secret, ok := bearer(shown[0])
		if !ok {
			return nil, "the Authorization header has no bearer token; send Authorization: Bearer lh_…"
		}
		if !looksLikeSecret(secret) {
			return nil, "the bearer token is none of this server's"
		}
		return tokens.byHash[hashOf(secret)], "the bearer token is not known; it may have been revoked"
	case r.TLS != nil && len(r.TLS.VerifiedChains) > 0:
		cert := r.TLS.VerifiedChains[0][0]
		if time.Now().After(cert.NotAfter) { // it was good when the connection was opened
			return nil, "the client certificate has expired; connect with a new one"
		}
		return tokens.named(cert), "the names of the client certificate fit no token, or more than one"
	}
	return nil, "a token is needed; send Authorization: Bearer lh_…"
}

func bearer(header string) (secret string, ok bool) {
	scheme, rest, _ := strings.Cut(header, " ")
	rest = strings.Trim(rest, " ")
	return rest, strings.EqualFold(scheme, "Bearer") && rest != ""
}

// notAllowed judges a request whose caller is known. A browser sends client
// certificates by itself, so pages of other sites are refused here, too.
func (g *Guard) notAllowed(r *http.Request, e *entry) *refusal {
	if g.sites.Check(r) != nil {
		return forbidden("Origin", "is another site's; only pages of this server may change anything")
	}
	if r.Header.Get("Authorization") == "" && fromOtherSite(r) {
		return forbidden("Sec-Fetch-Site", "says that another site's page sent this with your certificate; only pages of this server may")
	}
	if wait, ok := allow(e.limiter); !ok {
		return tooMany(wait, "token "+e.Name+" makes too many requests")
	}
	return nil
}

func unauthenticated(r *http.Request, why string) *refusal {
	challenge := `Bearer realm="leasehold"`
	if r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token"`
	}
	return &refusal{err: &leasehold.Error{Reason: leasehold.ReasonUnauthenticated}, detail: why, challenge: challenge}
}

func tooMany(wait time.Duration, why string) *refusal {
	e := &leasehold.Error{Reason: leasehold.ReasonRateLimited, RetryAfter: max(wait, time.Millisecond)}
	return &refusal{err: e, detail: why + "; " + e.Error()}
}
