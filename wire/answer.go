package wire

import (
	"time"

	"github.com/leasehold/leasehold"
)

// Leases is the answer to GET /v1/leases.
type Leases struct {
	Leases     []Lease `json:"leases"`
	NextCursor string  `json:"next_cursor" doc:"Empty on the last page."`
}

// FromLeasePage converts a page.
func FromLeasePage(p leasehold.LeasePage) Leases {
	return Leases{Leases: convert(p.Leases, FromLease), NextCursor: p.Cursor}
}

// Page is the inverse of FromLeasePage.
func (w Leases) Page() (leasehold.LeasePage, error) {
	leases, err := convertBack(w.Leases, Lease.Lease)
	return leasehold.LeasePage{Leases: leases, Cursor: w.NextCursor}, err
}

// Resource is the answer to GET /v1/resource.
type Resource struct {
	Resource string  `json:"resource"`
	Locked   bool    `json:"locked"`
	Lease    *Lease  `json:"lease" doc:"The current lease, or the last one while it is remembered."`
	Leases   []Lease `json:"leases,omitempty" doc:"All live leases that cover the resource, by token, where one of several resources or a shared one does."`
	Waiters  []Place `json:"waiters"`
}

// Place is one waiter.
type Place struct {
	Holder   string    `json:"holder"`
	Priority int       `json:"priority"`
	Since    time.Time `json:"since"`
	Position int       `json:"position"`
}

// FromStatus converts a status.
func FromStatus(s leasehold.Status) Resource {
	w := Resource{Resource: s.Resource, Locked: s.Locked(), Waiters: make([]Place, len(s.Waiters))}
	if s.Lease != nil {
		w.Lease = new(FromLease(*s.Lease))
	}
	if len(s.Leases) > 0 {
		w.Leases = convert(s.Leases, FromLease)
	}
	for i, p := range s.Waiters {
		w.Waiters[i] = Place(p)
		w.Waiters[i].Since = p.Since.UTC()
	}
	return w
}

// Status is the inverse of FromStatus.
func (w Resource) Status() (leasehold.Status, error) {
	s := leasehold.Status{Resource: w.Resource}
	if w.Lease != nil {
		l, err := w.Lease.Lease()
		if err != nil {
			return s, err
		}
		s.Lease = &l
	}
	var err error
	if s.Leases, err = convertBack(w.Leases, Lease.Lease); err != nil {
		return s, err
	}
	for _, p := range w.Waiters {
		s.Waiters = append(s.Waiters, leasehold.Place(p))
	}
	return s, nil
}

// Record is one line of the history.
type Record struct {
	Seq      uint64            `json:"seq"`
	At       time.Time         `json:"at"`
	Event    string            `json:"event"`
	Resource string            `json:"resource"`
	Holder   string            `json:"holder"`
	Token    uint64            `json:"token"`
	Before   string            `json:"status_before"`
	After    string            `json:"status_after"`
	Renewals int               `json:"renewals"`
	Reason   string            `json:"reason"`
	Details  map[string]string `json:"details"`
}

// FromRecord converts a record.
func FromRecord(r leasehold.Record) Record {
	w := Record{
		Seq: r.Seq, At: r.At.UTC(), Event: string(r.Kind), Resource: r.Resource, Holder: r.Holder, Token: r.Token,
		Before: r.Before.String(), After: r.After.String(), Renewals: r.Renewals, Reason: r.Why, Details: r.Details,
	}
	if w.Details == nil {
		w.Details = map[string]string{}
	}
	return w
}

// Record is the inverse of FromRecord.
func (w Record) Record() (leasehold.Record, error) {
	r := leasehold.Record{
		Seq: w.Seq, At: w.At, Kind: leasehold.Kind(w.Event), Resource: w.Resource, Holder: w.Holder,
		Token: w.Token, Renewals: w.Renewals, Why: w.Reason,
	}
	if len(w.Details) > 0 {
		r.Details = w.Details
	}
	var err error
	if r.Before, err = leasehold.ParseState(w.Before); err != nil {
		return r, err
	}
	r.After, err = leasehold.ParseState(w.After)
	return r, err
}

// History is the answer to GET /v1/history.
type History struct {
	History    []Record `json:"history"`
	NextCursor string   `json:"next_cursor" doc:"Empty on the last page."`
}

// FromHistoryPage converts a page.
func FromHistoryPage(p leasehold.HistoryPage) History {
	return History{History: convert(p.Records, FromRecord), NextCursor: p.Cursor}
}

// Page is the inverse of FromHistoryPage.
func (w History) Page() (leasehold.HistoryPage, error) {
	records, err := convertBack(w.History, Record.Record)
	return leasehold.HistoryPage{Records: records, Cursor: w.NextCursor}, err
}

// convert converts the items of a page. None is an empty list in JSON, not null.
func convert[A, B any](all []A, one func(A) B) []B {
	converted := make([]B, len(all))
	for i, a := range all {
		converted[i] = one(a)
	}
	return converted
}

// convertBack is the inverse of convert. It stops at the first error.
func convertBack[B, A any](all []B, one func(B) (A, error)) (converted []A, _ error) {
	for _, b := range all {
		a, err := one(b)
		if err != nil {
			return nil, err
		}
		converted = append(converted, a)
	}
	return converted, nil
}

// Setting is one run-time setting as it is read.
type Setting struct {
	Key             string `json:"key"`
	Value           any    `json:"value"`
	Default         any    `json:"default"`
	Type            string `json:"type" enum:"integer,boolean"`
	Description     string `json:"description"`
	Min             *int64 `json:"min,omitempty"`
	Max             *int64 `json:"max,omitempty"`
	RequiresRestart bool   `json:"requires_restart"`
}

// Settings is the answer to GET /v1/config.
type Settings struct {
	Settings []Setting `json:"settings"`
}

// SetRequest is the body of PUT /v1/config/{key}.
type SetRequest struct {
	Value  any    `json:"value"`
	Reason string `json:"reason,omitempty" doc:"Why, for the history."`
}

// LogLevel is the body of PUT /v1/log-level, and the answer.
type LogLevel struct {
	Level string `json:"level" enum:"debug,info,warn,error"`
}

// FromSetting converts a setting.
func FromSetting(s leasehold.Setting) Setting {
	w := Setting{
		Key: s.Key, Value: s.Value, Default: s.Default, Type: s.Type(),
		Description: s.Description, RequiresRestart: s.RequiresRestart,
	}
	if w.Type == "integer" {
		w.Min, w.Max = new(s.Min), new(s.Max)
	}
	return w
}

// Setting is the inverse of FromSetting. Numbers become integers again.
func (w Setting) Setting() leasehold.Setting {
	s := leasehold.Setting{
		Key: w.Key, Value: toInteger(w.Value), Default: toInteger(w.Default),
		Description: w.Description, RequiresRestart: w.RequiresRestart,
	}
	if w.Min != nil && w.Max != nil {
		s.Min, s.Max = *w.Min, *w.Max
	}
	return s
}

func toInteger(v any) any {
	if f, ok := v.(float64); ok {
		return int64(f)
	}
	return v
}
