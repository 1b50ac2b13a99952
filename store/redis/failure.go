package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/redis/go-redis/v9"
)

// failure says what an error of the client means: that nothing happened
// (ErrUnavailable), or that the answer was lost and it may have (ErrUnknown).
func (s *Store) failure(op, resource string, err error) *leasehold.Error {
	reason := leasehold.ReasonUnknown
	if unsent(err) || refused(err) {
		reason = leasehold.ReasonUnavailable
	}
	return &leasehold.Error{Reason: reason, Op: op, Resource: resource, Store: kind, Cause: describe(err)}
}

// readFailure is failure for calls that change nothing.
func (s *Store) readFailure(op, resource string, err error) *leasehold.Error {
	e := s.failure(op, resource, err)
	e.Reason = leasehold.ReasonUnavailable
	return e
}

// unsent reports whether the call never reached the server.
func unsent(err error) bool {
	var before notSent
	var token *tokenError
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &before), errors.As(err, &token),
		errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &record):
		return true
	case errors.As(err, &dial):
		return dial.Op == "dial"
	}
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrClosed)
}

// refusals begin the errors with which a server refuses a script before its
// first write.
var refusals = []string{
	"NOAUTH", "WRONGPASS", "NOPERM", "READONLY", "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN",
	"TRYAGAIN", "MISCONF", "OOM", "MOVED", "ASK", "CROSSSLOT", "NOREPLICAS", "ERR invalid password",
	"ERR Client sent AUTH", "ERR Protocol error: unauthenticated", "ERR AUTH", "ERR max number of clients", "ERR invalid DB index", "ERR DB index",
}

// refused reports whether the server said that it did nothing.
func refused(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	text := answer.Error()
	for _, prefix := range refusals {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	// SCRIPT KILL ends only a script that has not written; FOREIGN is of begin.lua.
	// Redis 6 wraps errors of commands in a script.
	return strings.Contains(text, "Script killed by user") || strings.Contains(text, "FOREIGN: ") || strings.Contains(text, "-OOM") ||
		strings.Contains(text, "-READONLY") || strings.Contains(text, "-NOPERM")
}

// hints say what to do about an error.
var hints = []struct{ prefix, hint string }{
	{"NOAUTH", "the server wants a password and got none"},
	{"ERR Protocol error: unauthenticated", "the server wants a password and got none"},
	{"WRONGPASS", "the server refuses the user name or the password"},
	{"NOPERM", "the user may not do this; docs/stores/redis.md lists the permissions"},
	{"ERR The user executing the script", "the user may not do this; docs/stores/redis.md lists the permissions"},
	{"READONLY", "this server is a replica; connect to its master"},
	{"CROSSSLOT", "this server is a node of a Cluster; open it as a Cluster, or use a KeyPrefix with a hash tag"},
}

// describe names the store and adds what to do. The client's errors carry no
// secrets.
func describe(err error) error {
	for _, h := range hints {
		if strings.Contains(err.Error(), h.prefix+" ") {
			return &described{"redis: " + h.hint, err}
		}
	}
	return &described{"redis", err}
}

type described struct {
	what string
	err  error
}

func (d *described) Error() string {
	return d.what + ": " + strings.TrimPrefix(d.err.Error(), "redis: ")
}

func (d *described) Unwrap() error { return d.err }
