package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// loginData is what the login page shows.
type loginData struct {
	Next    string
	Problem string
}

// sendToLogin asks for a login, and comes back afterwards.
func (v *visit) sendToLogin() error {
	if v.r.Method == http.MethodPost || v.r.URL.Path == auth.ConsolePath+"stream" {
		return &leasehold.Error{Reason: leasehold.ReasonUnauthenticated}
	}
	return v.backTo("login", "next", v.r.URL.RequestURI())
}

func (v *visit) loginPage() error {
	next := safeNext(v.query.Get("next"))
	if v.caller.Name != "" && v.mayRead() {
		v.wrote = true
		http.Redirect(v.w, v.r, next, http.StatusSeeOther)
		return nil
	}
	return v.render(http.StatusOK, "login", page{Title: "Log in", Current: "login", Data: loginData{Next: next}})
}

// login starts a session for the token that was pasted.
func (v *visit) login() error {
	values, err := v.readForm()
	if err != nil {
		return err
	}
	d := loginData{Next: safeNext(values.Get("next"))}
	caller, err := v.s.o.Guard.Login(v.w, v.r, strings.TrimSpace(values.Get("token")), auth.RoleReader, auth.RoleOperator)
	status := http.StatusUnauthorized
	switch leasehold.ReasonOf(err) {
	case "":
		v.s.o.Logger.Info("logged in", "caller", caller.Name, "request_id", v.requestID)
		v.wrote = true
		http.Redirect(v.w, v.r, d.Next, http.StatusSeeOther)
		return nil
	case leasehold.ReasonForbidden:
		status, d.Problem = http.StatusForbidden, "This token may hold leases, but not look at those of others: the console needs the role reader or operator. “leasehold status” shows its own."
	case leasehold.ReasonRateLimited:
		status, d.Problem = http.StatusTooManyRequests, "Too many wrong tokens from this address. Wait a few seconds and try again."
		v.w.Header().Set("Retry-After", "2")
	case leasehold.ReasonUnauthenticated:
		d.Problem = "This token is not known. It may have been revoked, or have expired; “leasehold token list” on the server shows those that count."
	default:
		return err
	}
	return v.render(status, "login", page{Title: "Log in", Current: "login", Data: d})
}

// logout ends the session.
func (v *visit) logout() error {
	if v.caller.Name != "" {
		if _, err := v.checkedForm(); err != nil {
			return err
		}
	}
	v.s.o.Guard.Logout(v.w, v.r)
	return v.backTo("login")
}

// safeNext is a page of this console: nobody is sent elsewhere after a login.
func safeNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, auth.ConsolePath) || strings.Contains(next, `\`) {
		return auth.ConsolePath
	}
	return u.RequestURI()
}
