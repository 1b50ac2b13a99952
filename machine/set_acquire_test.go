package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// setClaims are those of the set on record: two paths, the second of them shared, and
// a name.
func setClaims() []leasehold.Claim {
	return []leasehold.Claim{
		{Namespace: "repo", Pattern: "src/**"},
		{Namespace: "repo", Pattern: "go.mod", Mode: leasehold.Shared},
		{Pattern: resource},
	}
}

// inModes are the claims in other modes.
func inModes(claims []leasehold.Claim, modes ...leasehold.Mode) []leasehold.Claim {
	for i := range claims {
		claims[i].Mode = modes[i]
	}
	return claims
}

// setIn is A's set in a state, with its end so far from now.
func setIn(state leasehold.State, end time.Duration) machine.Row {
	row := rowIn(state, end)
	row.Resource, row.Claims = "__set__7", setClaims()
	return row
}

func setRequest(id string) leasehold.AcquireRequest {
	r := acquireRequest(id)
	r.Resource, r.Claims = "", setClaims()
	return r
}

// others are rows of other holders: of plain names and of sets.
func plainRow(name string, state leasehold.State, end time.Duration) machine.Row {
	row := rowIn(state, end)
	row.Resource, row.Holder, row.ID, row.Token = name, rival, ids["L"], 5
	return row
}

func setRow(state leasehold.State, end time.Duration, claims ...leasehold.Claim) machine.Row {
	row := plainRow("__set__5", state, end)
	row.Claims = claims
	return row
}

const shared, exclusive = leasehold.Shared, leasehold.Exclusive

func path(pattern string, m leasehold.Mode) leasehold.Claim {
	return leasehold.Claim{Namespace: "repo", Pattern: pattern, Mode: m}
}

// TestAcquireSetTable says what a request for setClaims answers, with nothing, one row
// or several in its way.
func TestAcquireSetTable(t *testing.T) {
	live := func(claims ...leasehold.Claim) machine.Row { return setRow(leasehold.StateActive, left, claims...) }
	for _, tt := range []struct {
		name      string
		conflicts []machine.Row
		want      leasehold.Reason
		blocker   int    // of the conflicts
		part      string // where they meet
		expired   int    // how many rows are written down
	}{
		{"nothing", nil, "", 0, "", 0},
		{"a plain row of a claimed name", []machine.Row{plainRow(resource, leasehold.StateActive, left)}, leasehold.ReasonHeld, 0, resource, 0},
		{"a plain row that is breaking", []machine.Row{plainRow(resource, leasehold.StateBreaking, breakLeft)}, leasehold.ReasonBreaking, 0, resource, 0},
		{"a plain row past its end", []machine.Row{plainRow(resource, leasehold.StateActive, 0)}, "", 0, "", 1},
		{"a plain row that ended", []machine.Row{plainRow(resource, leasehold.StateReleased, -agoEnded)}, "", 0, "", 0},
		{"a plain row named like a path", []machine.Row{plainRow("go.mod", leasehold.StateActive, left)}, "", 0, "", 0},
		{"a set below it", []machine.Row{live(path("src/auth/**", shared))}, leasehold.ReasonHeld, 0, "src/auth/**", 0},
		{"a set above it", []machine.Row{live(path("**", exclusive))}, leasehold.ReasonHeld, 0, "src/**", 0},
		{"a set that is breaking", []machine.Row{setRow(leasehold.StateBreaking, breakLeft, path("src/a", exclusive))}, leasehold.ReasonBreaking, 0, "src/a", 0},
		{"a set past its end", []machine.Row{setRow(leasehold.StateActive, -1, path("src/a", exclusive))}, "", 0, "", 1},
		{"a set with the same shared path", []machine.Row{live(path("go.mod", shared))}, "", 0, "", 0},
		{"a set with the shared path exclusively", []machine.Row{live(path("go.*", exclusive))}, leasehold.ReasonHeld, 0, "go.mod", 0},
		{"a set beside it", []machine.Row{live(path("docs/**", exclusive))}, "", 0, "", 0},
		{"a set of another namespace", []machine.Row{live(leasehold.Claim{Namespace: "other", Pattern: "**"})}, "", 0, "", 0},
		{"a set with the name", []machine.Row{live(leasehold.Claim{Pattern: resource, Mode: shared})}, leasehold.ReasonHeld, 0, resource, 0},
		{"one in its way behind others", []machine.Row{
			live(path("docs/**", exclusive)), plainRow("x", leasehold.StateActive, -1), plainRow(resource, leasehold.StateActive, left),
		}, leasehold.ReasonHeld, 2, resource, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, id := range []string{"none", "B"} {
				r := setRequest(id)
				o := machine.Acquire(now, r, fresh, tt.conflicts, nil, machine.Standard)
				if o.Reason != tt.want || o.Granted != (tt.want == "") || o.Idempotent {
					t.Fatalf("reason %q, granted %t, idempotent %t; want %q", o.Reason, o.Granted, o.Idempotent, tt.want)
				}
				if got := countKind(o.Steps, leasehold.KindExpired); got != tt.expired {
					t.Errorf("%d expiries are written down, want %d", got, tt.expired)
				}
				if o.Granted {
					verifySetGrant(t, r, o, tt.expired)
				} else {
					verifyBlocked(t, o, &tt.conflicts[tt.blocker], tt.part, tt.expired)
				}
			}
		})
	}
}

