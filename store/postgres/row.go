package postgres

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// columns are a row of the table leases as it is scanned. Where there is none, all
// of them are null.
type columns struct {
	resource, holder    pgtype.Text
	id                  pgtype.UUID
	token               pgtype.Int8
	state               pgtype.Int2
	ttl                 pgtype.Int8
	ends                pgtype.Timestamptz
	acquired, renewed   pgtype.Timestamptz
	renewals, maxRenews pgtype.Int4
	metadata            pgtype.Text
	former              pgtype.UUID
	handed              pgtype.Bool
	caller              pgtype.Text
	version             pgtype.Int8
	waiting             pgtype.Timestamptz
}

// targets are where to scan, in the order of the columns in every statement.
func (c *columns) targets() []any {
	return []any{
		&c.resource, &c.holder, &c.id, &c.token, &c.state, &c.ttl, &c.ends, &c.acquired, &c.renewed,
		&c.renewals, &c.maxRenews, &c.metadata, &c.former, &c.handed, &c.caller, &c.version, &c.waiting,
	}
}

// row decodes the columns.
func (c *columns) row() machine.Row {
	return machine.Row{
		Resource: c.resource.String, Holder: c.holder.String, ID: leasehold.ID(c.id.Bytes), Token: uint64(c.token.Int64),
		State: leasehold.State(c.state.Int16), TTL: decodeTTL(c.ttl.Int64), Ends: decodeTime(c.ends),
		Acquired: decodeWall(c.acquired), Renewed: decodeWall(c.renewed),
		Renewals: c.renewals.Int32, MaxRenewals: c.maxRenews.Int32, Metadata: decodeStrings(c.metadata),
		Former: leasehold.ID(c.former.Bytes), Handed: c.handed.Bool, Caller: c.caller.String,
	}
}

// rowArguments are $1 to $17 of every statement that writes a row.
func rowArguments(row machine.Row, grant bool, version int64) []any {
	return append(make([]any, 0, 28),
		row.Resource, row.Holder, encodeID(row.ID), int64(row.Token), grant, int16(row.State), encodeTTL(row.TTL),
		encodeTime(row.Ends), encodeWall(row.Acquired), encodeWall(row.Renewed), row.Renewals, row.MaxRenewals,
		encodeStrings(row.Metadata), encodeID(row.Former), row.Handed, encodeText(row.Caller), version,
	)
}

// recordArguments are $1 to $11 of record.sql.
func recordArguments(r leasehold.Record, kept bool) []any {
	return []any{
		pgtype.Timestamptz{Time: r.At, Valid: true}, string(r.Kind), r.Resource, r.Holder, int64(r.Token),
		int16(r.Before), int16(r.After), int32(r.Renewals), encodeText(r.Why), encodeStrings(r.Details), kept,
	}
}

func decodeTTL(ms int64) time.Duration {
	if ms < 0 {
		return leasehold.Infinite
	}
	return time.Duration(ms) * time.Millisecond
}

func encodeTTL(ttl time.Duration) int64 {
	if ttl == leasehold.Infinite {
		return -1
	}
	return ttl.Milliseconds()
}

// decodeTime reads a time of the server's clock; infinity is Never.
func decodeTime(t pgtype.Timestamptz) machine.Time {
	switch t.InfinityModifier {
	case pgtype.Infinity:
		return machine.Never
	case pgtype.NegativeInfinity:
		return 0
	}
	if !t.Valid {
		return 0
	}
	return machine.Time(t.Time.UnixNano())
}

func encodeTime(t machine.Time) pgtype.Timestamptz {
	if t == machine.Never {
		return pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	}
	return pgtype.Timestamptz{Time: time.Unix(0, int64(t)), Valid: true}
}

// encodeLimit is a time that may be left out.
func encodeLimit(t machine.Time) pgtype.Timestamptz {
	if t == 0 {
		return pgtype.Timestamptz{}
	}
	return encodeTime(t)
}

func decodeWall(t pgtype.Timestamptz) int64 {
	if !t.Valid {
		return 0
	}
	return t.Time.UnixMilli()
}

func encodeWall(ms int64) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: time.UnixMilli(ms), Valid: true}
}

func decodeStrings(text pgtype.Text) map[string]string {
	if !text.Valid {
		return nil
	}
	var m map[string]string
	_ = json.Unmarshal([]byte(text.String), &m) // what another hand wrote is nothing
	return m
}

func encodeStrings(m map[string]string) pgtype.Text {
	if len(m) == 0 {
		return pgtype.Text{}
	}
	text, _ := json.Marshal(m) // strings only
	return pgtype.Text{String: string(text), Valid: true}
}

func encodeID(id leasehold.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: !id.IsZero()} }

// encodeText is null for an empty text.
func encodeText(s string) pgtype.Text { return pgtype.Text{String: s, Valid: s != ""} }

// instant is the server's time as the rules know it.
func instant(t time.Time) machine.Instant {
	return machine.Instant{Clock: machine.Time(t.UnixNano()), Wall: t.UnixMilli()}
}
