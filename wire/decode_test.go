package wire

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
)

// ourGrants are answers as our server sends them: the shortcuts must read these.
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
		FromLease(l), FromLease(endless), FromGrant(leasehold.Grant{Lease: l, Idempotent: true}, false),
		FromGrant(leasehold.Grant{Lease: l, Waited: time.Hour}, true), Released{Success: true, Lease: FromLease(l)},
	}
}

func TestScanGrantReadsOurAnswers(t *testing.T) {
	for _, a := range ourGrants() {
		text, _ := json.Marshal(a)
		text = append(text, '\n')
		got, ok := scanGrant(text)
		var want Grant
		_ = json.Unmarshal(text, &want)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("scanGrant(%s) = %v (-json +scan):\n%s", text, ok, diff)
		}
		var l Lease
		if err := Decode(text, &l); err != nil || l.Token != leasehold.MaxToken {
			t.Errorf("Decode(%s) = %+v, %v", text, l, err)
		}
	}
}

func TestDecodeOtherGrants(t *testing.T) {
	for _, text := range []string{
		`{"resource":"\u0041"}`, `{"resource":"ü"}`, ` {"resource":"A"}`, `{"new_field":[1],"token":7}`, `{"TOKEN":7}`, `{"ttl_seconds":1e3}`,
		`{"token":7,"claims":[{"namespace":"repo","pattern":"src/**","mode":"shared"}]}`, `{"token":7,"notes":[{"from":"a","text":"b"}]}`, `{"claims":null}`,
	} {
		if _, ok := scanGrant([]byte(text)); ok {
			t.Errorf("scanGrant(%s) = success, want it left to encoding/json", text)
		}
		if err := Decode([]byte(text), new(Grant)); err != nil {
			t.Errorf("Decode(%s) = %v, want success", text, err)
		}
	}
}

// FuzzScanGrant: what scanGrant reads, encoding/json reads alike.
func FuzzScanGrant(f *testing.F) {
	for _, a := range ourGrants() {
		text, _ := json.Marshal(a)
		f.Add(text)
	}
	f.Add([]byte(`{"token":7,"claims":[{"pattern":"a","mode":"exclusive"}],"notes":[]}`))
	f.Add([]byte(`{"token":01,"ttl_seconds":-0.5,"success":false,"metadata":{},"expires_at":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := scanGrant(text)
		if !ok {
			return
		}
		var want Grant
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("scan reads %q, which encoding/json refuses: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("scan and encoding/json read %q differently (-json +scan):\n%s", text, diff)
		}
	})
}

// The lease of several resources takes the way of encoding/json, alone and in a batch.
func TestDecodeClaims(t *testing.T) {
	l := owned()
	l.Resource, l.Claims = "__set__7", append(leasehold.Paths("repo", "src/**"), leasehold.Claim{Pattern: "go.mod", Mode: leasehold.Shared})
	l.Notes = []leasehold.Note{{From: "ci:41", Text: "tests\nfail"}}
	text, err := FromGrant(leasehold.Grant{Lease: l}, false).AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	batch, _ := BatchAnswer{Answers: []Answer{{Status: 201, Body: text}}}.AppendJSON(nil)
	var answers BatchAnswer
	if err := Decode(batch, &answers); err != nil || len(answers.Answers) != 1 {
		t.Fatalf("Decode(%s) = %v, %v", batch, answers, err)
	}
	for _, text := range [][]byte{text, answers.Answers[0].Body} {
		var w Grant
		if err := Decode(text, &w); err != nil {
			t.Fatalf("Decode(%s) = %v", text, err)
		}
		g, err := w.Grant(false)
		if diff := cmp.Diff(inUTC(l), g.Lease); diff != "" || err != nil {
			t.Errorf("Decode(%s) = %v (-sent +received):\n%s", text, err, diff)
		}
	}
}

func TestScanBatchReadsOurAnswers(t *testing.T) {
	var w BatchAnswer
	for _, a := range ourGrants() {
		text, _ := json.Marshal(a)
		w.Answers = append(w.Answers, Answer{Status: 201, Body: text})
	}
	w.Answers = append(w.Answers, Answer{Status: 409, Body: []byte(`{"detail":"held by \"}]\\\" {","current":{"metadata":{}}}`)})
	text, _ := json.Marshal(w)
	if got, ok := scanBatch(append(text, '\n')); !ok || cmp.Diff(w, got) != "" {
		t.Errorf("scanBatch(%s) = %v, %v", text, got, ok)
	}
}

func TestDecodeOtherBatches(t *testing.T) {
	for _, text := range []string{
		` {"answers":[{"status":200,"body":{}}]}`, `{"answers":[{"body":{},"status":200}]}`, `{"answers":[{"status":200,"body":[]}]}`,
		`{"answers":[{"status":200,"body":{}}],"new_field":1}`, `{"answers":[{"status":200,"body":{ }, "x":1}]}`,
	} {
		if _, ok := scanBatch([]byte(text)); ok {
			t.Errorf("scanBatch(%s) = success, want it left to encoding/json", text)
		}
		var w BatchAnswer
		if err := Decode([]byte(text), &w); err != nil || len(w.Answers) != 1 || w.Answers[0].Status != 200 {
			t.Errorf("Decode(%s) = %v, %v; want one answer", text, w, err)
		}
	}
	for _, text := range []string{``, `{"answers":[`, `{"answers":[{"status":200,"body":{`, `{"answers":[{"status":200,"body":"}"}`} {
		var w BatchAnswer
		if err := Decode([]byte(text), &w); err == nil || w.Answers != nil {
			t.Errorf("Decode(%s) = %v, %v; want an error", text, w, err)
		}
	}
}

// FuzzScanBatch: what scanBatch reads, encoding/json reads alike, unless a body
// is not JSON, which scanBatch does not check.
func FuzzScanBatch(f *testing.F) {
	f.Add([]byte(`{"answers":[{"status":201,"body":{"a":"\"}","b":{}}},{"status":404,"body":{}}]}` + "\n"))
	f.Add([]byte(`{"answers":[{"status":-1,"body":{"a":[{}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := scanBatch(text)
		if !ok {
			return
		}
		for _, a := range got.Answers {
			if !json.Valid(a.Body) {
				return
			}
		}
		var want BatchAnswer
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("scan reads %q, which encoding/json refuses: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("scan and encoding/json read %q differently (-json +scan):\n%s", text, diff)
		}
	})
}
