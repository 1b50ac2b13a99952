package auth

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"golang.org/x/time/rate"
)

// Options are the options of New. Nil is fine.
type Options struct {
	// TokenFile is where the tokens are. Empty: the listener is open.
	TokenFile string

	// GroupMayRead accepts a token file that its group can read, as mounted
	// secrets of container platforms are. Default: only the owner may.
	GroupMayRead bool

	// Hosts are further Host names that an open listener answers to, without a
	// port; an IPv6 address stands in brackets. Default: none but localhost,
	// 127.0.0.1 and [::1].
	Hosts []string

	// Rate is how many requests a second each token may make. Default: 1,000.
	// Negative: any number. An open listener has no rate.
	Rate float64

	// Burst is how many it may make at once. Default: twice the rate, and at
	// least 1.
	Burst int

	// Logger gets reloads and refusals, never a secret. Default:
	// slog.Default().
	Logger *slog.Logger

	// Refused is called with the HTTP status and the code of each refusal, also
	// of those that are too many to be logged. Default: nothing is.
	Refused func(status int, code leasehold.Reason)
}

// Guard authenticates the requests of a listener. Close it.
type Guard struct {
	hosts        []string
	file         string
	groupMayRead bool
	limit        limit
	log          *slog.Logger
	logged       *rate.Limiter // strangers must not fill the disk with refusals
	refused      func(status int, code leasehold.Reason)
	sites        *http.CrossOriginProtection
	failures     *failures
	logins       *failures // of the console's login page
	sessions     sessions

	tokens atomic.Pointer[table] // nil: the listener is open

	loading sync.Mutex // held while the file is read; guards what follows
	watched watchedFile
	problem string // what was last found wrong with the file

	close      sync.Once
	stop, done chan struct{}
}

// New returns a guard with the tokens of the file, or one for an open listener
// if no file is named. It fails if the file cannot be used.
func New(o *Options) (*Guard, error) {
	if o == nil {
		o = new(Options)
	}
	g := &Guard{
		file: o.TokenFile, groupMayRead: o.GroupMayRead, limit: o.limit(), log: o.Logger, refused: o.Refused,
		logged: rate.NewLimiter(10, 50), sites: http.NewCrossOriginProtection(), failures: newFailures(failureLimit),
		logins: newFailures(loginLimit), sessions: sessions{byHash: map[hash]*session{}},
		watched: watchedFile{path: o.TokenFile}, stop: make(chan struct{}), done: make(chan struct{}),
	}
	for _, h := range append([]string{"localhost", "127.0.0.1", "[::1]"}, o.Hosts...) {
		g.hosts = append(g.hosts, strings.ToLower(h))
	}
	if g.log == nil {
		g.log = slog.Default()
	}
	if g.file == "" {
		close(g.done)
		return g, nil
	}
	g.watched.changed()
	if err := g.load(); err != nil {
		return nil, err
	}
	go g.watch()
	return g, nil
}

func (o *Options) limit() limit {
	l := limit{o.Rate, o.Burst}
	if l.perSecond == 0 {
		l.perSecond = 1000
	}
	if l.burst == 0 {
		l.burst = max(int(2*l.perSecond), 1)
	}
	return l
}

// Close ends the watch over the token file. The tokens that were read last stay
// in use.
func (g *Guard) Close() {
	g.close.Do(func() { close(g.stop) })
	<-g.done
}

// Wrap puts the guard before a handler, which then finds the caller with From.
// On the paths that need no token the caller is nobody.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens := g.tokens.Load()
		switch {
		case tokens != nil && needsNoToken(r):
			next.ServeHTTP(w, r)
		case tokens != nil:
			g.serveToken(w, r, next, tokens)
		default:
			g.serveOpen(w, r, next)
		}
	})
}

// needsNoToken compares the path as it was sent: what is spelt otherwise may be
// routed otherwise.
func needsNoToken(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	path := r.URL.EscapedPath()
	return path == "/healthz" || path == "/health/live" || path == "/health/ready"
}

func (g *Guard) serveOpen(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if refused := checkOpen(r, g.hosts); refused != nil {
		g.refuse(w, r, refused)
		return
	}
	next.ServeHTTP(w, r.WithContext(with(r.Context(), &Local)))
}

func (g *Guard) serveToken(w http.ResponseWriter, r *http.Request, next http.Handler, tokens *table) {
	e, refused := g.authenticate(r, tokens)
	if refused == nil {
		refused = g.checkToken(r, e)
	}
	if refused != nil {
		g.refuse(w, r, refused)
		return
	}
	ctx, cancel := context.WithCancelCause(withLimiter(with(r.Context(), &e.caller), e.limiter))
	defer cancel(nil)
	stop := context.AfterFunc(e.life, func() { cancel(context.Cause(e.life)) })
	defer stop()
	next.ServeHTTP(w, r.WithContext(ctx))
}

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
	if wait, ok := allow(g.failures.limiter(r.RemoteAddr)); !ok {
		return nil, tooMany(wait, "too many requests without a valid token from this address")
	}
	return nil, unauthenticated(r, why)
}

// checkToken checks a request whose caller is known. A browser sends client
// certificates by itself, so pages of other sites are refused here, too.
func (g *Guard) checkToken(r *http.Request, e *entry) *refusal {
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

// refuse answers, counts and logs. The log has neither path nor query, in which people
// put secrets by mistake.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, refused *refusal) {
	p := refused.write(w, RequestID(r))
	if g.refused != nil {
		g.refused(p.Status, refused.err.Reason)
	}
	if g.logged.Allow() {
		g.log.Warn("request refused", "code", p.Code, "why", hideSecrets(p.Detail),
			"method", fmt.Sprintf("%.16s", r.Method), "remote", r.RemoteAddr, "request_id", hideSecrets(p.RequestID))
	}
}
