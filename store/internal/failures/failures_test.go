package failures_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/failures"
)

const store = failures.Store("test")

var errDown = errors.New("down")

func check(t *testing.T, what string, err error, reason leasehold.Reason, resource string, cause error) {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s = %v, want an error of leasehold", what, err)
	}
	if e.Reason != reason || e.Op != "op" || e.Resource != resource || e.Store != "test" || cause != nil && !errors.Is(err, cause) {
		t.Errorf("%s = %+v, want %s of op on %q in test because of %v", what, e, reason, resource, cause)
	}
}

func TestNew(t *testing.T) {
	check(t, "New", store.New("op", "r", leasehold.ReasonUnsupported, errDown), leasehold.ReasonUnsupported, "r", errDown)
}

func TestInvalid(t *testing.T) {
	check(t, "a bad field", store.Invalid("op", "r", leasehold.Invalid("ttl", "is too long")), leasehold.ReasonInvalid, "r", nil)
	check(t, "a bad resource, which is not repeated", store.Invalid("op", "r", leasehold.Invalid("resource", "is too long")), leasehold.ReasonInvalid, "", nil)
	if err := store.Invalid("op", "r", errDown); err != errDown {
		t.Errorf("another error = %v, want it as it was", err)
	}
}

func TestComplete(t *testing.T) {
	check(t, "a write", store.Complete("op", "r", errDown, true), leasehold.ReasonUnknown, "r", errDown)
	check(t, "a read", store.Complete("op", "r", errDown, false), leasehold.ReasonUnavailable, "r", errDown)
	known := &leasehold.Error{Reason: leasehold.ReasonForbidden, Cause: errDown}
	check(t, "one with a reason", store.Complete("op", "r", fmt.Errorf("x: %w", known), true), leasehold.ReasonForbidden, "r", errDown)
	if known.Op != "" {
		t.Errorf("the error that others may have was changed: %+v", known)
	}
}

func TestRead(t *testing.T) {
	lost := &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: errDown}
	check(t, "a lost answer", store.Read(t.Context(), "op", "r", lost), leasehold.ReasonUnavailable, "r", errDown)
	ctx, cancel := context.WithCancelCause(t.Context())
	errLeft := errors.New("left")
	cancel(errLeft)
	check(t, "the caller left", store.Read(ctx, "op", "r", errDown), leasehold.ReasonUnavailable, "r", errLeft)
}
