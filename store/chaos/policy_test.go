package chaos_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// met lists which of the first n calls of an operation meet a fault.
func met(p chaos.Policy, op chaos.Op, n int) []int {
	var calls []int
	for i := 1; i <= n; i++ {
		if p(chaos.Call{Op: op, N: i}) != (chaos.Fault{}) {
			calls = append(calls, i)
		}
	}
	return calls
}

func TestPolicy(t *testing.T) {
	var on, off chaos.Switch
	on.Set(true)
	lost := chaos.LostAnswer
	tests := []struct {
		name   string
		policy chaos.Policy
		want   []int // of ten renewals
	}{
		{"Always", chaos.Always(lost), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"Between", chaos.Between(3, 7, lost), []int{3, 4, 5, 6, 7}},
		{"Every", chaos.Every(3, lost), []int{3, 6, 9}},
		{"Every, none", chaos.Every(0, lost), nil},
		{"Only, this one", chaos.Only(chaos.Every(5, lost), chaos.OpAcquire, chaos.OpRenew), []int{5, 10}},
		{"Only, others", chaos.Only(chaos.Always(lost), chaos.OpAcquire), nil},
		{"First", chaos.First(chaos.Between(1, 1, lost), chaos.Every(4, chaos.Unavailable)), []int{1, 4, 8}},
		{"First of none", chaos.First(), nil},
		{"never by probability", chaos.WithProbability(1, 0, lost), nil},
		{"always by probability", chaos.WithProbability(1, 1, lost), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"Switch on", on.While(chaos.Every(5, lost)), []int{5, 10}},
		{"Switch off", off.While(chaos.Every(5, lost)), nil},
		{"scripted", func(c chaos.Call) chaos.Fault { return chaos.Delay(time.Duration(c.N - 1)) }, []int{2, 3, 4, 5, 6, 7, 8, 9, 10}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, met(tt.policy, chaos.OpRenew, 10)); diff != "" {
				t.Errorf("calls that meet a fault (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFirstWins(t *testing.T) {
	p := chaos.First(chaos.Every(2, chaos.LostAnswer), chaos.Every(3, chaos.Unavailable))
	for n, want := range map[int]chaos.Fault{2: chaos.LostAnswer, 3: chaos.Unavailable, 6: chaos.LostAnswer, 7: {}} {
		if got := p(chaos.Call{N: n}); got != want {
			t.Errorf("fault of call %d = %v, want %v", n, got, want)
		}
	}
}

func TestDuring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := time.Now().Add(time.Minute)
		p := chaos.During(from, from.Add(time.Second), chaos.Always(chaos.Unavailable))
		for _, step := range []struct {
			wait time.Duration
			want chaos.Fault
		}{
			{0, chaos.Fault{}},
			{time.Minute - 1, chaos.Fault{}},
			{1, chaos.Unavailable},
			{time.Second - 1, chaos.Unavailable},
			{1, chaos.Fault{}},
		} {
			time.Sleep(step.wait)
			if got := p(chaos.Call{N: 1}); got != step.want {
				t.Errorf("fault at %v from the beginning = %v, want %v", time.Since(from), got, step.want)
			}
		}
	})
}

// The draws are evenly spread, and seeds and operations have nothing to do
// with each other.
func TestWithProbabilityIsFair(t *testing.T) {
	const n = 5_000
	for _, p := range []float64{0.01, 0.3, 0.9} {
		for seed := range uint64(4) {
			a := met(chaos.WithProbability(seed, p, chaos.LostAnswer), chaos.OpRenew, n)
			b := met(chaos.WithProbability(seed, p, chaos.LostAnswer), chaos.OpAcquire, n)
			c := met(chaos.WithProbability(seed+1, p, chaos.LostAnswer), chaos.OpRenew, n)
			wantShare(t, "calls met", len(a), n, p)
			wantShare(t, "calls of two operations met", common(a, b), n, p*p)
			wantShare(t, "calls of two seeds met", common(a, c), n, p*p)
		}
	}
}

// wantShare allows five standard deviations.
func wantShare(t *testing.T, what string, got, n int, p float64) {
	t.Helper()
	slack := 5 * math.Sqrt(p*(1-p)*float64(n))
	if math.Abs(float64(got)-p*float64(n)) > slack {
		t.Errorf("%s: %d of %d, want %.0f ± %.0f", what, got, n, p*float64(n), slack)
	}
}

func common(a, b []int) (n int) {
	seen := map[int]bool{}
	for _, i := range a {
		seen[i] = true
	}
	for _, i := range b {
		if seen[i] {
			n++
		}
	}
	return n
}

// SetPolicy counts anew, so that a test can say "the next two renewals".
func TestSetPolicyCountsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := faulty(t, nil)
		for range 5 {
			s.Status(t.Context(), "r")
		}
		s.SetPolicy(chaos.Between(1, 2, chaos.Unavailable))
		for i, want := range []error{leasehold.ErrUnavailable, leasehold.ErrUnavailable, nil} {
			_, err := s.Status(t.Context(), "r")
			wantError(t, "Status(r) number "+string(rune('1'+i)), err, want)
		}
		if got := s.Calls()[chaos.OpStatus]; got != 3 {
			t.Errorf("Calls()[status] = %d, want 3", got)
		}
		s.SetPolicy(nil)
		_, err := s.Status(t.Context(), "r")
		wantError(t, "Status(r) without a policy", err, nil)
	})
}

// A scripted policy may change the policy: it is called without a lock.
func TestPolicyMayReplaceItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := faulty(t, nil)
		s.SetPolicy(func(chaos.Call) chaos.Fault {
			s.SetPolicy(nil)
			return chaos.Unavailable
		})
		_, err := s.Status(t.Context(), "r")
		wantError(t, "first Status(r)", err, leasehold.ErrUnavailable)
		_, err = s.Status(t.Context(), "r")
		wantError(t, "second Status(r)", err, nil)
	})
}
