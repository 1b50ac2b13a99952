package testserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"
)

// AuthorityTenant, AuthorityClient and AuthorityObject are the directory, the
// application and the identity that an Authority knows.
const (
	AuthorityTenant = "11111111-2222-3333-4444-555555555555"
	AuthorityClient = "66666666-7777-8888-9999-000000000000"
	AuthorityObject = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
)

// Authority is a stand-in for Microsoft Entra ID and for a machine's identity
// service. It grants tokens to every caller, and notes what they showed.
type Authority struct {
	URL string // https://HOST:PORT

	mu       sync.Mutex
	lifetime time.Duration
	refused  bool
	forms    []url.Values
	issued   int
}

// NewAuthority starts an authority under a certificate. Its tokens last an hour.
func NewAuthority(t T, c *Certificate) *Authority {
	t.Helper()
	a := &Authority{lifetime: time.Hour}
	server := httptest.NewUnstartedServer(http.HandlerFunc(a.serve))
	server.TLS = c.Server()
	server.StartTLS()
	t.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

// SetLifetime sets how long tokens last from now on. Azure's library replaces a
// token five minutes before its end, so it keeps one of less for no time at all.
func (a *Authority) SetLifetime(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lifetime = d
}

// Refuse has the authority grant no more tokens, or again.
func (a *Authority) Refuse(yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = yes
}

// Requests returns what was shown for each token: the form, or the query.
func (a *Authority) Requests() []url.Values {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]url.Values(nil), a.forms...)
}

func (a *Authority) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration"):
		tenant := a.URL + "/" + strings.Split(r.URL.Path, "/")[1]
		writeJSON(w, http.StatusOK, map[string]any{
			"issuer": tenant + "/v2.0", "token_endpoint": tenant + "/oauth2/v2.0/token", "authorization_endpoint": tenant + "/oauth2/v2.0/authorize",
		})
	case strings.HasSuffix(r.URL.Path, "/token"):
		a.grant(w, r)
	default:
		http.NotFound(w, r)
	}
}

// skew is how much longer than its lifetime a token is good for: services allow for
// clocks that differ, and an emulator, which counts whole seconds, does not.
const skew = time.Minute

func (a *Authority) grant(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	a.mu.Lock()
	a.forms = append(a.forms, r.Form)
	a.issued++
	refused, lifetime, issued := a.refused, a.lifetime, a.issued
	a.mu.Unlock()
	if refused {
		writeJSON(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "the authority refuses"})
		return
	}
	audience := r.Form.Get("resource")
	if audience == "" {
		scope, _, _ := strings.Cut(r.Form.Get("scope"), " ")
		audience = strings.TrimSuffix(scope, "/.default")
	}
	now := time.Now()
	writeJSON(w, http.StatusOK, map[string]any{
		"token_type": "Bearer", "access_token": Token(audience, issued, now, now.Add(lifetime+skew)), "resource": audience,
		"expires_in": int(lifetime.Seconds()), "ext_expires_in": int(lifetime.Seconds()),
		"expires_on": fmt.Sprint(now.Add(lifetime).Unix()),
	})
}

// Token returns the nth token for an audience, which no one can verify.
func Token(audience string, n int, from, until time.Time) string {
	claims, err := json.Marshal(map[string]any{
		"aud": audience, "iss": "https://sts.windows.net/" + AuthorityTenant + "/", "oid": AuthorityObject,
		"tid": AuthorityTenant, "appid": AuthorityClient, "uti": fmt.Sprint(n),
		"iat": from.Add(-time.Minute).Unix(), "nbf": from.Add(-time.Minute).Unix(), "exp": until.Unix(),
	})
	if err != nil {
		panic(err) // strings and numbers only
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(claims) + "." + encode([]byte("unsigned"))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
