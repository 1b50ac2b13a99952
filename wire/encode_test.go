package wire

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"pgregory.net/rapid"
)

// appender is a type that encodes itself.
type appender interface {
	AppendJSON([]byte) ([]byte, error)
}

// checkAppend compares what AppendJSON and Append write with what encoding/json
// does.
func checkAppend(t interface{ Fatalf(string, ...any) }, w appender) {
	want, wantErr := json.Marshal(w)
	got, err := Append([]byte("before "), w)
	if (err == nil) != (wantErr == nil) || err == nil && string(got) != "before "+string(want) {
		t.Fatalf("Append(%#v) = %s, %v; want %s, %v", w, got, err, want, wantErr)
	}
}

func TestAppendWritesWhatEncodingJSONDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLease().Draw(t, "lease")
		g := leasehold.Grant{Lease: l, Idempotent: rapid.Bool().Draw(t, "idempotent"), Waited: genMillis().Draw(t, "waited")}
		checkAppend(t, FromLease(l))
		checkAppend(t, FromGrant(g, rapid.Bool().Draw(t, "blocking")))
		checkAppend(t, Released{Success: rapid.Bool().Draw(t, "success"), Lease: FromLease(l)})
		checkAppend(t, AcquireRequest{
			Resource: genOptionalName().Draw(t, "resource"), FilePath: genOptionalName().Draw(t, "path"), Holder: genOptionalName().Draw(t, "holder"), AgentID: genOptionalName().Draw(t, "agent"),
			TTL: optional(t, rapid.Float64()), Duration: optional(t, rapid.Float64()), LeaseID: reveal(l.ID), Metadata: l.Metadata,
			MaxRenewals: optional(t, rapid.Int()), Blocking: rapid.Bool().Draw(t, "blocks"),
			TimeoutMS: optional(t, rapid.Int64()), Priority: rapid.IntRange(-1, 1).Draw(t, "priority"),
			Resources: rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "resources"), Mode: genOptionalName().Draw(t, "mode"),
			Namespace: genOptionalName().Draw(t, "namespace"), Paths: rapid.SliceOfN(genPath(), 0, 2).Draw(t, "paths"),
			Claims: FromLease(l).Claims, Sequence: rapid.Bool().Draw(t, "sequence"),
		})
		checkAppend(t, RenewRequest{
			LeaseID: reveal(l.ID), Resource: genOptionalName().Draw(t, "resource"), FilePath: genOptionalName().Draw(t, "path"), TTL: optional(t, rapid.Float64()),
			Duration: optional(t, rapid.Float64()), Holder: l.Holder, AgentID: genOptionalName().Draw(t, "agent"), Token: l.Token,
		})
		checkAppend(t, ReleaseRequest{
			LeaseID: reveal(l.ID), Resource: genOptionalName().Draw(t, "resource"), FilePath: genOptionalName().Draw(t, "path"), Holder: l.Holder,
			AgentID: genOptionalName().Draw(t, "agent"), Token: l.Token, Reason: rapid.String().Draw(t, "reason"),
			Note: rapid.String().Draw(t, "note"),
		})
	})
}

func genPath() *rapid.Generator[Path] {
	return rapid.Custom(func(t *rapid.T) Path {
		return Path{Pattern: rapid.String().Draw(t, "pattern"), Mode: genOptionalName().Draw(t, "mode")}
	})
}

func optional[T any](t *rapid.T, g *rapid.Generator[T]) *T {
	if rapid.Bool().Draw(t, "sent") {
		return new(g.Draw(t, "value"))
	}
	return nil
}

