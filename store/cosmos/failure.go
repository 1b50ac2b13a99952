package cosmos

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/leasehold/leasehold"
)

// access is what a request does to the container.
type access bool

const (
	read  access = false
	write access = true
)

var errNoDate = errors.New("the service's answer has no Date header, so its time is not known")

// failure is the error of one request. It keeps nothing of the request, nor the
// text of the answer, which may repeat it.
type failure struct {
	reason     leasehold.Reason
	status     int
	substatus  string
	activity   string // Cosmos' own name of the request, for its support
	session    string // the token of what the answer has seen
	retryAfter time.Duration
	date       time.Time
	cause      error // what is not an answer of the service
}

func (f *failure) Error() string {
	if f.cause != nil {
		return "cosmos: " + f.cause.Error()
	}
	s := fmt.Sprintf("cosmos: the service answered %d %s", f.status, http.StatusText(f.status))
	if f.substatus != "" && f.substatus != "0" {
		s += ", substatus " + f.substatus
	}
	if hint := hints[f.status]; hint != "" {
		s += "; " + hint
	}
	if f.activity != "" {
		s += " (activity " + f.activity + ")"
	}
	return s
}

// hints say what to look at.
var hints = map[int]string{
	http.StatusUnauthorized: "check the account's key or the identity",
	http.StatusForbidden:    "check the identity's role on the container, and the account's firewall",
	http.StatusNotFound:     "check that the database and the container are there",
}

func (f *failure) Unwrap() error { return f.cause }

func (f *failure) asError() error {
	return &leasehold.Error{Reason: f.reason, RetryAfter: f.retryAfter, Cause: f}
}

// failureOf finds the failure in an error.
func failureOf(err error) *failure {
	var f *failure
	errors.As(err, &f)
	return f
}

const (
	sessionHeader = "x-ms-session-token"

	// substatusSession says that a replica has not yet seen what the session has.
	substatusSession = "1002"
)

// missing reports that the document is not there. Other kinds of 404 are about the
// container, the database or the session.
func (f *failure) missing() bool {
	return f.status == http.StatusNotFound && (f.substatus == "" || f.substatus == "0")
}

// absent is missing with the service's time.
func (f *failure) absent() bool { return f.missing() && !f.date.IsZero() }

// again reports that the request did nothing and may be made again.
func (f *failure) again() bool {
	return f.reason == leasehold.ReasonRateLimited || f.status == http.StatusNotFound && f.substatus == substatusSession
}

// raced reports that the document is not as it was, or gone, or that another
// write was in the way.
func (f *failure) raced() bool {
	const retryWith = 449
	switch f.status {
	case http.StatusConflict, http.StatusPreconditionFailed, retryWith:
		return true
	}
	return f.missing()
}

// classify says what the error of a request means.
func classify(ctx context.Context, kind access, err error) *failure {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return answered(kind, answer)
	}
	var credential *credentialError
	switch {
	case errors.As(err, &credential):
		return &failure{reason: leasehold.ReasonUnauthenticated, cause: credential}
	case notSent(err):
		return &failure{reason: leasehold.ReasonUnavailable, cause: err}
	case ctx.Err() != nil:
		return &failure{reason: doubtful(kind), cause: context.Cause(ctx)}
	}
	return &failure{reason: doubtful(kind), cause: err}
}

// doubtful is the reason for a request that may have been carried out: a read
// that was does no harm.
func doubtful(kind access) leasehold.Reason {
	if kind == write {
		return leasehold.ReasonUnknown
	}
	return leasehold.ReasonUnavailable
}

func answered(kind access, e *azcore.ResponseError) *failure {
	f := &failure{status: e.StatusCode, reason: leasehold.ReasonUnavailable}
	if resp := e.RawResponse; resp != nil {
		f.substatus = resp.Header.Get("x-ms-substatus")
		f.activity = resp.Header.Get("x-ms-activity-id")
		f.session = resp.Header.Get(sessionHeader)
		f.retryAfter = retryAfter(resp.Header)
		f.date, _ = dateOf(resp)
	}
	const writeForbidden = "3" // the region has just become a reading one
	switch {
	case e.StatusCode == http.StatusUnauthorized:
		f.reason = leasehold.ReasonUnauthenticated
	case e.StatusCode == http.StatusForbidden && f.substatus != writeForbidden:
		f.reason = leasehold.ReasonForbidden
	case e.StatusCode == http.StatusTooManyRequests:
		f.reason = leasehold.ReasonRateLimited
	case e.StatusCode == http.StatusRequestTimeout, e.StatusCode == http.StatusGone, e.StatusCode >= 500:
		f.reason = doubtful(kind)
	}
	return f
}

// retryAfter is how long Cosmos wants to be left alone.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("x-ms-retry-after-ms"), 64); err == nil && ms >= 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil && s >= 0 && s < 1e6 {
		return time.Duration(s) * time.Second
	}
	return 100 * time.Millisecond
}

// notSent reports that no connection came about.
func notSent(err error) bool {
	var (
		dial         *net.OpError
		name         *net.DNSError
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		host         x509.HostnameError
		record       tls.RecordHeaderError
	)
	return errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &name) || errors.As(err, &verification) ||
		errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &record)
}

// credentialError says that no token was to be had.
type credentialError struct{ err error }

func (e *credentialError) Error() string { return "no token for the account: " + e.err.Error() }
func (e *credentialError) Unwrap() error { return e.err }

// openError completes the error of New and Open.
func openError(err error) error {
	var e *leasehold.Error
	if !errors.As(err, &e) {
		e = &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: err}
	}
	full := *e
	full.Op, full.Store = "open", storeName
	if full.Reason == leasehold.ReasonUnknown {
		full.Reason = leasehold.ReasonUnavailable
	}
	return &full
}
