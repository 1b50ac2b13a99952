package auth

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

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

	// Logger hears of reloads and refusals, never of a secret. Default:
	// slog.Default().
	Logger *slog.Logger
}

// Guard stands before a door. Close it.
type Guard struct {
	hosts        []string
	file         string
	groupMayRead bool
	limit        limit
	log          *slog.Logger
	logged       *rate.Limiter // strangers must not fill the disk with refusals
	sites        *http.CrossOriginProtection
	failed       *attempts

	tokens atomic.Pointer[table] // nil: the listener is open

	reading sync.Mutex // held while the file is read; guards what follows
	stamp   stamp
	broken  string // what was last found wrong with the file

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
		file: o.TokenFile, groupMayRead: o.GroupMayRead, limit: o.limit(), log: o.Logger,
		logged: rate.NewLimiter(10, 50), sites: http.NewCrossOriginProtection(), failed: newAttempts(),
		stamp: stamp{path: o.TokenFile}, stop: make(chan struct{}), done: make(chan struct{}),
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
	g.stamp.changed()
	if err := g.read(); err != nil {
		return nil, err
	}
	go g.follow()
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

// Close ends the watch over the token file. Requests go on being judged by the
// tokens that were read last.
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
			g.serveKnown(w, r, next, tokens)
		default:
			g.serveLocal(w, r, next)
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

func (g *Guard) serveLocal(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if no := g.notLocal(r); no != nil {
		g.refuse(w, r, no)
		return
	}
	next.ServeHTTP(w, r.WithContext(with(r.Context(), &Local)))
}

func (g *Guard) serveKnown(w http.ResponseWriter, r *http.Request, next http.Handler, tokens *table) {
	e, no := g.authenticate(r, tokens)
	if no == nil {
		no = g.notAllowed(r, e)
	}
	if no != nil {
		g.refuse(w, r, no)
		return
	}
	ctx, cancel := context.WithCancelCause(withRate(with(r.Context(), &e.caller), e.limiter))
	defer cancel(nil)
	stop := context.AfterFunc(e.life, func() { cancel(context.Cause(e.life)) })
	defer stop()
	next.ServeHTTP(w, r.WithContext(ctx))
}
