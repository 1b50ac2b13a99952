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
// canonicalPath is the path as the client sent it, escapes and all (see SentPath):
// "/container/blob" where the account is in the host name,
// "/account/container/blob" where it is in the path,
// "/account-secondary/container/blob" at a path-style secondary endpoint.
//
// query is all of the request's, as ParseQuery reads it: nothing that is not signed
// may have an effect.
func SharedKey(r *http.Request, account Account, canonicalPath string, query Query, now time.Time) error {
	isLite, signature, err := credentials(r, account)
	if err != nil {
		return err
	}
	if err := checkDate(r.Header, now); err != nil {
		return err
	}
	what := resource{account.Name, canonicalPath, query}
	signed := func(text []byte) bool { return account.signed(text, signature) }
	if isLite && matchLite(r, what, signed) || !isLite && matchFull(r, what, signed) {
		return nil
	}
	return authFailed("The signature does not match. Check the key of account %s, and that nothing on the way changes the path, the query or the headers.", account.Name)
}

// credentials splits the Authorization header and reports whether the scheme is
// Shared Key Lite.
func credentials(r *http.Request, account Account) (isLite bool, signature string, err error) {
	header := first(r.Header, "Authorization")
	if header == "" {
		return false, "", azerr.New(azerr.NoAuthenticationInformation)
	}
	word, rest, _ := strings.Cut(header, " ")
	switch strings.ToLower(word) {
	case "sharedkey":
	case "sharedkeylite":
		isLite = true
	default:
		return false, "", unknownScheme(word)
	}
	name, signature, ok := strings.Cut(strings.TrimSpace(rest), ":")
	if !ok || name == "" || signature == "" {
		return false, "", azerr.New(azerr.InvalidAuthenticationInfo)
	}
	if name != account.Name {
		return false, "", authFailed("The request is signed for another account than %s, which its address names.", account.Name)
	}
	return isLite, signature, nil
}

// unknownScheme does not repeat the word: without a space after it, it may be the
// secret.
func unknownScheme(word string) error {
	err := azerr.New(azerr.InvalidAuthenticationInfo)
	if strings.EqualFold(word, "Bearer") {
		err = err.With("Bearer tokens need Entra ID, which this server does not have. Sign with an account key, or use a shared access signature.")
		err.Status = http.StatusUnauthorized
	}
	return err
}

// checkDate bounds how long a recorded request can be sent again.
func checkDate(h http.Header, now time.Time) error {
	date := first(h, "X-Ms-Date")
	if date == "" {
		date = first(h, "Date")
	}
	if date == "" {
		return authFailed("The request has no date. Send x-ms-date and sign it.")
	}
	at, err := parseDate(date)
	if err != nil {
		return authFailed(`The request's date cannot be read. Send x-ms-date as in "Mon, 02 Jan 2006 15:04:05 GMT".`)
	}
	behind := now.Sub(at).Round(time.Second)
	switch {
	case behind > tolerance:
		return authFailed("The request's date is %v behind this server's clock, at most %v is allowed. Set the clock, or sign again for each attempt.", behind, tolerance)
	case behind < -tolerance:
		return authFailed("The request's date is %v ahead of this server's clock, at most %v is allowed. Set the clock.", -behind, tolerance)
	}
	return nil
}

// parseDate is http.ParseTime with a cache of one: all requests of a second have
// the same date.
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
