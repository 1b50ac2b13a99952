package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
)

// FuzzArguments: whatever arguments come past the schema, the answer has a next step,
// and nothing is held by another than the configured holder, or without an end.
func FuzzArguments(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"resources":["r"]}`, `{"resources":["r"],"ttl_seconds":1e308,"wait_seconds":-0.0}`, `{"resources":["blob:x","__set__1"]}`,
		`{"paths":["a/**"],"namespace":"n","mode":"shared","task":"\u0000"}`, `{"resource":"r","reason":"x","break_period_seconds":59.9999999}`,
		`{"lease_id":"00000000-0000-4000-8000-000000000001","resources":["r"],"wait_seconds":0.001}`, `{"limit":100,"since_seconds":1e15,"cursor":"x"}`,
		`{"resources":["r"],"ttl_seconds":-1}`, `{"mine":true,"prefix":"r"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		store := memory.New()
		defer store.Close()
		s := New(store, &Options{MaxWait: 1})
		ctx := withSession(t.Context(), &session{
			identity: Identity{Holder: "anna", Caller: auth.Local}, alive: t.Context(), held: newHeldLeases(),
		})
		tryArguments(t, s, ctx, "lease_acquire", text, (*call).acquire)
		tryArguments(t, s, ctx, "lease_renew", text, (*call).renew)
		tryArguments(t, s, ctx, "lease_release", text, (*call).release)
		tryArguments(t, s, ctx, "lease_status", text, (*call).status)
		tryArguments(t, s, ctx, "lease_history", text, (*call).history)
		tryArguments(t, s, ctx, "lease_break", text, (*call).breakLease)
		page, err := store.List(t.Context(), leasehold.ListRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range page.Leases {
			if l.Holder != "anna" || l.TTL == leasehold.Infinite || l.TTL < leasehold.MinTTL {
				t.Errorf("%s leased %q to %q for %v", text, l.Resource, l.Holder, l.TTL)
			}
		}
	})
}

func tryArguments[In any](t *testing.T, s *Server, ctx context.Context, tool, text string, handle func(*call, In) (Result, error)) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var in In
	if decoder.Decode(&in) != nil {
		return
	}
	c, end := s.newCall(ctx, tool)
	defer end()
	out, err := handle(c, in)
	if err != nil {
		out, _ = c.refuse(out, err)
	}
	if out.NextStep == "" || out.Granted && err != nil {
		t.Errorf("%s(%s) = %+v, %v, want a next step", tool, text, out, err)
	}
}
