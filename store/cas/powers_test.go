package cas_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// withEverything runs f on a service that has everything a backend can have.
func withEverything(t *testing.T, f func(e *env, c *configuration)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newConfigured()
		e := &env{t, b.service, cas.New(b, nil)}
		defer e.store.Close()
		f(e, b.config)
	})
}

// A backend without a power has none of its methods.
func TestMissingPowers(t *testing.T) {
	inBubble(t, func(e *env) {
		ctx := e.Context()
		_, err := e.store.Settings(ctx)
		e.want("Settings", err, leasehold.ReasonUnsupported)
		_, err = e.store.SetSetting(ctx, leasehold.SettingBlocking, true)
		e.want("SetSetting", err, leasehold.ReasonUnsupported)
		_, err = e.store.ReleaseHolder(ctx, "h", "")
		e.want("ReleaseHolder", err, leasehold.ReasonUnsupported)
		e.want("Watch", e.store.Watch(ctx, leasehold.WatchRequest{}, nil), leasehold.ReasonUnsupported)
		e.want("WatchBatches", e.store.WatchBatches(ctx, leasehold.WatchRequest{}, nil), leasehold.ReasonUnsupported)
	})
}

func TestPowersOfAClosedStore(t *testing.T) {
	withEverything(t, func(e *env, _ *configuration) {
		ctx := e.Context()
		if err := e.store.Close(); err != nil {
			e.Fatal(err)
		}
		_, err := e.store.Settings(ctx)
		e.want("Settings", err, leasehold.ReasonUnavailable)
		_, err = e.store.SetSetting(ctx, leasehold.SettingBlocking, true)
		e.want("SetSetting", err, leasehold.ReasonUnavailable)
		_, err = e.store.ReleaseHolder(ctx, "h", "")
		e.want("ReleaseHolder", err, leasehold.ReasonUnavailable)
		_, err = e.store.Wait(ctx, request("h"))
		e.want("Wait", err, leasehold.ReasonUnavailable)
		e.want("WatchBatches", e.store.WatchBatches(ctx, leasehold.WatchRequest{}, nil), leasehold.ReasonUnavailable)
	})
}

// A setting that another server changed steers the next operation, also one whose
// item was in hand.
func TestSettingsOfAnotherServer(t *testing.T) {
	withEverything(t, func(e *env, c *configuration) {
		g := e.acquire("h")
		e.service.mu.Lock()
		c.text = `{"max_ttl_seconds":5,"of_a_newer_program":true}`
		e.service.mu.Unlock()
		_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r", TTL: 6 * time.Second})
		e.want("Renew beyond the new limit", err, leasehold.ReasonInvalid)
		if _, err := e.store.SetSetting(e.Context(), leasehold.SettingMaxTTL, 20); err != nil {
			e.Fatal(err)
		}
		if want := `{"max_ttl_seconds":20,"of_a_newer_program":true}`; c.text != want {
			e.Errorf("the settings are %s, want %s", c.text, want)
		}
	})
}

func TestSettingFaults(t *testing.T) {
	withEverything(t, func(e *env, c *configuration) {
		set := func() error {
			_, err := e.store.SetSetting(e.Context(), leasehold.SettingDefaultTTL, 60)
			return err
		}
		races := 3
		c.fault = func(_, _ string, swap func() error) error {
			if races--; races >= 0 {
				return fmt.Errorf("by the test: %w", cas.ErrRaced)
			}
			return swap()
		}
		if err := set(); err != nil || races != -1 {
			e.Errorf("SetSetting after lost races = %v with %d races left, want success", err, races)
		}
		c.fault = func(string, string, func() error) error { return cas.ErrRaced }
		e.want("SetSetting that always loses", set(), leasehold.ReasonUnavailable)
		c.fault = func(_, _ string, swap func() error) error { _ = swap(); return lost }
		e.want("SetSetting with a lost answer", set(), leasehold.ReasonUnknown)
		c.fault = func(string, string, func() error) error { return down }
		e.want("SetSetting of a service that is down", set(), leasehold.ReasonUnavailable)
		e.service.setLoad(func(string) error { return down })
		e.want("SetSetting that cannot read", set(), leasehold.ReasonUnavailable)
		_, err := e.store.Settings(e.Context())
		e.want("Settings", err, leasehold.ReasonUnavailable)
		_, err = e.store.Wait(e.Context(), request("h"))
		e.want("Wait", err, leasehold.ReasonUnavailable)
		_, err = e.store.Cleanup(e.Context())
		e.want("Cleanup", err, leasehold.ReasonUnavailable)
		e.service.setLoad(nil)
		time.Sleep(time.Hour) // the sweep goes on
	})
}

