package console

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// route is what the console does at one path.
type route struct {
	get    func(*visit) error
	post   func(*visit) error
	past   bool // also as of a moment
	public bool // also for callers that are not logged in
}

// routes are all pages. What changes anything is a POST.
func routes() map[string]route {
	return map[string]route{
		auth.ConsolePath:                   {get: (*visit).leases, past: true},
		auth.ConsolePath + "resource":      {get: (*visit).resource, past: true},
		auth.ConsolePath + "holder":        {get: (*visit).holder, past: true},
		auth.ConsolePath + "waits":         {get: (*visit).waits, past: true},
		auth.ConsolePath + "plots":         {get: (*visit).plots, past: true},
		auth.ConsolePath + "settings":      {get: (*visit).settings, post: (*visit).changeSetting, past: true},
		auth.ConsolePath + "health":        {get: (*visit).health},
		auth.ConsolePath + "stream":        {get: (*visit).stream},
		auth.ConsolePath + "break":         {post: (*visit).breakLease},
		auth.ConsolePath + "release":       {post: (*visit).releaseHolder},
		auth.ConsolePath + "login":         {get: (*visit).loginPage, post: (*visit).login, public: true},
		auth.ConsolePath + "logout":        {post: (*visit).logout, public: true},
		auth.ConsolePath + "leasehold.css": {get: static("leasehold.css", "text/css; charset=utf-8"), public: true},
		auth.ConsolePath + "leasehold.js":  {get: static("leasehold.js", "text/javascript; charset=utf-8"), public: true},
		auth.ConsolePath + "leasehold.svg": {get: static("leasehold.svg", "image/svg+xml"), public: true},
	}
}

var table map[string]route

func init() { table = routes() } // its pages link to others, and so read it

// securityPolicy lets a page load what this server embeds, and nothing else: no
// script or style in the page itself, no other address.
const securityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

func setHeaders(h http.Header, requestID string) {
	h.Set("Content-Security-Policy", securityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // names in addresses stay here
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", requestID)
}

// serve is where requests come in.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	v := newVisit(s, w, r)
	setHeaders(w.Header(), v.requestID)
	defer v.recover()
	path := r.URL.EscapedPath()
	if path == "/" || path == strings.TrimSuffix(auth.ConsolePath, "/") {
		http.Redirect(w, r, auth.ConsolePath, http.StatusSeeOther)
		return
	}
	if err := v.run(table[path]); err != nil {
		v.fail(err)
	}
}

func (v *visit) run(to route) error {
	handle := to.get
	switch {
	case to.get == nil && to.post == nil:
		return errNoPage
	case v.r.Method == http.MethodPost:
		handle = to.post
	case v.r.Method != http.MethodGet && v.r.Method != http.MethodHead:
		handle = nil
	}
	if handle == nil {
		return errMethod
	}
	if to.public {
		return handle(v)
	}
	if v.caller.Name == "" {
		return v.sendToLogin()
	}
	if !v.mayRead() {
		return &leasehold.Error{Reason: leasehold.ReasonForbidden}
	}
	v.s.refusals.start(v.s)
	var err error
	if !to.past || v.r.Method == http.MethodPost {
		return handle(v)
	}
	if v.at, err = parseMoment(v.query.Get("at")); err != nil {
		return err
	}
	return handle(v)
}

// recover answers a panic, which is logged and ends nothing else.
func (v *visit) recover() {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	v.s.o.Logger.Error("panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()), "request_id", v.requestID)
	if v.wrote {
		panic(http.ErrAbortHandler)
	}
	v.fail(errPanicked)
}
