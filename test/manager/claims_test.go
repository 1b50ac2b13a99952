package manager_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
)

func mode(claims []leasehold.Claim, m leasehold.Mode) leasehold.AcquireOptions {
	changed := make([]leasehold.Claim, len(claims))
	for i, c := range claims {
		c.Mode = m
		changed[i] = c
	}
	return leasehold.AcquireOptions{Claims: changed}
}

var repoClaims = append(leasehold.Paths("repo", "src/auth/**", "go.mod"), leasehold.Resources("db")...)

// TestClaimsAreOneLease: one handle has them all, is renewed under the store's name,
// and frees them all.
func TestClaimsAreOneLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		m := newManager(t, s, nil)
		h := mustTry(t, m, "", leasehold.AcquireOptions{Claims: repoClaims})
		if diff := cmp.Diff(repoClaims, h.Claims()); diff != "" {
			t.Errorf("Claims() -want +got:\n%s", diff)
		}
		time.Sleep(time.Hour)
		wantHeld(t, h)
		if h.Renewals() < 60 {
			t.Errorf("Renewals() = %d after an hour with a ttl of a minute", h.Renewals())
		}
		for _, o := range []leasehold.AcquireOptions{
			{Claims: leasehold.Paths("repo", "go.*")}, {Claims: leasehold.Resources("db", "free")}, mode(repoClaims, leasehold.Shared),
		} {
			_, err := m.TryAcquire(t.Context(), "", o)
			if e := (*leasehold.Error)(nil); !errors.As(err, &e) || e.Reason != leasehold.ReasonHeld || e.Overlap == nil {
				t.Errorf("TryAcquire(%v) = %v, want lease_held and where", o.Claims, err)
			}
		}
		if _, err := m.TryAcquire(t.Context(), "db"); !errors.Is(err, leasehold.ErrHeld) {
			t.Errorf("TryAcquire(db) = %v, want ErrHeld", err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("Release = %v", err)
		}
		mustTry(t, m, "db")
		mustTry(t, m, "free")
		mustTry(t, m, "", leasehold.AcquireOptions{Claims: leasehold.Paths("repo", "**")})
	})
}

// TestClaimsLost: a set that is broken is lost like any other, by its own name and by
// that of a part.
func TestClaimsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		m := newManager(t, s, nil)
		for _, part := range []bool{false, true} {
			h := mustTry(t, m, "", leasehold.AcquireOptions{Claims: repoClaims})
			name := h.Resource()
			if part {
				name = "db"
			}
			breakLease(t, s, name, 0)
			time.Sleep(time.Minute)
			wantLost(t, h, leasehold.ReasonBroken)
		}
	})
}

// TestInfiniteClaimsAreVerified: a lease without renewals left is verified by its
// status, which the store has under its own name.
func TestInfiniteClaimsAreVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		none := 0
		h := mustTry(t, newManager(t, s, nil), "", leasehold.AcquireOptions{Claims: repoClaims, TTL: leasehold.Infinite, MaxRenewals: &none})
		time.Sleep(10 * time.Minute)
		wantHeld(t, h)
		if s.count("status") == 0 {
			t.Error("its status was never requested")
		}
		breakLease(t, s, h.Resource(), 0)
		time.Sleep(time.Minute)
		if h.Err() == nil {
			t.Error("Err() = nil after the break, want the loss")
		}
	})
}

// TestClaimsWait: a wait for several is granted when the last of them is free.
func TestClaimsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		m := newManager(t, s, nil)
		db, mod := mustTry(t, m, "db"), mustTry(t, m, "", leasehold.AcquireOptions{Claims: leasehold.Paths("repo", "go.mod")})
		time.AfterFunc(2*time.Minute, func() { db.Release(t.Context()) })
		time.AfterFunc(5*time.Minute, func() { mod.Release(t.Context()) })
		began := time.Now()
		h, err := m.Acquire(t.Context(), "", leasehold.AcquireOptions{Claims: repoClaims})
		if err != nil || time.Since(began) != 5*time.Minute {
			t.Fatalf("Acquire = %v, %v after %v, want it after 5m", h, err, time.Since(began))
		}
		_, err = m.Acquire(t.Context(), "", leasehold.AcquireOptions{Claims: leasehold.Resources("db", "x"), Timeout: time.Minute})
		if e := (*leasehold.Error)(nil); !errors.As(err, &e) || e.Reason != leasehold.ReasonTimeout {
			t.Errorf("Acquire of what is held = %v, want acquire_timeout", err)
		}
	})
}