// What cannot be written is refused, as encoding/json refuses it.
func TestAppendRefuses(t *testing.T) {
	late := time.Date(12026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, w := range []appender{
		Lease{TTL: math.NaN()}, Grant{Lease: Lease{Remaining: math.Inf(1)}}, Released{Lease: Lease{AcquiredAt: late}},
		Lease{ExpiresAt: &late, TTL: math.NaN()}, AcquireRequest{TTL: new(math.Inf(-1))}, RenewRequest{Duration: new(math.NaN())},
	} {
		if text, err := w.AppendJSON(nil); err == nil {
			t.Errorf("AppendJSON(%#v) = %s, want an error", w, text)
		}
		checkAppend(t, w)
	}
}

// FuzzAppend: strings and numbers of any kind are written as encoding/json
// writes them.
func FuzzAppend(f *testing.F) {
	f.Add("deploy:prod", 60.0, "region")
	f.Add("<&>\u2028\x00\xff\"\\\x7f", 1e-7, "")
	f.Add("ü🔑", math.Copysign(0, -1), "\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, text string, number float64, key string) {
		checkAppend(t, Lease{Resource: text, TTL: number, Metadata: map[string]string{key: text, "k": key}})
		checkAppend(t, AcquireRequest{Resource: text, Holder: key, TTL: &number, Metadata: map[string]string{text: key}})
		checkAppend(t, ReleaseRequest{LeaseID: key, Reason: text, Note: key})
		checkAppend(t, Grant{Lease: Lease{Claims: []Claim{{Namespace: key, Pattern: text, Mode: key}, {}}, Notes: []Note{{From: key, Text: text}}}})
		checkAppend(t, AcquireRequest{Resources: []string{text, key}, Mode: key, Namespace: text, Paths: []Path{{text, key}}, Claims: []Claim{{key, text, text}}, Sequence: true})
	})
}

// A type that embeds a lease needs an AppendJSON of its own: the promoted one
// writes only the lease.
func TestAppendOfWhatEmbedsALease(t *testing.T) {
	for _, w := range []appender{Grant{Idempotent: true}, Released{Success: true}} {
		checkAppend(t, w)
	}
}

// Types without AppendJSON are left to encoding/json.
func TestAppendOfOtherTypes(t *testing.T) {
	for before, want := range map[string]string{"": `{"value":7}`, "before ": `before {"value":7}`} {
		if got, err := Append([]byte(before), SetRequest{Value: 7}); err != nil || string(got) != want {
			t.Errorf("Append(%q) = %s, %v; want %s", before, got, err, want)
		}
	}
	if got, err := Append(nil, SetRequest{Value: t.Fatal}); err == nil {
		t.Errorf("Append of a function = %s, want an error", got)
	}
}

func TestGoldenBatch(t *testing.T) {
	request := BatchRequest{Operations: []Operation{{Op: "renew", Request: json.RawMessage(`{"lease_id":"x"}`)}}}
	answer := BatchAnswer{Answers: []Answer{{Status: 404, Body: json.RawMessage(`{"code":"lease_not_found"}`)}}}
	for want, body := range map[string]appender{
		`{"operations":[{"op":"renew","request":{"lease_id":"x"}}]}`:     request,
		`{"answers":[{"status":404,"body":{"code":"lease_not_found"}}]}`: answer,
	} {
		if got, err := json.Marshal(body); err != nil || string(got) != want {
			t.Errorf("Marshal(%T) = %s, %v; want %s", body, got, err, want)
		}
		checkAppend(t, body)
	}
	many := BatchRequest{Operations: []Operation{request.Operations[0], {Op: "acquire", Request: json.RawMessage(`{}`)}}}
	checkAppend(t, many)
	for _, trace := range [][2]string{{"00-ab-cd-01", "a=1"}, {"00-ab-cd-01", ""}, {"", "a=1"}, {"\"<\u2028>\\", "\x00é"}} {
		many.Operations[1].TraceParent, many.Operations[1].TraceState = trace[0], trace[1]
		checkAppend(t, many)
	}
	checkAppend(t, BatchAnswer{Answers: []Answer{answer.Answers[0], {Status: 201, Body: json.RawMessage(`{}`)}}})
}

// BenchmarkAppend measures a grant beside encoding/json.
func BenchmarkAppend(b *testing.B) {
	w := FromGrant(leasehold.Grant{Lease: owned()}, false)
	b.Run("AppendJSON", func(b *testing.B) {
		buffer := make([]byte, 0, 1024)
		b.ReportAllocs()
		for b.Loop() {
			_, _ = w.AppendJSON(buffer[:0])
		}
	})
	b.Run("Marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = json.Marshal(w)
		}
	})
}
