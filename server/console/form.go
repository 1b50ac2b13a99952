package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

const maxForm = 64 << 10 // bytes

// formSecret ties a form to this login and this run of the server: a page of another
// site, or of another login, cannot know it.
func (v *visit) formSecret() string { return v.s.secretFor(auth.Binding(v.ctx)) }

func (s *Server) secretFor(binding string) string {
	h := hmac.New(sha256.New, s.formKey)
	h.Write([]byte(binding))
	return hex.EncodeToString(h.Sum(nil))
}

// readForm reads a form and checks its secret.
func (v *visit) readForm() (url.Values, error) {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		return nil, leasehold.Invalid("form", "cannot be read; load the page again")
	}
	return v.r.PostForm, nil
}

// operatorForm is a form that changes something: of an operator, of this login, and
// with a reason.
type operatorForm struct {
	values url.Values
	reason string
}

func (v *visit) operatorForm() (f operatorForm, err error) {
	if !v.mayOperate() {
		return f, &leasehold.Error{Reason: leasehold.ReasonForbidden}
	}
	if f.values, err = v.checkedForm(); err != nil {
		return f, err
	}
	f.reason = strings.TrimSpace(f.values.Get("reason"))
	if f.reason == "" {
		return f, leasehold.Invalid("reason", "is missing; say why, for the history")
	}
	return f, leasehold.CheckWhy(f.reason)
}

// checkedForm reads a form of this login.
func (v *visit) checkedForm() (url.Values, error) {
	values, err := v.readForm()
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(values.Get("secret")), []byte(v.formSecret())) {
		return nil, &leasehold.Error{Reason: leasehold.ReasonForbidden, Op: "form: it is of another login, or from before a restart of the server; load the page again and repeat"}
	}
	return values, nil
}

// backTo answers a form with the page that shows its result, so that loading that
// again repeats nothing.
func (v *visit) backTo(path string, pairs ...string) error {
	target := auth.ConsolePath + path
	if q := values(pairs...); q != "" {
		target += "?" + q
	}
	v.wrote = true
	http.Redirect(v.w, v.r, target, http.StatusSeeOther)
	return nil
}

// doneText is what the page says after a form. Only these words can be shown: an
// address that somebody sends cannot put others there.
func doneText(q url.Values) string {
	switch q.Get("done") {
	case "broken":
		return "The lease is broken. The reason is in the history."
	case "breaking":
		return "The lease is being broken: its holder has until the end of the period. The reason is in the history."
	case "released":
		return "All leases of the holder are released. The reason is in the history."
	case "set":
		return "The setting is changed. The reason is in the history."
	}
	return ""
}
