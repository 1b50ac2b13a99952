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

func TestModes(t *testing.T) {
	for name, want := range map[string]leasehold.Mode{"": leasehold.Exclusive, "exclusive": leasehold.Exclusive, "shared": leasehold.Shared} {
		if got, err := leasehold.ParseMode(name); got != want || err != nil {
			t.Errorf("ParseMode(%q) = %v, %v; want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"Shared", "exclusive ", "read", strings.Repeat("a", 5000)} {
		_, err := leasehold.ParseMode(name)
		if !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("ParseMode(%.20q) = %v, want ErrInvalid", name, err)
			continue
		}
		verifyInvalid(t, err, "mode", "shared or exclusive")
		if len(err.Error()) > 200 {
			t.Errorf("ParseMode of %d bytes answers with %d bytes, want a short message", len(name), len(err.Error()))
		}
	}
}

// TestClaimJSON: a claim is written as the JSON API has it, and read back.
func TestClaimJSON(t *testing.T) {
	for _, tt := range []struct {
		claim      leasehold.Claim
		json, text string
	}{
		{leasehold.Claim{Pattern: "job"}, `{"pattern":"job","mode":"exclusive"}`, "job"},
		{leasehold.Claim{Namespace: "repo", Pattern: "src/**", Mode: leasehold.Shared},
			`{"namespace":"repo","pattern":"src/**","mode":"shared"}`, "repo src/** (shared)"},
	} {
		if got, err := json.Marshal(tt.claim); string(got) != tt.json || err != nil {
			t.Errorf("json.Marshal(%v) = %s, %v; want %s", tt.claim, got, err, tt.json)
		}
		var back leasehold.Claim
		if err := json.Unmarshal([]byte(tt.json), &back); back != tt.claim || err != nil {
			t.Errorf("json.Unmarshal(%s) = %+v, %v; want %+v", tt.json, back, err, tt.claim)
		}
		if got := tt.claim.String(); got != tt.text {
			t.Errorf("String() = %q, want %q", got, tt.text)
		}
	}
	var c leasehold.Claim
	if err := json.Unmarshal([]byte(`{"pattern":"job"}`), &c); c.Mode != leasehold.Exclusive || err != nil {
		t.Errorf("a claim without a mode is %v, %v; want exclusive", c.Mode, err)
	}
	if err := json.Unmarshal([]byte(`{"pattern":"job","mode":"read"}`), &c); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("a claim with an unknown mode: %v, want ErrInvalid", err)
	}
}

func TestSeparator(t *testing.T) {
	for namespace, want := range map[string]string{"repo": "/", "services:": ":", "a:b": "/", ":": ":", "": "/", "x/": "/"} {
		if got := leasehold.Separator(namespace); got != want {
			t.Errorf("Separator(%q) = %q, want %q", namespace, got, want)
		}
	}
}

func TestMakeClaims(t *testing.T) {
	names, paths := leasehold.Resources("a", "b/*"), leasehold.Paths("repo", "src/**", "go.mod")
	for i, want := range []leasehold.Claim{{Pattern: "a"}, {Pattern: "b/*"}} {
		if len(names) != 2 || names[i] != want {
			t.Errorf("Resources(a, b/*) = %+v, want exclusive claims of the names", names)
		}
	}
	for i, want := range []leasehold.Claim{{Namespace: "repo", Pattern: "src/**"}, {Namespace: "repo", Pattern: "go.mod"}} {
		if len(paths) != 2 || paths[i] != want {
			t.Errorf("Paths(repo, src/**, go.mod) = %+v, want exclusive claims of the namespace", paths)
		}
	}
	if got := leasehold.Resources(); len(got) != 0 {
		t.Errorf("Resources() = %+v, want none", got)
	}
}

// TestStatusOfSeveral: each of the leases that cover a resource may act on it.
func TestStatusOfSeveral(t *testing.T) {
	first := leasehold.Lease{State: leasehold.StateActive, Token: 7}
	s := leasehold.Status{Lease: &first, Leases: []leasehold.Lease{first, {State: leasehold.StateActive, Token: 9}}}
	for token, want := range map[uint64]bool{7: true, 8: false, 9: true, 0: false} {
		if got := s.Check(token); got != want {
			t.Errorf("Check(%d) of a resource with the tokens 7 and 9 = %t, want %t", token, got, want)
		}
	}
}
