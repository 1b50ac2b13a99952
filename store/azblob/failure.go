package azblob

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/leasehold/leasehold"
)

// kind is what a failed call means for the caller.
type kind int

const (
	failed      kind = iota // the service refused, and will again
	raced                   // the blob is not as it was
	leased                  // somebody's lease is in the way
	notLeased               // the id shown has no lease here
	breaking                // the lease is being broken
	noBlob                  // there is no such blob
	noContainer             // there is no such container
	denied                  // the caller may not
	unknown                 // the caller is not known
	busy                    // not carried out; later it may be
	unsent                  // not carried out: the service was not reached
	lost                    // it may have been carried out
)

// failure is the error of one call. It keeps nothing of the request, whose headers
// and URL have secrets, nor the text of the answer, which may repeat them.
type failure struct {
	kind       kind
	status     int
	code       string
	retryAfter time.Duration
	date       *time.Time // the service's, if it said
	cause      error      // what is not an answer of the service
}

func (f *failure) Error() string {
	switch {
	case f.cause != nil:
		return "azblob: " + f.cause.Error()
	case f.code == "":
		return fmt.Sprintf("azblob: the service answered %d", f.status)
	}
	return fmt.Sprintf("azblob: the service answered %d %s", f.status, f.code)
}

func (f *failure) Unwrap() error { return f.cause }

var codeKinds = map[bloberror.Code]kind{
	bloberror.ConditionNotMet:       raced,
	bloberror.TargetConditionNotMet: raced,
	bloberror.BlobAlreadyExists:     raced,

	bloberror.LeaseIDMissing:      leased,
	bloberror.LeaseAlreadyPresent: leased,

	bloberror.LeaseIDMismatchWithBlobOperation:  notLeased,
	bloberror.LeaseIDMismatchWithLeaseOperation: notLeased,
	bloberror.LeaseNotPresentWithBlobOperation:  notLeased,
	bloberror.LeaseNotPresentWithLeaseOperation: notLeased,
	bloberror.LeaseLost:                         notLeased,
	bloberror.LeaseAlreadyBroken:                notLeased,
	bloberror.LeaseIsBrokenAndCannotBeRenewed:   notLeased,

	bloberror.LeaseIsBreakingAndCannotBeAcquired: breaking,
	bloberror.LeaseIsBreakingAndCannotBeChanged:  breaking,

	bloberror.BlobNotFound:     noBlob,
	bloberror.ResourceNotFound: noBlob,

	bloberror.ContainerNotFound: noContainer,

	bloberror.ContainerBeingDeleted:         busy,
	bloberror.ServerBusy:                    busy,
	bloberror.AuthenticationFailed:          unknown,
	bloberror.InvalidAuthenticationInfo:     unknown,
	bloberror.NoAuthenticationInformation:   unknown,
	bloberror.AuthorizationSourceIPMismatch: denied,
}

// failureOf classifies the error of a call. Nil stays nil.
func failureOf(ctx context.Context, err error) *failure {
	if err == nil {
		return nil
	}
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return answered(answer)
	}
	if ctx.Err() != nil {
		return &failure{kind: lost, cause: context.Cause(ctx)}
	}
	cause := withoutURL(err)
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial", isTLS(err):
		return &failure{kind: unsent, cause: cause}
	case isCredential(err):
		return &failure{kind: unknown, cause: cause}
	}
	return &failure{kind: lost, cause: cause}
}

// withoutURL leaves out the URL, which may have a signature in its query.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// isCredential reports whether no token was to be had: the SDK marks such errors
// as not to be repeated, and the request was never sent.
func isCredential(err error) bool {
	var final interface{ NonRetriable() }
	return errors.As(err, &final)
}

func answered(e *azcore.ResponseError) *failure {
	f := &failure{status: e.StatusCode, code: e.ErrorCode, retryAfter: retryAfter(e.RawResponse), date: dateOf(e.RawResponse)}
	known, ok := codeKinds[bloberror.Code(e.ErrorCode)]
	switch {
	case ok:
		f.kind = known
	case e.StatusCode == http.StatusUnauthorized:
		f.kind = unknown
	case e.StatusCode == http.StatusForbidden:
		f.kind = denied
	case e.StatusCode == http.StatusTooManyRequests:
		f.kind = busy
	case e.StatusCode == http.StatusRequestTimeout, e.StatusCode >= 500:
		f.kind = lost
	case e.StatusCode == http.StatusNotFound:
		f.kind = noBlob // a HEAD has no body, and some servers name the code only there
	case e.StatusCode == http.StatusPreconditionFailed:
		f.kind = raced
	}
	return f
}

func dateOf(r *http.Response) *time.Time {
	if r == nil {
		return nil
	}
	t, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		return nil
	}
	return &t
}

// retryAfter reads seconds or milliseconds; zero: the service did not say.
func retryAfter(r *http.Response) time.Duration {
	if r == nil {
		return 0
	}
	for _, h := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"X-Ms-Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		if n, err := strconv.ParseInt(r.Header.Get(h.name), 10, 32); err == nil && n >= 0 {
			return time.Duration(n) * h.unit
		}
	}
	return 0
}

// reasons of failures that end an operation.
var reasons = map[kind]leasehold.Reason{
	failed:      leasehold.ReasonUnavailable,
	raced:       leasehold.ReasonUnavailable,
	leased:      leasehold.ReasonUnavailable,
	notLeased:   leasehold.ReasonNotFound,
	breaking:    leasehold.ReasonBreaking,
	noBlob:      leasehold.ReasonNotFound,
	noContainer: leasehold.ReasonUnavailable,
	denied:      leasehold.ReasonForbidden,
	unknown:     leasehold.ReasonUnauthenticated,
	busy:        leasehold.ReasonUnavailable,
	unsent:      leasehold.ReasonUnavailable,
	lost:        leasehold.ReasonUnknown,
}

// storeError makes the store's error of anything that an operation returns.
func storeError(op, resource string, err error) error {
	if err == nil {
		return nil
	}
	var e *leasehold.Error
	if errors.As(err, &e) {
		full := *e
		full.Op, full.Resource, full.Store = op, resource, storeName
		return &full
	}
	full := &leasehold.Error{Reason: leasehold.ReasonUnknown, Op: op, Resource: resource, Store: storeName, Cause: err}
	var f *failure
	if errors.As(err, &f) {
		full.Reason, full.RetryAfter = reasons[f.kind], f.retryAfter
		if f.kind == busy && f.status == http.StatusTooManyRequests {
			full.Reason = leasehold.ReasonRateLimited
		}
		if full.Reason == leasehold.ReasonNotFound {
			full.Cause = nil
		}
	}
	return full
}

// nothingDone says of a call whose answer was lost that it changed no lease.
func nothingDone(f *failure) *failure {
	if f != nil && f.kind == lost {
		f.kind = unsent
	}
	return f
}

// refusal is an answer of the store itself.
func refusal(reason leasehold.Reason) *leasehold.Error { return &leasehold.Error{Reason: reason} }

func unsupported(problem string) *leasehold.Error {
	return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Store: storeName, Problem: problem}
}
