package machine_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// withNote is a row whose holder released it with a note.
func withNote(t *testing.T, row machine.Row, text string) machine.Row {
	t.Helper()
	o := machine.Release(now, leasehold.ReleaseRequest{ID: row.ID, Note: text}, row, machine.Standard)
	if o.Reason != "" || len(o.Steps) != 1 {
		t.Fatalf("Release = %q, %d steps; want one", o.Reason, len(o.Steps))
	}
	if o.Row.Notes != nil && cmp.Equal(o.Row.Notes, o.Steps[0].Row.Notes) {
		t.Errorf("the answer to the release has its own note %v", o.Row.Notes)
	}
	return o.Steps[0].Row
}

// TestReleaseLeavesNote: the row keeps the note and what it covered, in the place of
// those that it was given itself.
func TestReleaseLeavesNote(t *testing.T) {
	for _, row := range []machine.Row{rowIn(leasehold.StateActive, left), setIn(leasehold.StateBreaking, breakLeft)} {
		row.Notes = []leasehold.Note{{From: rival, Text: "old"}}
		kept := withNote(t, row, "half\ndone")
		want := row
		want.State, want.Ends, want.Metadata = leasehold.StateReleased, now.Clock, nil
		want.Notes = []leasehold.Note{{From: holder, Text: "half\ndone"}}
		verifyRow(t, want, kept)
		without := machine.Release(now, leasehold.ReleaseRequest{ID: row.ID}, row, machine.Standard).Steps[0].Row
		if without.Notes != nil || without.Claims != nil {
			t.Errorf("a release without a note keeps %v and %v, want neither", without.Notes, without.Claims)
		}
	}
}

// TestNotesAreReadOnce: the next holder gets the notes of all that overlap, in any mode,
// and no other does.
func TestNotesAreReadOnce(t *testing.T) {
	plain := withNote(t, plainRow(resource, leasehold.StateActive, left), "plain")
	near := withNote(t, setRow(leasehold.StateActive, left, path("src/a", shared)), "near")
	both := withNote(t, setRow(leasehold.StateActive, left, path("docs/**", exclusive), path("go.mod", shared)), "both")
	far := withNote(t, setRow(leasehold.StateActive, left, path("docs/**", exclusive)), "far")
	live := setRow(leasehold.StateActive, left, path("go.mod", shared))
	live.Notes = []leasehold.Note{{From: "cyd", Text: "not yours"}}
	past := setRow(leasehold.StateActive, -1, path("src/b", exclusive))
	past.Notes = live.Notes
	near.Resource, both.Resource, far.Resource, past.Resource = "__set__1", "__set__2", "__set__3", "__set__4"

	o := machine.Acquire(now, setRequest("B"), fresh, []machine.Row{plain, near, far, both, live, past}, nil, machine.Standard)
	want := []leasehold.Note{{From: rival, Text: "plain"}, {From: rival, Text: "near"}, {From: rival, Text: "both"}}
	if diff := cmp.Diff(want, o.Row.Owned(now).Notes); diff != "" || !o.Granted {
		t.Fatalf("Acquire = %q with notes (-want +got):\n%s", o.Reason, diff)
	}
	if others := o.Row.Lease(now).Notes; others != nil {
		t.Errorf("others than the holder see the notes %v", others)
	}
	removed := map[string]bool{}
	for _, s := range o.Steps {
		if s.Kind != "" {
			continue
		}
		removed[s.Row.Resource] = true
		if s.Row.Notes != nil || s.Row.Claims != nil || s.Row.State != leasehold.StateReleased || s.Before != leasehold.StateReleased {
			t.Errorf("%s is %s after %s with notes %v, claims %v; want released with neither", s.Row.Resource, s.Row.State, s.Before, s.Row.Notes, s.Row.Claims)
		}
	}
	if diff := cmp.Diff(map[string]bool{resource: true, "__set__1": true, "__set__2": true}, removed); diff != "" {
		t.Errorf("notes are removed from (-want +got):\n%s", diff)
	}
	if plain.Notes == nil || near.Notes == nil || near.Claims == nil {
		t.Error("Acquire changed the rows it was given")
	}
}

