package sign

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
)

// tolerance is how far a signed date may be from the server's clock: Azure's
// own, long enough for bad clocks and short enough to bound a replay.
const tolerance = 15 * time.Minute

// SharedKey checks the Authorization header of r: "SharedKey account:signature",
// or "SharedKeyLite …", made with any key of the account at about now.
//
// canonicalPath is the path as the client sent it, escapes and all (see AsSent):
// "/container/blob" where the account is in the host name,
// "/account/container/blob" where it is in the path,
// "/account-secondary/container/blob" at a path-style secondary endpoint.
//
// query is all of the request's, as ParseQuery reads it: what is not signed must
// not be believed.
func SharedKey(r *http.Request, account Account, canonicalPath string, query Query, now time.Time) error {
	brief, signature, err := credentials(r, account)
	if err != nil {
		return err
	}
	if err := fresh(r.Header, now); err != nil {
		return err
	}
	what := resource{account.Name, canonicalPath, query}
	signed := func(text []byte) bool { return account.signed(text, signature) }
	if brief && lite(r, what, signed) || !brief && full(r, what, signed) {
		return nil
	}
	return unauthentic("The signature does not match. Check the key of account %s, and that nothing on the way changes the path, the query or the headers.", account.Name)
}

// credentials splits the Authorization header. It tells whether the scheme is
// Shared Key Lite.
func credentials(r *http.Request, account Account) (brief bool, signature string, err error) {
	header := first(r.Header, "Authorization")
	if header == "" {
		return false, "", azerr.New(azerr.NoAuthenticationInformation)
	}
	word, rest, _ := strings.Cut(header, " ")
	switch strings.ToLower(word) {
	case "sharedkey":
	case "sharedkeylite":
		brief = true
	default:
		return false, "", unknownScheme(word)
	}
	name, signature, ok := strings.Cut(strings.TrimSpace(rest), ":")
	if !ok || name == "" || signature == "" {
		return false, "", azerr.New(azerr.InvalidAuthenticationInfo)
	}
	if name != account.Name {
		return false, "", unauthentic("The request is signed for another account than %s, which its address names.", account.Name)
	}
	return brief, signature, nil
}

// unknownScheme never repeats the word: without a space after it, it may be the
// secret.
func unknownScheme(word string) error {
	err := azerr.New(azerr.InvalidAuthenticationInfo)
	if strings.EqualFold(word, "Bearer") {
		err = err.With("Bearer tokens need Entra ID, which this server does not have. Sign with an account key, or use a shared access signature.")
		err.Status = http.StatusUnauthorized
	}
	return err
}

// fresh bounds how long a recorded request can be sent again.
func fresh(h http.Header, now time.Time) error {
	date := first(h, "X-Ms-Date")
	if date == "" {
		date = first(h, "Date")
	}
	if date == "" {
		return unauthentic("The request has no date. Send x-ms-date and sign it.")
	}
	at, err := parseDate(date)
	if err != nil {
		return unauthentic(`The request's date cannot be read. Send x-ms-date as in "Mon, 02 Jan 2006 15:04:05 GMT".`)
	}
	behind := now.Sub(at).Round(time.Second)
	switch {
	case behind > tolerance:
		return unauthentic("The request's date is %v behind this server's clock, at most %v is allowed. Set the clock, or sign again for each attempt.", behind, tolerance)
	case behind < -tolerance:
		return unauthentic("The request's date is %v ahead of this server's clock, at most %v is allowed. Set the clock.", -behind, tolerance)
	}
	return nil
}

// parseDate is http.ParseTime. All requests of a second have the same date, so
// the last one is remembered.
func parseDate(text string) (time.Time, error) {
	if last := lastDate.Load(); last != nil && last.text == text {
		return last.at, nil
	}
	at, err := http.ParseTime(text)
	if err == nil {
		lastDate.Store(&readDate{strings.Clone(text), at})
	}
	return at, err
}

type readDate struct {
	text string
	at   time.Time
}

var lastDate atomic.Pointer[readDate]
