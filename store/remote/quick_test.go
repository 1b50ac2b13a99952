package remote

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// The shortcuts must take what our server sends, or they are worth nothing.

func ourGrants() []any {
	at := time.Date(2026, 1, 31, 12, 0, 0, 5e8, time.UTC)
	l := leasehold.Lease{
		ID: leasehold.NewID(), Resource: "deploy:prod", Holder: "ci 42", Token: leasehold.MaxToken, State: leasehold.StateActive,
		TTL: time.Minute, Remaining: 59*time.Second + 123456789, AcquiredAt: at, RenewedAt: at, ExpiresAt: at, MaxRenewals: -1,
		Metadata: map[string]string{"a": "1", "b": ""},
	}
	endless := l
	endless.TTL, endless.Remaining, endless.ExpiresAt, endless.Metadata = leasehold.Infinite, leasehold.Infinite, time.Time{}, nil
	return []any{
		wire.FromLease(l), wire.FromLease(endless), wire.FromGrant(leasehold.Grant{Lease: l, Idempotent: true}, false),
		wire.FromGrant(leasehold.Grant{Lease: l, Waited: time.Hour}, true), wire.Released{Success: true, Lease: wire.FromLease(l)},
	}
}

func TestQuickGrantTakesOurAnswers(t *testing.T) {
	for _, a := range ourGrants() {
		text, _ := json.Marshal(a)
		text = append(text, '\n')
		quick, ok := quickGrant(text)
		var careful wire.Grant
		_ = json.Unmarshal(text, &careful)
		if diff := cmp.Diff(careful, quick); diff != "" || !ok {
			t.Errorf("quickGrant(%s) = %v (-careful +quick):\n%s", text, ok, diff)
		}
		var l wire.Lease
		if err := decode(text, &l); err != nil || l.Token != leasehold.MaxToken {
			t.Errorf("decode(%s) = %+v, %v", text, l, err)
		}
	}
}

func TestDecodeOfWhatIsNotPlain(t *testing.T) {
	for _, text := range []string{
		`{"resource":"\u0041"}`, `{"resource":"ü"}`, ` {"resource":"A"}`, `{"new_field":[1],"token":7}`, `{"TOKEN":7}`, `{"ttl_seconds":1e3}`,
	} {
		if _, ok := quickGrant([]byte(text)); ok {
			t.Errorf("quickGrant(%s) = success, want it left to encoding/json", text)
		}
		if err := decode([]byte(text), new(wire.Grant)); err != nil {
			t.Errorf("decode(%s) = %v, want success", text, err)
		}
	}
}

// FuzzQuickGrant: what the shortcut reads, encoding/json reads just so.
func FuzzQuickGrant(f *testing.F) {
	for _, a := range ourGrants() {
		text, _ := json.Marshal(a)
		f.Add(text)
	}
	f.Add([]byte(`{"token":01,"ttl_seconds":-0.5,"success":false,"metadata":{},"expires_at":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		quick, ok := quickGrant(text)
		if !ok {
			return
		}
		var careful wire.Grant
		if err := json.Unmarshal(text, &careful); err != nil {
			t.Fatalf("%q is read in haste and refused with care: %v", text, err)
		}
		if diff := cmp.Diff(careful, quick); diff != "" {
			t.Fatalf("%q is read differently (-careful +quick):\n%s", text, diff)
		}
	})
}

func TestQuickAnswersTakesOurAnswers(t *testing.T) {
	var w wire.BatchAnswer
	for _, a := range ourGrants() {
		text, _ := json.Marshal(a)
		w.Answers = append(w.Answers, wire.Answer{Status: 201, Body: text})
	}
	w.Answers = append(w.Answers, wire.Answer{Status: 409, Body: []byte(`{"detail":"held by \"}]\\\" {","current":{"metadata":{}}}`)})
	text, _ := json.Marshal(w)
	if got, ok := quickAnswers(append(text, '\n')); !ok || cmp.Diff(w.Answers, got) != "" {
		t.Errorf("quickAnswers(%s) = %v, %v", text, got, ok)
	}
}

func TestAnswersThatAreNotPlain(t *testing.T) {
	for _, text := range []string{
		` {"answers":[{"status":200,"body":{}}]}`, `{"answers":[{"body":{},"status":200}]}`, `{"answers":[{"status":200,"body":[]}]}`,
		`{"answers":[{"status":200,"body":{}}],"new_field":1}`, `{"answers":[{"status":200,"body":{ }, "x":1}]}`,
	} {
		if _, ok := quickAnswers([]byte(text)); ok {
			t.Errorf("quickAnswers(%s) = success, want it left to encoding/json", text)
		}
		if got := answersIn([]byte(text)); len(got) != 1 || got[0].Status != 200 {
			t.Errorf("answersIn(%s) = %v, want one answer", text, got)
		}
	}
	for _, text := range []string{``, `{"answers":[`, `{"answers":[{"status":200,"body":{`, `{"answers":[{"status":200,"body":"}"}`} {
		if got := answersIn([]byte(text)); got != nil {
			t.Errorf("answersIn(%s) = %v, want nothing", text, got)
		}
	}
}

// FuzzQuickAnswers: what the shortcut cuts out, encoding/json finds just so,
// unless one of the answers is no JSON, which its reader will find out.
func FuzzQuickAnswers(f *testing.F) {
	f.Add([]byte(`{"answers":[{"status":201,"body":{"a":"\"}","b":{}}},{"status":404,"body":{}}]}` + "\n"))
	f.Add([]byte(`{"answers":[{"status":-1,"body":{"a":[{}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		quick, ok := quickAnswers(text)
		if !ok {
			return
		}
		for _, a := range quick {
			if !json.Valid(a.Body) {
				return
			}
		}
		var careful wire.BatchAnswer
		if err := json.Unmarshal(text, &careful); err != nil {
			t.Fatalf("%q is read in haste and refused with care: %v", text, err)
		}
		if diff := cmp.Diff(careful.Answers, quick); diff != "" {
			t.Fatalf("%q is read differently (-careful +quick):\n%s", text, diff)
		}
	})
}
