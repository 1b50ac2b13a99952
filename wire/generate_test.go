package wire

import (
	"encoding/json"
	"time"

	"github.com/leasehold/leasehold"
	"pgregory.net/rapid"
)

// The values here are what a store may hold: whatever passes the limits.

func genName(most int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		for {
			name := rapid.StringN(1, 24, most).Draw(t, "name")
			if leasehold.CheckHolder(name) == nil {
				return name
			}
		}
	})
}

func genOptionalName() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), genName(leasehold.MaxHolder))
}

func genID() *rapid.Generator[leasehold.ID] {
	return rapid.Custom(func(t *rapid.T) leasehold.ID {
		var id leasehold.ID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		id[0] |= 1 // never the zero one
		return id
	})
}

func genOptionalID() *rapid.Generator[leasehold.ID] {
	return rapid.OneOf(rapid.Just(leasehold.ID{}), genID())
}

func genToken() *rapid.Generator[uint64] { return rapid.Uint64Range(0, leasehold.MaxToken) }

// genTTL draws whole milliseconds: finer ones are cut on their way.
func genTTL() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		ms := rapid.Int64Range(leasehold.MinTTL.Milliseconds(), leasehold.MaxTTL.Milliseconds()).Draw(t, "ttl")
		return rapid.SampledFrom([]time.Duration{0, leasehold.Infinite, time.Duration(ms) * time.Millisecond}).Draw(t, "which")
	})
}

// genExact draws durations to the nanosecond, or "no end".
func genExact() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.Just(leasehold.Infinite),
		rapid.Map(rapid.Int64Range(0, int64(48*24*time.Hour)), func(n int64) time.Duration { return time.Duration(n) }),
	)
}

func genMillis() *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.Int64Range(0, 86_400_000), func(n int64) time.Duration { return time.Duration(n) * time.Millisecond })
}

// genTime draws times of any zone, to the nanosecond.
func genTime() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		zone := time.FixedZone("somewhere", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		return at.In(zone)
	})
}

func genMetadata() *rapid.Generator[map[string]string] {
	return rapid.Custom(func(t *rapid.T) map[string]string {
		m := rapid.MapOfN(rapid.StringMatching(`[A-Za-z0-9_.-]{1,16}`), rapid.StringN(0, 16, 64), 0, 4).Draw(t, "metadata")
		if len(m) == 0 {
			return nil // an answer does not tell "none" and "empty" apart
		}
		return m
	})
}

func genState() *rapid.Generator[leasehold.State] {
	return rapid.Map(rapid.IntRange(0, int(leasehold.StateBroken)), func(n int) leasehold.State { return leasehold.State(n) })
}

func genLease() *rapid.Generator[leasehold.Lease] {
	return rapid.Custom(func(t *rapid.T) leasehold.Lease {
		l := leasehold.Lease{
			ID: genOptionalID().Draw(t, "id"), Resource: genName(leasehold.MaxResource).Draw(t, "resource"),
			Holder: genName(leasehold.MaxHolder).Draw(t, "holder"), Token: genToken().Draw(t, "token"),
			State: genState().Draw(t, "state"), TTL: genTTL().Draw(t, "ttl"), Remaining: genExact().Draw(t, "remaining"),
			AcquiredAt: genTime().Draw(t, "acquired"), RenewedAt: genTime().Draw(t, "renewed"),
			Renewals:    rapid.IntRange(0, leasehold.MaxMaxRenewals).Draw(t, "renewals"),
			MaxRenewals: rapid.IntRange(-1, leasehold.MaxMaxRenewals).Draw(t, "max"),
			Metadata:    genMetadata().Draw(t, "metadata"),
		}
		if l.TTL != leasehold.Infinite {
			l.ExpiresAt = genTime().Draw(t, "expires")
		}
		if rapid.IntRange(0, 3).Draw(t, "set") == 0 {
			l.Claims, l.Notes = genClaims().Draw(t, "claims"), genNotes().Draw(t, "notes")
		}
		return l
	})
}

func genClaim() *rapid.Generator[leasehold.Claim] {
	return rapid.Custom(func(t *rapid.T) leasehold.Claim {
		return leasehold.Claim{
			Namespace: genOptionalName().Draw(t, "namespace"), Pattern: genName(leasehold.MaxPattern).Draw(t, "pattern"),
			Mode: rapid.SampledFrom([]leasehold.Mode{leasehold.Exclusive, leasehold.Shared}).Draw(t, "mode"),
		}
	})
}

// genClaims draws at least one: none is a plain lease.
func genClaims() *rapid.Generator[[]leasehold.Claim] { return rapid.SliceOfN(genClaim(), 1, 4) }

func genNotes() *rapid.Generator[[]leasehold.Note] {
	return rapid.Custom(func(t *rapid.T) (notes []leasehold.Note) {
		for range rapid.IntRange(0, 2).Draw(t, "number of notes") {
			notes = append(notes, leasehold.Note{From: genName(leasehold.MaxHolder).Draw(t, "from"), Text: rapid.String().Draw(t, "text")})
		}
		return notes
	})
}

// inUTC is a lease as it arrives: the same moments, in UTC, and notes only for its
// owner.
func inUTC(l leasehold.Lease) leasehold.Lease {
	if l.ID.IsZero() {
		l.Notes = nil
	}
	l.AcquiredAt, l.RenewedAt = l.AcquiredAt.UTC(), l.RenewedAt.UTC()
	if !l.ExpiresAt.IsZero() {
		l.ExpiresAt = l.ExpiresAt.UTC()
	}
	return l
}

// overWire writes a value as JSON and reads it back.
func overWire[T any](t interface{ Fatalf(string, ...any) }, sent T) (received T) {
	text, err := json.Marshal(sent)
	if err != nil {
		t.Fatalf("Marshal(%T) = %v, want success", sent, err)
	}
	if err := json.Unmarshal(text, &received); err != nil {
		t.Fatalf("Unmarshal(%s) = %v, want success", text, err)
	}
	return received
}