// Settings that cannot be read stop everything that they would steer.
func TestUnreadableSettings(t *testing.T) {
	for _, text := range []string{"{", `{"max_leases":"many"}`} {
		withEverything(t, func(e *env, c *configuration) {
			e.service.mu.Lock()
			c.text = text
			e.service.mu.Unlock()
			_, err := e.store.Acquire(e.Context(), request("h"))
			e.want("Acquire", err, leasehold.ReasonUnavailable)
			_, err = e.store.Settings(e.Context())
			e.want("Settings", err, leasehold.ReasonUnavailable)
			_, err = e.store.SetSetting(e.Context(), leasehold.SettingMaxLeases, 1)
			e.want("SetSetting", err, leasehold.ReasonUnavailable)
			_, err = e.store.Cleanup(e.Context())
			e.want("Cleanup", err, leasehold.ReasonUnavailable)
		})
	}
}

// Live leases are counted again only when a limit could have been reached.
func TestCounts(t *testing.T) {
	withEverything(t, func(e *env, c *configuration) {
		counts := 0
		c.count = func() error { counts++; return nil }
		for i := range 20 {
			r := request("h")
			r.Resource = fmt.Sprint("r", i)
			if _, err := e.store.Acquire(e.Context(), r); err != nil {
				e.Fatal(err)
			}
		}
		if counts != 1 {
			e.Errorf("%d counts for 20 grants far from the limit, want 1", counts)
		}
		c.count = func() error { return down }
		time.Sleep(time.Minute)
		_, err := e.store.Acquire(e.Context(), request("h"))
		e.want("Acquire when the count fails", err, leasehold.ReasonUnavailable)
	})
}

func TestForceReleaseFaults(t *testing.T) {
	force := func(e *env) (int, error) { return e.store.ReleaseHolder(e.Context(), "h", "") }
	for _, try := range []struct {
		name   string
		force  func(n int, swap func() error) error
		count  int
		reason leasehold.Reason
	}{
		{"lost races", func(n int, swap func() error) error {
			if n < 3 {
				return cas.ErrRaced
			}
			return swap()
		}, 1, ""},
		{"always raced", func(int, func() error) error { return cas.ErrRaced }, 0, leasehold.ReasonUnavailable},
		{"the answer is lost", func(_ int, swap func() error) error { _ = swap(); return lost }, 1, ""},
		{"the request is lost", func(n int, swap func() error) error {
			if n == 1 {
				return lost
			}
			return swap()
		}, 1, ""},
		{"all requests are lost", func(int, func() error) error { return lost }, 0, leasehold.ReasonUnknown},
		{"down", func(int, func() error) error { return down }, 0, leasehold.ReasonUnavailable},
	} {
		t.Run(try.name, func(t *testing.T) {
			withEverything(t, func(e *env, c *configuration) {
				if _, err := e.store.Acquire(e.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: leasehold.Infinite}); err != nil {
					e.Fatal(err)
				}
				n := 0
				c.force = func(swap func() error) error { n++; return try.force(n, swap) }
				count, err := force(e)
				if count != try.count || leasehold.ReasonOf(err) != try.reason {
					e.Errorf("ReleaseHolder = %d, %v; want %d, %q", count, err, try.count, try.reason)
				}
			})
		})
	}
}

