package leasehold_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
)

func TestStates(t *testing.T) {
	for _, tt := range []struct {
		state  leasehold.State
		name   string
		locked bool
	}{
		{leasehold.StateAvailable, "available", false},
		{leasehold.StateActive, "active", true},
		{leasehold.StateBreaking, "breaking", true},
		{leasehold.StateReleased, "released", false},
		{leasehold.StateExpired, "expired", false},
		{leasehold.StateBroken, "broken", false},
	} {
		if got := tt.state.String(); got != tt.name {
			t.Errorf("String() = %q, want %q", got, tt.name)
		}
		if got := tt.state.Locked(); got != tt.locked {
			t.Errorf("%s.Locked() = %t, want %t", tt.name, got, tt.locked)
		}
		if got, err := leasehold.ParseState(tt.name); got != tt.state || err != nil {
			t.Errorf("ParseState(%q) = %v, %v; want %v", tt.name, got, err, tt.state)
		}
		if got, err := json.Marshal(tt.state); string(got) != `"`+tt.name+`"` || err != nil {
			t.Errorf("json.Marshal(%v) = %s, %v; want its name", tt.state, got, err)
		}
		if tt.state == leasehold.StateBroken {
			verifyNoState(t, tt.state+1)
		}
	}
	verifyNoState(t, 255)
}

func verifyNoState(t *testing.T, s leasehold.State) {
	t.Helper()
	if !strings.HasPrefix(s.String(), "State(") || s.Locked() {
		t.Errorf("State(%d): String() = %q, Locked() = %t; want State(…), false", uint8(s), s, s.Locked())
	}
	if _, err := leasehold.ParseState(s.String()); err == nil {
		t.Errorf("ParseState(%q) succeeded", s)
	}
}

func TestParseStateRefuses(t *testing.T) {
	for _, name := range []string{"", "Active", "leased", "pending", "active ", "state(1)", strings.Repeat("a", 5000)} {
		got, err := leasehold.ParseState(name)
		if !errors.Is(err, leasehold.ErrInvalid) || got != leasehold.StateAvailable {
			t.Errorf("ParseState(%.20q) = %v, %v; want ErrInvalid", name, got, err)
			continue
		}
		verifyInvalid(t, err, "status", "available", "active", "breaking", "released", "expired", "broken")
		if len(err.Error()) > 300 {
			t.Errorf("ParseState of %d bytes answers with %d bytes, want a short message", len(name), len(err.Error()))
		}
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		name    string
		lease   *leasehold.Lease
		locked  bool
		current bool // token 7 may act
	}{
		{"never leased", nil, false, false},
		{"active", &leasehold.Lease{State: leasehold.StateActive, Token: 7}, true, true},
		{"active, another's", &leasehold.Lease{State: leasehold.StateActive, Token: 8}, true, false},
		{"breaking", &leasehold.Lease{State: leasehold.StateBreaking, Token: 7}, true, true},
		{"released", &leasehold.Lease{State: leasehold.StateReleased, Token: 7}, false, false},
		{"expired", &leasehold.Lease{State: leasehold.StateExpired, Token: 7}, false, false},
		{"broken", &leasehold.Lease{State: leasehold.StateBroken, Token: 7}, false, false},
	} {
		s := leasehold.Status{Lease: tt.lease}
		if got := s.Locked(); got != tt.locked {
			t.Errorf("%s: Locked() = %t, want %t", tt.name, got, tt.locked)
		}
		if got := s.Check(7); got != tt.current {
			t.Errorf("%s: Check(7) = %t, want %t", tt.name, got, tt.current)
		}
	}
}

// TestMaxToken: a token must survive languages whose only number is a float.
func TestMaxToken(t *testing.T) {
	if leasehold.MaxToken != 9007199254740991 {
		t.Errorf("MaxToken = %d, want 2^53 - 1", uint64(leasehold.MaxToken))
	}
}
