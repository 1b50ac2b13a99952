package auth

import (
	"net/http"
	"strings"
	"time"
)

// identify returns the entry, or why there is none. A bearer token counts alone:
// to fall back to the certificate would hide that the token has been revoked.
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
		return tokens.ofCertificate(cert), "the names of the client certificate fit no token, or more than one"
	}
	return nil, "a token is needed; send Authorization: Bearer lh_…"
}

func bearer(header string) (secret string, ok bool) {
	scheme, rest, _ := strings.Cut(header, " ")
	rest = strings.Trim(rest, " ")
	return rest, strings.EqualFold(scheme, "Bearer") && rest != ""
}
