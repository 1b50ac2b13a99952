package remote_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
)

func TestOpenChecksTheURL(t *testing.T) {
	for url, ok := range map[string]bool{
		"http://127.0.0.1:8105":           true,
		"https://leases.example.com":      true,
		"http://[::1]:8105/base/":         true,
		"":                                false,
		"127.0.0.1:8105":                  false,
		"unix:///run/leases.sock":         false,
		"http://":                         false,
		"http://:8105":                    false,
		"http://user:s3cret@host":         false,
		"http://host?token=s3cret":        false,
		"http://host/#s3cret":             false,
		"http://host:s3cret\x7f":          false,
		"sqlite:///var/lib/s3cret.sqlite": false,
	} {
		s, err := remote.Open(url, nil)
		if ok {
			if err != nil {
				t.Errorf("Open(%q) = %v, want success", url, err)
			} else if err := s.Close(); err != nil {
				t.Errorf("Close() = %v, want success", err)
			}
			continue
		}
		if e := typed(t, "Open("+url+")", err, leasehold.ReasonInvalid); e.Field != "url" || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Open(%q) = %v, want an error about the url that does not repeat it", url, err)
		}
	}
}

func TestOpenChecksHeaders(t *testing.T) {
	for field, o := range map[string]remote.Options{
		"token":      {Token: "s3cret\r\nX-Evil: 1"},
		"user_agent": {UserAgent: "me\n"},
	} {
		_, err := remote.Open("http://host", &o)
		if e := typed(t, "Open", err, leasehold.ReasonInvalid); e.Field != field || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Open() with a bad %s = %v, want an error that names it", field, err)
		}
	}
	if _, err := remote.Open("http://host", &remote.Options{Token: "two words"}); err == nil {
		t.Error("Open() with a token of two words = success")
	}
}

// Nothing that people print or log shows the token.
func TestTokenDoesNotPrint(t *testing.T) {
	o := remote.Options{Token: "s3cret"}
	s := open(t, "https://127.0.0.1:1/base", &o)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("opened", "store", s, "options", o)
	for _, text := range []string{
		fmt.Sprint(s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s), fmt.Sprintf("%+v", o), fmt.Sprintf("%#v", o), log.String(),
	} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("the token is printed: %s", text)
		}
	}
	if got, want := fmt.Sprint(s), "remote store at https://127.0.0.1:1/base"; got != want {
		t.Errorf("Sprint(store) = %q, want %q", got, want)
	}
	_, err := s.Acquire(t.Context(), request())
	if e := typed(t, "Acquire", err, leasehold.ReasonUnavailable); strings.Contains(fmt.Sprintf("%+v %v", *e, err), "s3cret") {
		t.Errorf("the token is in an error: %v", err)
	}
}

func TestHeaders(t *testing.T) {
	type seen struct{ authorization, agent, kind, path string }
	var got seen
	handler := func(w http.ResponseWriter, r *http.Request) {
		got = seen{r.Header.Get("Authorization"), r.UserAgent(), r.Header.Get("Content-Type"), r.URL.Path}
		refuse(w, &leasehold.Error{Reason: leasehold.ReasonHeld})
	}
	for name, c := range map[string]struct {
		o    remote.Options
		want seen
	}{
		"plain": {remote.Options{}, seen{"", "leasehold-go", "application/json", "/v1/leases/acquire"}},
		"all":   {remote.Options{Token: "s3cret", UserAgent: "worker/1"}, seen{"Bearer s3cret", "worker/1", "application/json", "/v1/leases/acquire"}},
		"own client": {remote.Options{Token: "s3cret", HTTPClient: new(http.Client)},
			seen{"Bearer s3cret", "leasehold-go", "application/json", "/v1/leases/acquire"}},
	} {
		s := server(t, &c.o, handler)
		_, err := s.Acquire(t.Context(), request())
		typed(t, "Acquire", err, leasehold.ReasonHeld)
		if got != c.want {
			t.Errorf("%s: the server saw %+v, want %+v", name, got, c.want)
		}
	}
}
