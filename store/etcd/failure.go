package etcd

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
)

// access is what a call does.
type access bool

const (
	reading access = false // or what may be repeated without harm
	writing access = true
)

// attempts is how often a call is made that may be repeated: another member may
// answer.
const attempts = 3

// leaderPause is how long a call waits for a leader before it is made again.
const leaderPause = 50 * time.Millisecond

// call makes a call of etcd, each attempt with its share of the time: a member that
// does not answer must not use up that in which another would.
//
// While there is no leader nothing happens, and mostly there is one soon: even a
// write waits for it.
func (b *backend) call(ctx context.Context, how access, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), b.limit)
	defer cancel()
	for left := attempts; ; {
		err := b.attempt(ctx, request)
		leaderless := errors.Is(err, rpctypes.ErrNoLeader)
		if !leaderless {
			left--
		}
		switch {
		case err == nil:
			return nil
		case leaderless && sleep.For(ctx, leaderPause):
		case left == 0, leaderless, how == writing, ctx.Err() != nil, !transient(err):
			return b.classify(ctx, how, err)
		}
	}
}

func (b *backend) attempt(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := b.share(ctx)
	defer cancel()
	return request(ctx)
}

// share is the time of one attempt: a renewal makes two calls, each of which may meet
// a member that does not answer, and then looks what became of the second.
func (b *backend) share(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, b.limit/(attempts+2))
}

// transient reports whether another attempt may succeed.
func transient(err error) bool {
	switch code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unknown, codes.Internal:
		return true
	}
	return false
}

// code is what gRPC says about the error.
func code(err error) codes.Code {
	var answer rpctypes.EtcdError
	switch {
	case errors.As(err, &answer):
		return answer.Code()
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	return status.Code(err)
}

// classify says what an error means: whether the write may have happened, and why
// not if not.
func (b *backend) classify(ctx context.Context, how access, err error) error {
	var e *leasehold.Error
	if errors.As(err, &e) {
		return err
	}
	e = &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: describe(err)}
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		e.Reason = leasehold.ReasonForbidden
	case errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrInvalidAuthToken):
		e.Reason = leasehold.ReasonUnauthenticated
	case errors.Is(err, rpctypes.ErrTooManyRequests):
		e.Reason = leasehold.ReasonRateLimited
	case how == writing && !refused(err):
		e.Reason = leasehold.ReasonUnknown
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		e.Cause = &described{e.Cause.Error(), cause}
	}
	return e
}

// refused reports whether nothing was written for sure: etcd said no before it
// proposed the write to its members, or it was never sent.
func refused(err error) bool {
	if errors.Is(err, rpctypes.ErrNoLeader) || errors.Is(err, clientv3.ErrNoAvailableEndpoints) {
		return true
	}
	switch code(err) {
	case codes.Unavailable:
		text := err.Error()
		return strings.Contains(text, "Error while dialing") || strings.Contains(text, "authentication handshake failed") ||
			strings.Contains(text, "no children to pick from") || strings.Contains(text, "last resolver error")
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.ResourceExhausted,
		codes.OutOfRange, codes.PermissionDenied, codes.Unauthenticated:
		return true
	}
	return false
}

// hints say what to do about an error.
var hints = []struct {
	err  error
	hint string
}{
	{rpctypes.ErrAuthFailed, "etcd refuses the user name or the password"},
	{rpctypes.ErrUserEmpty, "etcd wants a user name and a password and got none"},
	{rpctypes.ErrInvalidAuthToken, "etcd does not accept the login any more"},
	{rpctypes.ErrPermissionDenied, "the user may not do this; docs/stores/etcd.md lists the permissions"},
	{rpctypes.ErrNoLeader, "the cluster has no leader: most of its members cannot be reached"},
	{rpctypes.ErrNoSpace, "etcd's database has reached its quota; docs/stores/etcd.md says how to make room"},
}

// describe names the store and adds what to do. Errors of the client carry no
// passwords and no values.
func describe(err error) error {
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return &described{"etcd: " + h.hint, err}
		}
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "first record does not look like a TLS handshake"):
		return &described{"etcd: the server does not speak TLS", err}
	case strings.Contains(text, "x509: "), strings.Contains(text, "tls: "):
		return &described{"etcd: TLS failed", err}
	}
	return &described{"etcd", err}
}

type described struct {
	what string
	err  error
}

func (d *described) Error() string {
	return d.what + ": " + strings.TrimPrefix(d.err.Error(), "etcdserver: ")
}

func (d *described) Unwrap() error { return d.err }

func unavailable(err error) error {
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: err}
}
