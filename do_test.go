package leasehold

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// key is for values in contexts.
type key struct{}

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		oops := errors.New("oops")
		for _, want := range []error{nil, oops} {
			ctx := context.WithValue(t.Context(), key{}, "value")
			err := m.Do(ctx, "a", func(ctx context.Context, h *Held) error {
				time.Sleep(10 * time.Minute)
				wantHeld(t, h)
				if ctx.Err() != nil || ctx.Value(key{}) != "value" || h.Context() != ctx {
					t.Errorf("fn's context: %v, value %v, want alive and its caller's", ctx.Err(), ctx.Value(key{}))
				}
				if s.state("a").State != StateActive {
					t.Errorf("the row is %v while fn runs", s.state("a").State)
				}
				return want
			})
			if err != want { // as it is, not wrapped
				t.Errorf("Do = %v, want %v", err, want)
			}
			if s.state("a").State != StateReleased {
				t.Errorf("the row is %v after Do, want released", s.state("a").State)
			}
		}
	})
}

// TestDoLosesTheLease: the loss is reported even if fn did not mind, and nothing
// is released while fn still runs.
func TestDoLosesTheLease(t *testing.T) {
	oops := errors.New("oops")
	for _, fnErr := range []error{nil, oops} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeStore()
			m := newManager(t, s, nil)
			running := false
			s.hook(func(ctx context.Context, op, _ string) error {
				switch {
				case op == "renew":
					return &Error{Reason: ReasonUnavailable}
				case op == "release" && running:
					t.Error("the lease was released while fn ran")
				}
				return nil
			}, nil)
			err := m.Do(t.Context(), "a", func(ctx context.Context, h *Held) error {
				running = true
				<-ctx.Done()
				wantErr(t, "the cause", context.Cause(ctx), ErrLost)
				time.Sleep(5 * time.Second) // fn takes its time to stop
				running = false
				return fnErr
			})
			wantErr(t, "Do", err, ErrLost)
			if fnErr != nil {
				wantErr(t, "Do", err, oops)
			}
			if s.state("a").State != StateReleased {
				t.Errorf("the row is %v after Do, want released: it was still ours", s.state("a").State)
			}
		})
	}
}

// TestDoLearnsOfTheLossAtTheEnd: the store tells only when the lease is given back.
func TestDoLearnsOfTheLossAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		err := newManager(t, s, nil).Do(t.Context(), "a", func(context.Context, *Held) error {
			s.breakLease("a", 0)
			return nil
		})
		wantErr(t, "Do", err, ErrLost)
	})
}

// TestDoWithoutRelease: the work is done; that the store is down is another matter.
func TestDoWithoutRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		err := newManager(t, s, nil).Do(t.Context(), "a", func(context.Context, *Held) error {
			s.hook(func(context.Context, string, string) error { return &Error{Reason: ReasonUnavailable} }, nil)
			return nil
		})
		if err != nil {
			t.Errorf("Do = %v, want nil", err)
		}
	})
}

func TestDoReleasesAfterAPanic(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("oops") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				m := newManager(t, s, nil)
				var recovered any
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { recovered = recover() }()
					m.Do(t.Context(), "a", func(context.Context, *Held) error {
						defer func() {
							if s.state("a").State != StateActive {
								t.Error("released before fn had unwound")
							}
						}()
						end()
						return nil
					})
				}()
				<-done
				if name == "panic" && recovered != "oops" {
					t.Errorf("recovered %v, want the panic to pass", recovered)
				}
				if s.state("a").State != StateReleased {
					t.Errorf("the row is %v, want released", s.state("a").State)
				}
				if err := m.Close(t.Context()); err != nil {
					t.Errorf("Close = %v", err)
				}
			})
		})
	}
}

// TestDoIsCancelled: fn is told by its context, and the lease is given back in
// spite of it.
func TestDoIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		ctx, cancel := context.WithCancel(t.Context())
		err := newManager(t, s, nil).Do(ctx, "a", func(ctx context.Context, h *Held) error {
			cancel()
			<-ctx.Done()
			if err := h.Err(); err != nil {
				t.Errorf("Err() = %v, want nil: the lease is held until fn has returned", err)
			}
			time.Sleep(2 * time.Minute)
			return ctx.Err()
		})
		if err != context.Canceled || s.state("a").State != StateReleased {
			t.Errorf("Do = %v, the row is %v, want fn's error, released", err, s.state("a").State)
		}
		err = newManager(t, s, nil).Do(ctx, "a", func(context.Context, *Held) error { t.Error("fn ran"); return nil })
		wantErr(t, "Do with an ended context", err, context.Canceled)
	})
}

// TestDoReleasedEarly: fn may give the lease back itself.
func TestDoReleasedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		err := newManager(t, s, nil).Do(t.Context(), "a", func(ctx context.Context, h *Held) error {
			return h.Release(ctx)
		})
		if err != nil || s.count("release") != 1 {
			t.Errorf("Do = %v after %d releases, want nil after 1", err, s.count("release"))
		}
	})
}
