// Package claimless checks stores that grant leases on one resource only.
package claimless

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// T is the part of testing.TB that is used here. Package testing itself registers
// flags in every program that imports it.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Check makes every call of ctx that such a store refuses. The store's service must
// fail the test if a call of ctx reaches it.
func Check(ctx context.Context, t T, s leasehold.Store, kind string) {
	t.Helper()
	id := leasehold.NewID()
	note := "half done"
	claims := leasehold.AcquireRequest{Claims: leasehold.Resources("a", "b"), Holder: "h", TTL: time.Minute, Timeout: time.Minute}
	shared := claims
	shared.Claims = []leasehold.Claim{{Pattern: "a", Mode: leasehold.Shared}}
	paths := claims
	paths.Claims = leasehold.Paths("repo", "src/**")

	for _, r := range []leasehold.AcquireRequest{claims, shared, paths} {
		_, err := s.Acquire(ctx, r)
		unsupported(t, kind, "acquire", "several resources or patterns", err)
		if w, ok := s.(leasehold.Waiter); ok {
			_, err = w.Wait(ctx, r)
			unsupported(t, kind, "acquire", "", err) // a store that cannot wait says so
		}
	}
	_, err := s.Release(ctx, leasehold.ReleaseRequest{ID: id, Resource: "r", Note: note})
	unsupported(t, kind, "release", "notes", err)
	if x, ok := s.(leasehold.Transferer); ok {
		_, err := x.Transfer(ctx, leasehold.TransferRequest{ID: id, Resource: "r", To: "next", Note: note})
		unsupported(t, kind, "transfer", "notes", err)
	}
	if l, ok := s.(leasehold.Lister); ok {
		for _, r := range []leasehold.ListRequest{{Namespace: "repo"}, {Namespace: "repo", Path: "src/*"}} {
			_, err := l.List(ctx, r)
			unsupported(t, kind, "list", "namespaces", err)
		}
		_, err := l.List(ctx, leasehold.ListRequest{Path: "src/*"})
		if leasehold.ReasonOf(err) != leasehold.ReasonInvalid {
			t.Errorf("List(a path of no namespace) = %v, want ErrInvalid", err)
		}
	}

	claims.Claims = leasehold.Resources("a", "a")
	if _, err := s.Acquire(ctx, claims); leasehold.ReasonOf(err) != leasehold.ReasonInvalid {
		t.Errorf("Acquire(the same claim twice) = %v, want ErrInvalid: no store grants it", err)
	}
}

func unsupported(t T, kind, op, says string, err error) {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) || !errors.Is(err, leasehold.ErrUnsupported) || e.Op != op || e.Store != kind {
		t.Errorf("%s = %v, want ErrUnsupported of %s in the %s store", op, err, op, kind)
		return
	}
	for _, word := range []string{"the " + kind + " store cannot", says} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s = %q, want it to say %q", op, err, word)
		}
	}
}
