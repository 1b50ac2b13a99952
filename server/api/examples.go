package api

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"time"

	"github.com/leasehold/leasehold/server/internal/rest"
	"github.com/leasehold/leasehold/wire"
)

// intro is what the page says before the calls.
//
//go:embed intro.html
var intro template.HTML

// info is what the OpenAPI document says about the API as a whole.
func info(version string) rest.Info {
	return rest.Info{
		Title: "Leasehold", Version: version, Problem: exampleProblem,
		Description: "Exclusive, time-bound, fenced leases on named resources. Errors are problem documents (RFC 9457) with a stable code; /docs explains each.",
	}
}

// The examples of the document and the page are of the types that travel, so they
// cannot show a field that does not exist.
const (
	exampleID    = "0d9f6a0e-4b3c-4c52-9f0b-6f1c2a7e5d10"
	exampleNewID = "7c1b9d52-8e0f-4f6d-a3b1-2e4c6a8f0b31"
)

var (
	exampleTime = time.Date(2026, time.January, 31, 12, 0, 0, 0, time.UTC)

	exampleAcquire = wire.AcquireRequest{
		Resource: "deploy:prod", Holder: "ci:42", TTL: new(60.0), Blocking: true, TimeoutMS: new(int64(30_000)),
		Metadata: map[string]string{"region": "us-east-1"},
	}

	// exampleSeen is a lease as others than its owner see it.
	exampleSeen = wire.Lease{
		Resource: "deploy:prod", Holder: "ci:42", Token: 42, Status: "active", TTL: 60, Remaining: 60,
		AcquiredAt: exampleTime, RenewedAt: exampleTime, ExpiresAt: new(exampleTime.Add(time.Minute)),
		MaxRenewals: -1, Metadata: map[string]string{"region": "us-east-1"},
	}

	exampleLease       = with(exampleSeen, func(l *wire.Lease) { l.LeaseID = exampleID })
	exampleChanged     = with(exampleSeen, func(l *wire.Lease) { l.LeaseID = exampleNewID })
	exampleTransferred = with(exampleChanged, func(l *wire.Lease) { l.Holder, l.Token = "ci:43", 43 })
	exampleBreaking    = with(exampleSeen, func(l *wire.Lease) { l.Status, l.Remaining = "breaking", 10 })

	exampleGrant    = wire.Grant{Lease: exampleLease, WaitedMS: new(int64(0))}
	exampleReleased = wire.Released{Success: true, Lease: with(exampleLease, func(l *wire.Lease) { l.Status, l.Remaining = "released", 0 })}

	exampleBatch = wire.BatchRequest{Operations: []wire.Operation{
		{Op: "acquire", Request: raw(wire.AcquireRequest{Resources: []string{"deploy:test"}, Namespace: "repo", Paths: []wire.Path{{Pattern: "src/auth/**"}, {Pattern: "go.mod", Mode: "shared"}},
			Holder: "ci:42", TTL: new(60.0)})},
		{Op: "renew", Request: raw(wire.RenewRequest{LeaseID: exampleID})},
	}}
	exampleClaims = []wire.Claim{
		{Pattern: "deploy:test", Mode: "exclusive"},
		{Namespace: "repo", Pattern: "src/auth/**", Mode: "exclusive"}, {Namespace: "repo", Pattern: "go.mod", Mode: "shared"},
	}
	exampleAnswers = wire.BatchAnswer{Answers: []wire.Answer{
		{Status: 201, Body: raw(with(exampleChanged, func(l *wire.Lease) {
			l.Resource, l.Token, l.Metadata, l.Claims = "__set__43", 43, map[string]string{}, exampleClaims
		}))},
		{Status: 200, Body: raw(exampleLease)},
	}}

	exampleResource = wire.Resource{
		Resource: "deploy:prod", Locked: true, Lease: &exampleSeen,
		Waiters: []wire.Place{{Holder: "ci:43", Since: exampleTime, Position: 1}},
	}

	exampleWaits = wire.Waits{Total: 1, Waits: []wire.Waiter{{
		Holder: "ci:43", Since: exampleTime, Position: 1, Resource: "deploy:prod", Sequence: true,
		Behind: []wire.Blocker{{Holder: "ci:42", Resource: "deploy:prod", Token: 42, Claim: wire.Claim{Pattern: "deploy:prod", Mode: "exclusive"}}},
	}}}

	exampleRecord = wire.Record{
		Seq: 1017, At: exampleTime, Event: "acquired", Resource: "deploy:prod", Holder: "ci:42", Token: 42,
		Before: "available", After: "active", Details: map[string]string{"ends_in_ms": "60000"},
	}

	examplePast = wire.Past{
		Resource: "deploy:prod", Time: exampleTime.Add(10 * time.Second), Known: "known", Locked: true,
		Leases: []wire.PastLease{{
			Resource: "deploy:prod", Holder: "ci:42", Token: 42, Status: "active", AcquiredAt: &exampleTime,
			ExpiresAt: new(exampleTime.Add(time.Minute)), Known: "known",
		}},
		Waiters: []wire.PastWaiter{{Holder: "ci:43", Since: exampleTime, Until: exampleTime.Add(20 * time.Second), Granted: true}},
	}

	exampleSetting = wire.Setting{
		Key: "default_ttl_seconds", Value: 300, Default: 300, Type: "integer",
		Description: "the ttl of a lease when the request does not say; max_ttl_seconds, if that is less", Min: new(int64(1)), Max: new(int64(3_153_600_000)),
	}

	exampleProblem = wire.Problem{
		Type: "/docs#lease_held", Title: "Conflict", Status: 409, Code: "lease_held",
		Detail:    `acquire "deploy:prod": held by "ci:42" (token 42) for another 41s; try again in 41s`,
		Operation: "acquire", Resource: "deploy:prod", Current: &exampleSeen,
		RetryAfter: new(41.0), Waiting: new(0), RequestID: "8f14e45fceea167a",
	}
)

func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // the example holds something that is no JSON
	}
	return data
}

func with(l wire.Lease, change func(*wire.Lease)) wire.Lease {
	change(&l)
	return l
}