// TestClaimsTimeoutSaysWhere: what the last refusal said is not lost with the time.
func TestClaimsTimeoutSaysWhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, newStore(t), nil)
		h := mustTry(t, m, "", leasehold.AcquireOptions{Claims: repoClaims})
		_, err := m.Acquire(t.Context(), "", leasehold.AcquireOptions{Claims: leasehold.Paths("repo", "src/*/login.go"), Timeout: time.Minute})
		e := (*leasehold.Error)(nil)
		if !errors.As(err, &e) || e.Reason != leasehold.ReasonTimeout || e.Current == nil || e.Current.Resource != h.Resource() ||
			e.Overlap == nil || e.Overlap.Part != "src/auth/login.go" {
			t.Errorf("Acquire of what is held = %v, want acquire_timeout with the lease in the way and where it is", err)
		}
	})
}

// TestManagerIsNoSequence: goroutines of one Manager share its holder, so one may wait
// for another.
func TestManagerIsNoSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "", leasehold.AcquireOptions{Claims: repoClaims})
		time.AfterFunc(time.Minute, func() { h.Release(t.Context()) })
		if _, err := m.Acquire(t.Context(), "", leasehold.AcquireOptions{Claims: repoClaims}); err != nil {
			t.Errorf("Acquire of what the same Manager holds = %v, want a wait", err)
		}
	})
}

// TestUpgrade: acquiring again in another mode gives a second handle, which alone is
// held from then on. It waits for those who share.
func TestUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		m, other := newManager(t, s, nil), newManager(t, s, nil)
		readers := mustTry(t, other, "", mode(repoClaims, leasehold.Shared))
		h := mustTry(t, m, "", mode(repoClaims, leasehold.Shared))
		exclusive := mode(repoClaims, leasehold.Exclusive)
		exclusive.ID = h.ID()
		_, err := m.TryAcquire(t.Context(), "", exclusive)
		if !errors.Is(err, leasehold.ErrHeld) {
			t.Errorf("TryAcquire to upgrade beside another = %v, want ErrHeld", err)
		}
		time.AfterFunc(5*time.Minute, func() { readers.Release(t.Context()) })
		upgraded, err := m.Acquire(t.Context(), "", exclusive)
		if err != nil {
			t.Fatalf("Acquire to upgrade = %v", err)
		}
		if upgraded.Resource() != h.Resource() || upgraded.Token() <= h.Token() {
			t.Errorf("the upgrade of %v is %v, want the same name and a larger token", h, upgraded)
		}
		time.Sleep(10 * time.Minute)
		wantHeld(t, upgraded)
		wantLost(t, h, leasehold.ReasonTokenMismatch)
		if err := h.Release(t.Context()); !errors.Is(err, leasehold.ErrLost) {
			t.Errorf("Release of the earlier handle = %v, want ErrLost", err)
		}
		if _, err := other.TryAcquire(t.Context(), "", mode(repoClaims, leasehold.Shared)); !errors.Is(err, leasehold.ErrHeld) {
			t.Errorf("TryAcquire beside the upgraded = %v, want ErrHeld", err)
		}
		shared := mode(repoClaims, leasehold.Shared)
		shared.ID = h.ID()
		downgraded := mustTry(t, m, "", shared)
		mustTry(t, other, "", mode(repoClaims, leasehold.Shared))
		if err := downgraded.Release(t.Context()); err != nil {
			t.Errorf("Release of the downgraded = %v", err)
		}
	})
}
