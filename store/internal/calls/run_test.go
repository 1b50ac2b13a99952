package calls_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/internal/calls"
)

var errTest = errors.New("test")

// ended is what After was told.
type ended struct {
	result   int
	err      error
	received bool
}

// write takes so long, and notes what After is told.
func write(ctx context.Context, c *calls.Calls, lasts time.Duration, failure error) (result int, after *ended, err error) {
	after = &ended{}
	result, err = calls.Run(ctx, c, calls.Write[int]{
		Op: "op", Resource: "r",
		Run: func(ctx context.Context) (int, error) {
			if !sleep.For(ctx, lasts) {
				return 0, errors.New("the write was cut off")
			}
			return 7, failure
		},
		After: func(ctx context.Context, result int, err error, received bool) {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			*after = ended{result, err, received}
		},
	})
	return result, after, err
}

// A write goes on without its caller, who learns its outcome if it ends soon.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name     string
		lasts    time.Duration
		err      error
		received bool
	}{
		{"in time", time.Second / 2, nil, true},
		{"in time, failed", time.Second / 2, errTest, true},
		{"within the grace", time.Second + calls.Grace/2, nil, true},
		{"within the grace, failed", time.Second + calls.Grace/2, errTest, true},
		{"later", 3 * time.Second, nil, false},
		{"later, failed", 3 * time.Second, errTest, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := calls.New("test")
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				started := time.Now()
				result, after, err := write(ctx, all, c.lasts, c.err)
				took := time.Since(started)
				if c.received && (result != 7 || err != c.err || took != c.lasts) {
					t.Errorf("Run = %d, %v after %v; want 7, %v after %v", result, err, took, c.err, c.lasts)
				}
				if !c.received {
					wantReason(t, "Run", err, leasehold.ReasonUnknown)
					if result != 0 || took != time.Second+calls.Grace || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("Run = %d, %v after %v; want the context's second and the grace", result, err, took)
					}
				}
				all.Close()
				all.Wait()
				if want := (ended{7, c.err, c.received}); *after != want {
					t.Errorf("After was told %+v, want %+v", *after, want)
				}
			})
		})
	}
}

// Who cannot leave waits, and for After too.
func TestRunWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := calls.New("test")
		result, after, err := write(context.Background(), c, time.Hour, errTest)
		if want := (ended{7, errTest, true}); result != 7 || err != errTest || *after != want {
			t.Errorf("Run = %d, %v, and After was told %+v", result, err, *after)
		}
		c.Close()
		c.Wait()
	})
}

// A caller who has left before starts nothing, and After may be nil.
func TestRunOfNobody(t *testing.T) {
	c := calls.New("test")
	ctx, cancel := context.WithCancelCause(t.Context())
	ran := 0
	w := calls.Write[int]{Op: "op", Resource: "r", Run: func(context.Context) (int, error) { ran++; return ran, nil }}
	if got, err := calls.Run(ctx, c, w); got != 1 || err != nil {
		t.Errorf("Run = %d, %v; want 1", got, err)
	}
	cancel(errTest)
	_, err := calls.Run(ctx, c, w)
	wantReason(t, "Run", err, leasehold.ReasonUnavailable)
	if !errors.Is(err, errTest) || ran != 1 {
		t.Errorf("Run = %v and it ran %d times, want once and why the caller left", err, ran)
	}
	c.Close()
	c.Wait()
}