// After a lost answer the store must be able to look.
func TestForceReleaseCannotLook(t *testing.T) {
	withEverything(t, func(e *env, c *configuration) {
		e.acquire("h")
		c.force = func(swap func() error) error {
			e.service.setLoad(func(string) error { return down })
			return lost
		}
		_, err := e.store.ReleaseHolder(e.Context(), "h", "")
		e.want("ReleaseHolder", err, leasehold.ReasonUnknown)
		_, err = e.store.ReleaseHolder(e.Context(), "h", "")
		e.want("ReleaseHolder that cannot load", err, leasehold.ReasonUnavailable)
	})
}

// A holder whose leases have all ended has none to release; the ends are recorded
// together with the release of another.
func TestForceReleaseOfEndedLeases(t *testing.T) {
	withEverything(t, func(e *env, _ *configuration) {
		if _, err := e.store.SetSetting(e.Context(), leasehold.SettingAutoExpire, false); err != nil {
			e.Fatal(err)
		}
		e.acquire("h")
		time.Sleep(time.Minute)
		if n, err := e.store.ReleaseHolder(e.Context(), "h", ""); n != 0 || err != nil {
			e.Errorf("ReleaseHolder of ended leases = %d, %v; want none", n, err)
		}
		r := request("h")
		r.Resource = "s"
		if _, err := e.store.Acquire(e.Context(), r); err != nil {
			e.Fatal(err)
		}
		if n, err := e.store.ReleaseHolder(e.Context(), "h", ""); n != 1 || err != nil {
			e.Errorf("ReleaseHolder = %d, %v; want 1", n, err)
		}
	})
}

// The sweep records ends that other processes left, and goes on after errors.
func TestSweepGoesOn(t *testing.T) {
	withEverything(t, func(e *env, _ *configuration) {
		var broken atomic.Bool
		e.service.beforeSwap = func(int, cas.Write) error {
			if broken.Load() {
				return errors.New("by the test")
			}
			return nil
		}
		for i := range 250 { // more than one step
			r := request("h")
			r.Resource = fmt.Sprint("r", i)
			if _, err := e.store.Acquire(e.Context(), r); err != nil {
				e.Fatal(err)
			}
		}
		broken.Store(true)
		time.Sleep(time.Minute)
		broken.Store(false)
		time.Sleep(time.Minute)
		page, err := e.store.History(e.Context(), leasehold.HistoryRequest{Kind: leasehold.KindExpired, Limit: 500})
		if err != nil || len(page.Records) != 250 {
			e.Errorf("%d ends recorded, %v; want all 250", len(page.Records), err)
		}
	})
}

func TestWatchBatches(t *testing.T) {
	withEverything(t, func(e *env, _ *configuration) {
		ctx, cancel := context.WithCancel(e.Context())
		seen := make(chan leasehold.Kind, 10)
		ended := make(chan error, 1)
		go func() {
			ended <- e.store.WatchBatches(ctx, leasehold.WatchRequest{}, func(batch []*leasehold.SharedNotice) error {
				for _, n := range batch {
					seen <- n.Kind
				}
				return nil
			})
		}()
		synctest.Wait()
		e.acquire("h")
		if kind := <-seen; kind != leasehold.KindAcquired {
			e.Errorf("a watcher was told of %q, want the grant", kind)
		}
		_, err := e.store.Acquire(e.Context(), request("other"))
		e.want("Acquire", err, leasehold.ReasonHeld)
		if kind := <-seen; kind != leasehold.KindRefused {
			e.Errorf("a watcher was told of %q, want the refusal", kind)
		}
		if n := e.store.Waiting("r"); n != 0 {
			e.Errorf("%d wait, want none", n)
		}
		cancel()
		<-ended
	})
}