func countKind(steps []machine.Step, k leasehold.Kind) (n int) {
	for _, s := range steps {
		if s.Kind == k {
			n++
		}
	}
	return n
}

// setDetails is what the record of a grant of setClaims says.
const setDetails = `[{"namespace":"repo","pattern":"src/**","mode":"exclusive"},` +
	`{"namespace":"repo","pattern":"go.mod","mode":"shared"},{"pattern":"job","mode":"exclusive"}]`

// verifySetGrant checks a new set: named after its token, with all that was requested,
// in one step after the expiries.
func verifySetGrant(t *testing.T, r leasehold.AcquireRequest, o machine.Outcome, expired int) {
	t.Helper()
	want := machine.Row{
		Resource: "__set__8", Holder: r.Holder, ID: r.ID, Token: newToken,
		State: leasehold.StateActive, TTL: r.TTL, Ends: endAfter(r.TTL), Acquired: now.Wall, Renewed: now.Wall,
		MaxRenewals: int32(*r.MaxRenewals), Metadata: r.Metadata, Claims: r.Claims,
	}
	if r.ID.IsZero() {
		want.ID = fresh.ID
	}
	verifyRow(t, want, o.Row)
	steps := []machine.Step{{Row: want, Before: leasehold.StateAvailable, Kind: leasehold.KindAcquired, Details: map[string]string{"claims": setDetails}}}
	if diff := cmp.Diff(steps, o.Steps[expired:], idsByName); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// verifyBlocked checks that a refusal names the row in the way and where, and does
// nothing but write down what ended.
func verifyBlocked(t *testing.T, o machine.Outcome, blocker *machine.Row, part string, expired int) {
	t.Helper()
	if o.Blocker == nil {
		t.Fatal("the refusal names no row in the way")
	}
	verifyRow(t, *blocker, *o.Blocker)
	if o.Overlap == nil || o.Overlap.Part != part || !machine.Overlaps(o.Overlap.Requested, o.Overlap.Held) {
		t.Errorf("Overlap = %+v, want the part %q", o.Overlap, part)
	}
	if o.Reserved != "" || len(o.Steps) != expired {
		t.Errorf("reserved for %q, %d steps; want nobody, %d", o.Reserved, len(o.Steps), expired)
	}
}

// TestPlainAmongSets: a request for a name meets the sets that have it, and a refusal
// by its own row says no more than before there were sets.
func TestPlainAmongSets(t *testing.T) {
	set := setRow(leasehold.StateActive, left, leasehold.Resources("x", resource)...)
	set.Claims[1].Mode = shared
	o := machine.Acquire(now, acquireRequest("B"), fresh, []machine.Row{set}, nil, machine.Standard)
	if o.Reason != leasehold.ReasonHeld {
		t.Fatalf("Acquire of a name of a set = %q, want lease_held", o.Reason)
	}
	verifyBlocked(t, o, &set, resource, 0)
	if want := (leasehold.Overlap{Requested: leasehold.Claim{Pattern: resource}, Held: set.Claims[1], Part: resource}); *o.Overlap != want {
		t.Errorf("Overlap = %+v, want %+v", *o.Overlap, want)
	}
	o = machine.Acquire(now, acquireRequest("B"), fresh, []machine.Row{rowIn(leasehold.StateActive, left)}, nil, machine.Standard)
	if o.Reason != leasehold.ReasonHeld || o.Blocker != nil || o.Overlap != nil {
		t.Errorf("Acquire of a held name = %q by %+v at %+v; want lease_held by its own row", o.Reason, o.Blocker, o.Overlap)
	}
}

// TestNoClaims: a request with an empty list of claims is one for its name.
func TestNoClaims(t *testing.T) {
	r := acquireRequest("B")
	r.Claims = []leasehold.Claim{}
	verifyGrant(t, acquireRequest("B"), machine.Acquire(now, r, fresh, nil, nil, machine.Standard))
	row := rowIn(leasehold.StateActive, left)
	r = acquireRequest("A")
	r.Claims = []leasehold.Claim{}
	verifyCell(t, variant{row: row}, machine.Acquire(now, r, fresh, rowsOf(row), &row, machine.Standard), "active(A) same 30s renewed again")
}

// setAgainTable says what a request with a known id answers, by the state of the set
// that has it. Set and plain row are in its way as they would be in a store.
const setAgainTable = `
acquire with              | active                              | breaking        | released       | expired       | broken
A                         | active(A) same 30s renewed again    | lease_breaking  | lease_released | lease_expired | lease_broken
A, other holder           | lease_held                          | lease_breaking  | lease_released | lease_expired | lease_broken
A, other modes            | active(A) new 30s acquired          | lease_breaking  | lease_released | lease_expired | lease_broken
A, other modes and holder | lease_held                          | lease_breaking  | lease_released | lease_expired | lease_broken
A, other patterns         | lease_id_in_use                     | lease_id_in_use | lease_released | lease_expired | lease_broken
A, other order            | lease_id_in_use                     | lease_id_in_use | lease_released | lease_expired | lease_broken
A, fewer                  | lease_id_in_use                     | lease_id_in_use | lease_released | lease_expired | lease_broken
A, other namespace        | lease_id_in_use                     | lease_id_in_use | lease_released | lease_expired | lease_broken
A, plain                  | lease_id_in_use                     | lease_id_in_use | lease_released | lease_expired | lease_broken
F changed                 | lease_released                      | lease_released  | lease_released | lease_released | lease_released
`

func TestSetAgainTable(t *testing.T) {
	sets := func(t *testing.T, state string) []variant {
		all := variants(t, state)
		for i := range all {
			all[i].row.Resource = "__set__7"
			if all[i].row.State.Locked() {
				all[i].row.Claims = setClaims()
			}
		}
		return all
	}
	readTable(t, setAgainTable).each(t, sets, func(t *testing.T, with string, f variant, cell string) {
		f = withFormer(with, f)
		r := againRequest(with)
		o := machine.Acquire(now, r, fresh, []machine.Row{f.row}, &f.row, machine.Standard)
		if o.Reason == "" || o.Row.Resource == f.row.Resource {
			verifyCell(t, f, o, cell)
		} else if o.Reason != leasehold.Reason(cell) || o.Granted {
			t.Errorf("refused: %s, granted %t; want %s", o.Reason, o.Granted, cell)
		}
		if o.Granted {
			verifyUpgrade(t, r, f.row, o)
		}
	})
}

// againRequest reads the name of a row of the table.
func againRequest(with string) leasehold.AcquireRequest {
	r := setRequest(firstWord(with))
	if strings.HasSuffix(with, "holder") {
		r.Holder = rival
	}
	switch {
	case strings.Contains(with, "modes"):
		r.Claims = inModes(r.Claims, shared, exclusive, exclusive)
	case strings.Contains(with, "patterns"):
		r.Claims[0].Pattern = "src/*"
	case strings.Contains(with, "order"):
		r.Claims[0], r.Claims[1] = r.Claims[1], r.Claims[0]
	case strings.Contains(with, "fewer"):
		r.Claims = r.Claims[:2]
	case strings.Contains(with, "namespace"):
		r.Claims[0].Namespace = "other"
	case strings.Contains(with, "plain"):
		r.Resource, r.Claims = resource, nil
	}
	return r
}

// verifyUpgrade checks that an upgrade is the same lease with new modes, a new token, a
// new ttl and one renewal more.
func verifyUpgrade(t *testing.T, r leasehold.AcquireRequest, before machine.Row, o machine.Outcome) {
	t.Helper()
	want := before
	want.Claims, want.Token = r.Claims, newToken
	want.TTL, want.Ends, want.Renewed = r.TTL, endAfter(r.TTL), now.Wall
	want.Renewals++
	verifyRow(t, want, o.Row)
	last := o.Steps[len(o.Steps)-1]
	if last.Before != leasehold.StateActive || last.Details["replaces_token"] != "7" || !strings.Contains(last.Details["claims"], `"shared"`) {
		t.Errorf("the record is from %s with %v; want active, replaces_token 7 and the claims", last.Before, last.Details)
	}
	if o.Idempotent || o.Blocker != nil || o.Overlap != nil {
		t.Errorf("Idempotent %t, Blocker %v, Overlap %v; want none of them", o.Idempotent, o.Blocker, o.Overlap)
	}
}

// TestSameIDOtherHolder: the refusal says where the claims meet, as any other between
// sets.
func TestSameIDOtherHolder(t *testing.T) {
	row := setIn(leasehold.StateActive, left)
	r := setRequest("A")
	r.Holder = rival
	o := machine.Acquire(now, r, fresh, []machine.Row{row}, &row, machine.Standard)
	want := &leasehold.Overlap{Requested: r.Claims[0], Held: row.Claims[0], Part: "src/**"}
	if diff := cmp.Diff(want, o.Overlap); diff != "" || o.Reason != leasehold.ReasonHeld || o.Blocker != nil {
		t.Errorf("Acquire = %q by %v; want lease_held by the row itself; overlap (-want +got):\n%s", o.Reason, o.Blocker, diff)
	}
}

// TestUpgrade: an upgrade passes its own lease and all reservations, and is refused by
// what others hold. A downgrade is refused by nothing.
func TestUpgrade(t *testing.T) {
	own := setIn(leasehold.StateActive, left)
	own.Claims = inModes(own.Claims, shared, shared, shared)
	everything := []machine.Reservation{{Holder: rival, Claims: leasehold.Paths("repo", "**")}, {Holder: rival, Claims: leasehold.Resources(resource)}}
	upgrade, downgrade := setRequest("A"), setRequest("A")
	downgrade.Claims = inModes(downgrade.Claims, shared, shared, exclusive)
	reader := setRow(leasehold.StateActive, left, path("src/a", shared))

	o := machine.AcquireBehind(now, upgrade, fresh, []machine.Row{own}, everything, &own, machine.Standard)
	verifyUpgrade(t, upgrade, own, o)

	o = machine.AcquireBehind(now, upgrade, fresh, []machine.Row{own, reader}, everything, &own, machine.Standard)
	if o.Reason != leasehold.ReasonHeld || o.Granted || len(o.Steps) != 0 {
		t.Fatalf("an upgrade beside a reader = %q, granted %t, %d steps; want lease_held", o.Reason, o.Granted, len(o.Steps))
	}
	verifyBlocked(t, o, &reader, "src/a", 0)
	verifyRow(t, own, o.Row)

	strong := setIn(leasehold.StateActive, left)
	o = machine.AcquireBehind(now, downgrade, fresh, []machine.Row{strong}, everything, &strong, machine.Standard)
	verifyUpgrade(t, downgrade, strong, o)
}

// TestUpgradeLimits: an upgrade counts as a renewal, and is no lease more.
func TestUpgradeLimits(t *testing.T) {
	row := setIn(leasehold.StateActive, left)
	r := setRequest("A")
	r.Claims = inModes(r.Claims, shared, shared, shared)
	full := fresh
	full.Full, full.FullAt = leasehold.SettingMaxLeases, 7
	verifyUpgrade(t, r, row, machine.Acquire(now, r, full, []machine.Row{row}, &row, machine.Standard))

	row.MaxRenewals = row.Renewals
	verifyRefusal(t, row, machine.Acquire(now, r, fresh, []machine.Row{row}, &row, machine.Standard), leasehold.ReasonMaxRenewals)
	row.MaxRenewals++
	once := machine.Acquire(now, r, fresh, []machine.Row{row}, &row, machine.Standard)
	verifyUpgrade(t, r, row, once)
	again := machine.Acquire(now, r, fresh, []machine.Row{once.Row}, &once.Row, machine.Standard)
	verifyRefusal(t, once.Row, again, leasehold.ReasonMaxRenewals)
}

// TestSetFull: where there is room for no more leases, a set is refused as a plain one
// is, but only if nothing else is in its way.
func TestSetFull(t *testing.T) {
	full := fresh
	full.Full, full.FullAt = "namespace", 7
	o := machine.Acquire(now, setRequest("B"), full, nil, nil, machine.Standard)
	if o.Reason != leasehold.ReasonTooMany || o.Field != "namespace" || o.Problem != "7" || len(o.Steps) != 0 {
		t.Errorf("Acquire = %q (%s %s), %d steps; want too_many_leases (namespace 7)", o.Reason, o.Field, o.Problem, len(o.Steps))
	}
	blocker := plainRow(resource, leasehold.StateActive, left)
	o = machine.Acquire(now, setRequest("B"), full, []machine.Row{blocker}, nil, machine.Standard)
	if o.Reason != leasehold.ReasonHeld {
		t.Errorf("Acquire of what is held = %q, want lease_held: that can be waited for", o.Reason)
	}
	o = machine.AcquireBehind(now, setRequest("B"), full, nil, []machine.Reservation{{Holder: rival, Claims: setClaims()}}, nil, machine.Standard)
	if o.Reason != leasehold.ReasonHeld {
		t.Errorf("Acquire of what is reserved = %q, want lease_held: that can be waited for", o.Reason)
	}
}

// TestReservations: a request that nothing blocks waits for those ahead of it that it
// conflicts with, in any order of sets and names.
func TestReservations(t *testing.T) {
	reserve := func(claims ...leasehold.Claim) []machine.Reservation {
		return []machine.Reservation{{Holder: "cyd", Claims: leasehold.Paths("repo", "elsewhere")}, {Holder: rival, Claims: claims}}
	}
	for _, tt := range []struct {
		name    string
		request leasehold.AcquireRequest
		ahead   []machine.Reservation
		part    string // empty: granted
	}{
		{"nobody", setRequest("B"), nil, ""},
		{"a set that overlaps", setRequest("B"), reserve(path("src/a", exclusive)), "src/a"},
		{"a shared one", setRequest("B"), reserve(path("src/a", shared)), "src/a"},
		{"both shared", setRequest("B"), reserve(path("go.mod", shared)), ""},
		{"a name", setRequest("B"), reserve(leasehold.Claim{Pattern: resource}), resource},
		{"beside", setRequest("B"), reserve(path("docs", exclusive)), ""},
		{"a plain request behind a set", acquireRequest("B"), reserve(path("x", exclusive), leasehold.Claim{Pattern: resource, Mode: shared}), resource},
		{"a plain request behind another name", acquireRequest("B"), reserve(leasehold.Claim{Pattern: "x"}), ""},
	} {
		o := machine.AcquireBehind(now, tt.request, fresh, nil, tt.ahead, nil, machine.Standard)
		if tt.part == "" {
			if o.Reason != "" || !o.Granted || o.Reserved != "" || o.Overlap != nil {
				t.Errorf("%s: %q, reserved for %q; want a grant", tt.name, o.Reason, o.Reserved)
			}
			continue
		}
		if o.Reason != leasehold.ReasonHeld || o.Reserved != rival || o.Blocker != nil || o.Granted || len(o.Steps) != 0 {
			t.Errorf("%s: %q, reserved for %q, blocked by %v; want lease_held, reserved for %q", tt.name, o.Reason, o.Reserved, o.Blocker, rival)
		} else if o.Overlap == nil || o.Overlap.Part != tt.part {
			t.Errorf("%s: Overlap = %+v, want the part %q", tt.name, o.Overlap, tt.part)
		}
	}
	blocker := plainRow(resource, leasehold.StateActive, left)
	o := machine.AcquireBehind(now, setRequest("B"), fresh, []machine.Row{blocker}, reserve(path("src/a", exclusive)), nil, machine.Standard)
	if o.Reserved != "" {
		t.Errorf("a request that a lease blocks is reserved for %q; want only the lease in its way", o.Reserved)
	}
}

// TestSetEnds: the answer that ends a set still has its claims, the row that is kept
// has none, so that it conflicts with nothing.
func TestSetEnds(t *testing.T) {
	row := setIn(leasehold.StateActive, left)
	row.Notes = []leasehold.Note{{From: rival, Text: "hi"}}
	for name, o := range map[string]machine.Outcome{
		"release":       machine.Release(now, leasehold.ReleaseRequest{ID: row.ID}, row, machine.Standard),
		"break":         machine.Break(now, leasehold.BreakRequest{}, row, machine.Standard),
		"force-release": machine.ForceRelease(now, row, ""),
	} {
		if diff := cmp.Diff(row.Claims, o.Row.Claims); diff != "" || len(o.Row.Notes) != 1 {
			t.Errorf("%s: notes %v, the answer's claims (-want +got):\n%s", name, o.Row.Notes, diff)
		}
		if kept := o.Steps[len(o.Steps)-1].Row; kept.Claims != nil || kept.Notes != nil {
			t.Errorf("%s: the row keeps %v and %v, want neither", name, kept.Claims, kept.Notes)
		}
	}
	past := setIn(leasehold.StateActive, -agoEnded)
	past.Notes = row.Notes
	if kept := machine.Expire(now, past).Steps[0].Row; kept.Claims != nil || kept.Notes != nil || past.Lease(now).Claims != nil {
		t.Errorf("an expired set keeps %v and %v, want neither", kept.Claims, kept.Notes)
	}
}