// TestPlainNotes: a grant of the name replaces the row, so that no step removes its
// note, and reads those of sets that have the name.
func TestPlainNotes(t *testing.T) {
	own := withNote(t, rowIn(leasehold.StateActive, left), "own")
	set := withNote(t, setRow(leasehold.StateActive, left, leasehold.Resources("x", resource)...), "set")
	o := machine.Acquire(now, acquireRequest("B"), fresh, []machine.Row{own, set}, nil, machine.Standard)
	if diff := cmp.Diff([]leasehold.Note{{From: holder, Text: "own"}, {From: rival, Text: "set"}}, o.Row.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if len(o.Steps) != 2 || o.Steps[0].Row.Resource != set.Resource || o.Steps[0].Kind != "" || o.Steps[1].Kind != leasehold.KindAcquired {
		t.Errorf("steps %+v; want the set's note removed, then the grant", o.Steps)
	}
}

// TestRefusalKeepsNotes: only who is granted reads.
func TestRefusalKeepsNotes(t *testing.T) {
	note := withNote(t, plainRow(resource, leasehold.StateActive, left), "later")
	live := setRow(leasehold.StateActive, left, path("src/a", exclusive))
	full := fresh
	full.Full = leasehold.SettingMaxLeases
	for name, o := range map[string]machine.Outcome{
		"blocked":  machine.Acquire(now, setRequest("B"), fresh, []machine.Row{note, live}, nil, machine.Standard),
		"reserved": machine.AcquireBehind(now, setRequest("B"), fresh, []machine.Row{note}, []machine.Reservation{{Claims: setClaims()}}, nil, machine.Standard),
		"full":     machine.Acquire(now, setRequest("B"), full, []machine.Row{note}, nil, machine.Standard),
	} {
		if o.Reason == "" || len(o.Steps) != 0 {
			t.Errorf("%s: %q with %d steps; want a refusal with none", name, o.Reason, len(o.Steps))
		}
	}
}

// TestManyNotes: a holder gets the last sixteen, and the others are gone with them.
func TestManyNotes(t *testing.T) {
	var rows []machine.Row
	for i := range 20 {
		row := withNote(t, setRow(leasehold.StateActive, left, path("src/a", shared)), fmt.Sprint(i))
		row.Resource = leasehold.SetPrefix + strconv.Itoa(i)
		rows = append(rows, row)
	}
	o := machine.Acquire(now, setRequest("B"), fresh, rows, nil, machine.Standard)
	if n := len(o.Row.Notes); n != 16 || o.Row.Notes[0].Text != "4" || o.Row.Notes[15].Text != "19" {
		t.Errorf("notes %v; want the 16 from 4 to 19", o.Row.Notes)
	}
	if n := len(o.Steps); n != 21 {
		t.Errorf("%d steps, want 20 notes removed and the grant", n)
	}
}

// TestTransferNote: the new holder gets the note of the old one, and not those that the
// old one was given.
func TestTransferNote(t *testing.T) {
	row := setIn(leasehold.StateActive, left)
	row.Notes = []leasehold.Note{{From: rival, Text: "old"}}
	for text, want := range map[string][]leasehold.Note{"": nil, "go on": {{From: holder, Text: "go on"}}} {
		o := machine.Transfer(now, leasehold.TransferRequest{ID: ids["A"], To: "cyd", Proposed: ids["B"], Note: text}, fresh, row, nil, machine.Standard)
		if diff := cmp.Diff(want, o.Row.Notes); diff != "" || !o.Granted {
			t.Errorf("Transfer with note %q = %q; notes (-want +got):\n%s", text, o.Reason, diff)
		}
		if diff := cmp.Diff(row.Claims, o.Row.Claims); diff != "" {
			t.Errorf("Transfer changed the claims (-want +got):\n%s", diff)
		}
	}
}
