package auth

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

const (
	// ConsolePath is where the console is, and the only place to which its cookie is
	// sent and where it counts.
	ConsolePath = "/console/"

	// SessionLife is how long a login lasts.
	SessionLife = 8 * time.Hour

	maxSessions = 1024 // the one that ends first is dropped for a new one
)

// loginLimit is how often an address may show a wrong token to the login page.
var loginLimit = limit{perSecond: 1, burst: 10}

// session is one login. It ends with its token, at its own time or by logout.
type session struct {
	entry *entry
	ends  time.Time
	life  context.Context
	end   context.CancelCauseFunc
}

func (s *session) live(now time.Time) bool {
	return s.life.Err() == nil && s.entry.life.Err() == nil && !s.entry.Expired(now) && now.Before(s.ends)
}

var errLoggedOut = errors.New("the login has ended")

// sessions are the logins of a guard, by the hash of what the browser shows: who
// reads this memory, or a copy of it, has no cookie.
type sessions struct {
	mu     sync.Mutex
	byHash map[hash]*session
}

// add makes a session and returns its id.
func (s *sessions) add(e *entry, now time.Time) string {
	id := newSecret()
	fresh := &session{entry: e, ends: now.Add(SessionLife)}
	fresh.life, fresh.end = context.WithCancelCause(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purge(now)
	s.byHash[hashOf(id)] = fresh
	return id
}

// purge drops sessions that have ended, and the oldest if there are too many.
func (s *sessions) purge(now time.Time) {
	var oldest hash
	var first *session
	for key, old := range s.byHash {
		if !old.live(now) {
			old.end(errLoggedOut)
			delete(s.byHash, key)
			continue
		}
		if first == nil || old.ends.Before(first.ends) {
			oldest, first = key, old
		}
	}
	if len(s.byHash) >= maxSessions {
		first.end(errLoggedOut)
		delete(s.byHash, oldest)
	}
}

// find returns the live session of an id.
func (s *sessions) find(id string, now time.Time) (*session, hash) {
	if !looksLikeSecret(id) {
		return nil, hash{}
	}
	key := hashOf(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.byHash[key]
	if found == nil {
		return nil, key
	}
	if !found.live(now) {
		found.end(errLoggedOut)
		delete(s.byHash, key)
		return nil, key
	}
	return found, key
}

func (s *sessions) remove(id string) {
	if !looksLikeSecret(id) {
		return
	}
	key := hashOf(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byHash[key]; found != nil {
		found.end(errLoggedOut)
		delete(s.byHash, key)
	}
}

// cookieName is a name that browsers accept over TLS alone, where there is TLS.
func cookieName(r *http.Request) string {
	if r.TLS != nil {
		return "__Secure-leasehold"
	}
	return "leasehold"
}

func setCookie(w http.ResponseWriter, r *http.Request, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: value, Path: ConsolePath, MaxAge: int(age.Seconds()),
		Secure:   r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https:"), // of a proxy, that ends TLS
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// shownSession returns what the browser shows as its session: nothing unless there is
// exactly one.
func shownSession(r *http.Request) string {
	shown := r.CookiesNamed(cookieName(r))
	if len(shown) != 1 {
		return ""
	}
	return shown[0].Value
}

// Login starts a session for a secret and sets its cookie. The role is what the
// token needs at least one of. A wrong secret counts against the address.
func (g *Guard) Login(w http.ResponseWriter, r *http.Request, secret string, roles ...Role) (Caller, error) {
	tokens := g.tokens.Load()
	if tokens == nil {
		return Caller{}, leasehold.Invalid("token", "is not needed: this server is open to its own machine")
	}
	now := time.Now()
	e := tokens.byHash[hashOf(secret)]
	if !looksLikeSecret(secret) || e == nil || e.Expired(now) {
		if wait, ok := allow(g.logins.limiter(r.RemoteAddr)); !ok {
			return Caller{}, &leasehold.Error{Reason: leasehold.ReasonRateLimited, RetryAfter: max(wait, time.Second)}
		}
		return Caller{}, &leasehold.Error{Reason: leasehold.ReasonUnauthenticated}
	}
	for _, role := range roles {
		if e.caller.Has(role) {
			g.sessions.remove(shownSession(r)) // a login replaces the one before
			setCookie(w, r, g.sessions.add(e, now), SessionLife)
			return e.caller, nil
		}
	}
	return e.caller, &leasehold.Error{Reason: leasehold.ReasonForbidden}
}

// Logout ends the request's session.
func (g *Guard) Logout(w http.ResponseWriter, r *http.Request) {
	g.sessions.remove(shownSession(r))
	setCookie(w, r, "", -time.Second)
}

// Open reports whether the listener asks for no token.
func (g *Guard) Open() bool { return g.tokens.Load() == nil }

type bindingKey struct{}

// Binding is what a form of the console is tied to, so that no other login's form is
// accepted: the hash of the session, or the caller's name where there is none.
func Binding(ctx context.Context) string {
	s, _ := ctx.Value(bindingKey{}).(string)
	return s
}

// WrapConsole puts the guard before the console: the same rules as Wrap, but the
// caller shows a cookie, or a client certificate, in place of a bearer token, and is
// nobody if it shows neither. What changes anything must be a form of this server's
// own pages.
func (g *Guard) WrapConsole(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens := g.tokens.Load()
		if refused := g.checkPage(r, tokens); refused != nil {
			g.refuse(w, r, refused)
			return
		}
		if tokens == nil {
			ctx := context.WithValue(with(r.Context(), &Local), bindingKey{}, localName)
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		e, lives, binding := g.identifyPage(r, tokens)
		if e == nil {
			next.ServeHTTP(w, r)
			return
		}
		if wait, ok := allow(e.limiter); !ok {
			g.refuse(w, r, tooMany(wait, "token "+e.Name+" makes too many requests"))
			return
		}
		ctx, cancel := context.WithCancelCause(context.WithValue(with(r.Context(), &e.caller), bindingKey{}, binding))
		defer cancel(nil)
		for _, life := range lives {
			stop := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
			defer stop()
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// identifyPage finds out who looks, and what ends that.
func (g *Guard) identifyPage(r *http.Request, tokens *table) (e *entry, lives []context.Context, binding string) {
	now := time.Now()
	if s, key := g.sessions.find(shownSession(r), now); s != nil {
		// An entry of an older table is gone from this one, whether or not its end has
		// been noticed.
		if tokens.byName[s.entry.Name] != s.entry {
			return nil, nil, ""
		}
		return s.entry, []context.Context{s.life, s.entry.life}, hex.EncodeToString(key[:])
	}
	if r.TLS == nil || r.Header.Get("Authorization") != "" {
		return nil, nil, ""
	}
	if e, _ := identify(r, tokens); e != nil && !e.Expired(now) {
		return e, []context.Context{e.life}, e.Name
	}
	return nil, nil, ""
}

// checkPage checks where a request for the console comes from.
func (g *Guard) checkPage(r *http.Request, tokens *table) *refusal {
	if tokens == nil {
		if refused := checkSource(r, g.hosts); refused != nil {
			return refused
		}
	} else if fromOtherSite(r) {
		return forbidden("Sec-Fetch-Site", "says that another site's page sent this; only pages of this server may")
	}
	if isRead(r) {
		return nil
	}
	name, port, _ := splitHost(r.Host)
	origins := r.Header.Values("Origin")
	for _, origin := range origins {
		// With tokens a proxy may stand in front and end TLS.
		if !sameOrigin(r.TLS != nil, origin, name, port) && (tokens == nil || !sameOrigin(true, origin, name, port)) {
			return forbidden("Origin", "%.80q is foreign; only pages of this server may change anything", origin)
		}
	}
	if len(origins) == 0 && r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return forbidden("Origin", "is missing; a browser sends it with each form, and the API takes programs")
	}
	if mediaType(r) != "application/x-www-form-urlencoded" {
		return &refusal{
			err:    &leasehold.Error{Reason: leasehold.ReasonMediaType, Field: "Content-Type"},
			detail: "the console takes forms only; programs use the API below /v1/",
		}
	}
	return nil
}
