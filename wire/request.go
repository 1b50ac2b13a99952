package wire

import (
	"time"

	"github.com/leasehold/leasehold"
)

// Each body is converted by its Request method, which checks what only JSON can
// get wrong: two names of one field that differ, ids that are no UUIDs, numbers
// that no duration holds. The rules of the values are in the Validate methods of
// the store's requests, which the server calls next.
//
// The tags, besides those of package json: sent:"nonzero" marks fields that the
// server refuses where they are sent empty or as 0 (here, as in the requests of a
// store, such a field was left out), and lists without an item; or:"NAME" marks a field that is required, by
// its own name or by one of those (separated by commas); required:"NAME" says that an
// embedded type always has this field there.

// AcquireRequest is the body of POST /v1/leases/acquire.
type AcquireRequest struct {
	Resource    string            `json:"resource,omitempty" or:"file_path,resources,paths,claims" sent:"nonzero" example:"deploy:prod"`
	FilePath    string            `json:"file_path,omitempty" sent:"nonzero" doc:"Another name for resource."`
	Resources   []string          `json:"resources,omitempty" sent:"nonzero" doc:"Several resources in one lease, all or none; paths may be sent with them."`
	Mode        string            `json:"mode,omitempty" sent:"nonzero" enum:"exclusive,shared" doc:"Of resource or resources: shared lets others share it, exclusive nobody. Default: exclusive."`
	Namespace   string            `json:"namespace,omitempty" sent:"nonzero" doc:"Of the paths, which is required with them: paths of two namespaces never overlap."`
	Paths       []Path            `json:"paths,omitempty" sent:"nonzero" doc:"Patterns of the namespace in one lease, all or none."`
	Claims      []Claim           `json:"claims,omitempty" sent:"nonzero" doc:"In place of all of these: names and patterns of any namespaces, as answers have them."`
	Holder      string            `json:"holder,omitempty" or:"agent_id" sent:"nonzero" example:"ci:42"`
	AgentID     string            `json:"agent_id,omitempty" sent:"nonzero" doc:"Another name for holder."`
	TTL         *float64          `json:"ttl_seconds,omitempty" example:"60" doc:"1 to the setting max_ttl_seconds, fractions allowed; -1 means no end. Default: setting default_ttl_seconds."`
	Duration    *float64          `json:"duration,omitempty" doc:"Another name for ttl_seconds."`
	LeaseID     string            `json:"lease_id,omitempty" sent:"nonzero" doc:"A UUID that makes the request safe to repeat."`
	Metadata    map[string]string `json:"metadata,omitempty"`
	MaxRenewals *int              `json:"max_renewals,omitempty" doc:"-1 means no limit. Default: setting max_renewals."`
	Blocking    bool              `json:"blocking,omitempty" doc:"Wait in the queue while the resource is held."`
	TimeoutMS   *int64            `json:"timeout_ms,omitempty" doc:"How long to wait; 0 does not. Default: setting acquisition_timeout_ms."`
	Priority    int               `json:"priority,omitempty" doc:"-100 to 100; higher is served first."`
	Sequence    bool              `json:"sequence,omitempty" doc:"All requests of this holder are one sequence of work: a wait that would close a cycle is refused at once."`
}

// Request returns the store's request and whether to wait.
func (w AcquireRequest) Request() (r leasehold.AcquireRequest, wait bool, err error) {
	r = leasehold.AcquireRequest{Metadata: w.Metadata, MaxRenewals: w.MaxRenewals, Priority: w.Priority, Sequence: w.Sequence}
	if r.Resource, err = resource(w.Resource, w.FilePath); err != nil {
		return r, false, err
	}
	if w.hasClaims() {
		if r.Resource, r.Claims, err = w.claims(r.Resource); err != nil {
			return r, false, err
		}
	}
	if r.Holder, err = holder(w.Holder, w.AgentID); err != nil {
		return r, false, err
	}
	if r.ID, err = parseID("lease_id", w.LeaseID); err != nil {
		return r, false, err
	}
	if r.TTL, err = ttl(w.TTL, w.Duration); err != nil {
		return r, false, err
	}
	wait = w.Blocking
	if w.TimeoutMS != nil {
		if *w.TimeoutMS < 0 || *w.TimeoutMS > leasehold.MaxTimeout.Milliseconds() {
			return r, false, leasehold.Invalid("timeout_ms", "wants 0 to 86400000")
		}
		r.Timeout = time.Duration(*w.TimeoutMS) * time.Millisecond
		wait = wait && r.Timeout > 0
	}
	return r, wait, nil
}

// FromAcquire is the inverse of Request.
func FromAcquire(r leasehold.AcquireRequest, blocking bool) AcquireRequest {
	w := AcquireRequest{
		Resource: r.Resource, Holder: r.Holder, LeaseID: reveal(r.ID), Metadata: r.Metadata,
		TTL: fromTTL(r.TTL), MaxRenewals: r.MaxRenewals, Blocking: blocking, Priority: r.Priority, Sequence: r.Sequence,
		Claims: fromClaims(r.Claims),
	}
	if blocking {
		switch r.Timeout {
		case 0: // the server's default
		case leasehold.NoTimeout:
			w.TimeoutMS = new(leasehold.MaxTimeout.Milliseconds())
		default:
			w.TimeoutMS = new((r.Timeout + time.Millisecond - 1).Milliseconds()) // never less than requested
		}
	}
	return w
}

// RenewRequest is the body of POST /v1/leases/renew.
type RenewRequest struct {
	LeaseID  string   `json:"lease_id"`
	Resource string   `json:"resource,omitempty" sent:"nonzero" doc:"If sent, it must be the lease's."`
	FilePath string   `json:"file_path,omitempty" sent:"nonzero" doc:"Another name for resource."`
	TTL      *float64 `json:"ttl_seconds,omitempty" doc:"A new ttl. Default: as before."`
	Duration *float64 `json:"duration,omitempty" doc:"Another name for ttl_seconds."`
	Holder   string   `json:"holder,omitempty" sent:"nonzero" doc:"If sent, it must match the lease."`
	AgentID  string   `json:"agent_id,omitempty" sent:"nonzero" doc:"Another name for holder."`
	Token    uint64   `json:"token,omitempty" sent:"nonzero" doc:"If sent, it must match the lease."`
}

// Request returns the store's request.
func (w RenewRequest) Request() (r leasehold.RenewRequest, err error) {
	r = leasehold.RenewRequest{Token: w.Token}
	if r.Resource, err = resource(w.Resource, w.FilePath); err != nil {
		return r, err
	}
	if r.Holder, err = holder(w.Holder, w.AgentID); err != nil {
		return r, err
	}
	if r.TTL, err = ttl(w.TTL, w.Duration); err != nil {
		return r, err
	}
	r.ID, err = parseID("lease_id", w.LeaseID)
	return r, err
}

// FromRenew is the inverse of Request.
func FromRenew(r leasehold.RenewRequest) RenewRequest {
	return RenewRequest{LeaseID: reveal(r.ID), Resource: r.Resource, TTL: fromTTL(r.TTL), Holder: r.Holder, Token: r.Token}
}

// ReleaseRequest is the body of POST /v1/leases/release.
type ReleaseRequest struct {
	LeaseID  string `json:"lease_id"`
	Resource string `json:"resource,omitempty" sent:"nonzero" doc:"If sent, it must be the lease's."`
	FilePath string `json:"file_path,omitempty" sent:"nonzero" doc:"Another name for resource."`
	Holder   string `json:"holder,omitempty" sent:"nonzero" doc:"If sent, it must match the lease."`
	AgentID  string `json:"agent_id,omitempty" sent:"nonzero" doc:"Another name for holder."`
	Token    uint64 `json:"token,omitempty" sent:"nonzero" doc:"If sent, it must match the lease."`
	Reason   string `json:"reason,omitempty" doc:"Kept in the history."`
	Note     string `json:"note,omitempty" doc:"For the next holder, once."`
}

// Request returns the store's request.
func (w ReleaseRequest) Request() (r leasehold.ReleaseRequest, err error) {
	r = leasehold.ReleaseRequest{Token: w.Token, Why: w.Reason, Note: w.Note}
	if r.Resource, err = resource(w.Resource, w.FilePath); err != nil {
		return r, err
	}
	if r.Holder, err = holder(w.Holder, w.AgentID); err != nil {
		return r, err
	}
	r.ID, err = parseID("lease_id", w.LeaseID)
	return r, err
}

// FromRelease is the inverse of Request.
func FromRelease(r leasehold.ReleaseRequest) ReleaseRequest {
	return ReleaseRequest{LeaseID: reveal(r.ID), Resource: r.Resource, Holder: r.Holder, Token: r.Token, Reason: r.Why, Note: r.Note}
}

// Released is the answer to a release.
type Released struct {
	Success bool `json:"success"`
	Lease   `required:"lease_id"`
}

// ChangeRequest is the body of POST /v1/leases/change.
type ChangeRequest struct {
	LeaseID  string `json:"lease_id"`
	Proposed string `json:"proposed_lease_id"`
	Resource string `json:"resource,omitempty" sent:"nonzero" doc:"If sent, it must be the lease's."`
	Holder   string `json:"holder,omitempty" sent:"nonzero" doc:"If sent, it must match the lease."`
	Token    uint64 `json:"token,omitempty" sent:"nonzero" doc:"If sent, it must match the lease."`
}

// Request returns the store's request.
func (w ChangeRequest) Request() (r leasehold.ChangeRequest, err error) {
	r = leasehold.ChangeRequest{Resource: w.Resource, Holder: w.Holder, Token: w.Token}
	if r.ID, err = parseID("lease_id", w.LeaseID); err != nil || r.ID.IsZero() {
		return r, err // of two problems clients see the first
	}
	r.Proposed, err = parseID("proposed_lease_id", w.Proposed)
	return r, err
}

// FromChange is the inverse of Request.
func FromChange(r leasehold.ChangeRequest) ChangeRequest {
	return ChangeRequest{LeaseID: reveal(r.ID), Proposed: reveal(r.Proposed), Resource: r.Resource, Holder: r.Holder, Token: r.Token}
}

// TransferRequest is the body of POST /v1/leases/transfer.
type TransferRequest struct {
	LeaseID  string            `json:"lease_id"`
	To       string            `json:"to_holder" example:"ci:43"`
	Proposed string            `json:"proposed_lease_id,omitempty" sent:"nonzero" doc:"The new holder's id; then it is not echoed."`
	Metadata map[string]string `json:"metadata,omitzero" doc:"Replaces the metadata if sent, be it empty."`
	Resource string            `json:"resource,omitempty" sent:"nonzero" doc:"If sent, it must be the lease's."`
	Holder   string            `json:"holder,omitempty" sent:"nonzero" doc:"If sent, it must match the lease."`
	Token    uint64            `json:"token,omitempty" sent:"nonzero" doc:"If sent, it must match the lease."`
	Note     string            `json:"note,omitempty" doc:"For the new holder."`
}

// Request returns the store's request.
func (w TransferRequest) Request() (r leasehold.TransferRequest, err error) {
	r = leasehold.TransferRequest{Resource: w.Resource, To: w.To, Metadata: w.Metadata, Holder: w.Holder, Token: w.Token, Note: w.Note}
	if r.ID, err = parseID("lease_id", w.LeaseID); err != nil || r.ID.IsZero() {
		return r, err // of two problems clients see the first
	}
	r.Proposed, err = parseID("proposed_lease_id", w.Proposed)
	return r, err
}

// FromTransfer is the inverse of Request.
func FromTransfer(r leasehold.TransferRequest) TransferRequest {
	return TransferRequest{
		LeaseID: reveal(r.ID), To: r.To, Proposed: reveal(r.Proposed), Metadata: r.Metadata,
		Resource: r.Resource, Holder: r.Holder, Token: r.Token, Note: r.Note,
	}
}

// BreakRequest is the body of POST /v1/leases/break.
type BreakRequest struct {
	Resource string   `json:"resource"`
	Period   *float64 `json:"break_period_seconds,omitempty" doc:"0 to 60. Default: free at once."`
	Reason   string   `json:"reason,omitempty" doc:"Kept in the history."`
}

// Request returns the store's request.
func (w BreakRequest) Request() (leasehold.BreakRequest, error) {
	r := leasehold.BreakRequest{Resource: w.Resource, Why: w.Reason}
	if w.Period != nil {
		if !(*w.Period >= 0 && *w.Period <= leasehold.MaxBreakPeriod.Seconds()) {
			return r, leasehold.Invalid("break_period_seconds", "wants 0 to 60")
		}
		r.Period = new(duration(*w.Period))
	}
	return r, nil
}

// FromBreak is the inverse of Request.
func FromBreak(r leasehold.BreakRequest) BreakRequest {
	w := BreakRequest{Resource: r.Resource, Reason: r.Why}
	if r.Period != nil {
		w.Period = new(r.Period.Seconds())
	}
	return w
}

// Broken is the answer to a break.
type Broken struct {
	Remaining float64 `json:"remaining_seconds" doc:"How long the holder may go on; 0: the resource is free."`
	Lease     Lease   `json:"lease"`
}

// CheckRequest is the body of POST /v1/leases/check.
type CheckRequest struct {
	Resource string `json:"resource"`
	Token    uint64 `json:"token"`
}

// Checked is its answer.
type Checked struct {
	Current bool   `json:"current" doc:"Whether somebody holding this token may still act."`
	Status  string `json:"status"`
	Token   uint64 `json:"token" doc:"The newest token known; 0: none."`
}

// GetRequest is the body of POST /v1/leases/get. A secret never travels in a
// URL.
type GetRequest struct {
	LeaseID string `json:"lease_id"`
}

// Request returns the id.
func (w GetRequest) Request() (leasehold.ID, error) {
	id, err := parseID("lease_id", w.LeaseID)
	if err == nil {
		err = leasehold.ReleaseRequest{ID: id}.Validate()
	}
	return id, err
}

// ForceRequest is the body of POST /v1/holders/{holder}/release.
type ForceRequest struct {
	Reason   string `json:"reason,omitempty" doc:"Kept in the history."`
	Children bool   `json:"children,omitempty" doc:"Also for the holders whose names begin with this one's and a slash."`
}

// Forced is its answer.
type Forced struct {
	Released int `json:"released"`
}

// Cleaned is the answer to POST /v1/leases/cleanup.
type Cleaned struct {
	Expired       int `json:"expired"`
	HistoryPurged int `json:"history_purged"`
	Forgotten     int `json:"forgotten"`
}

func reveal(id leasehold.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.Reveal()
}

// parseID parses an id; that of a field left out is zero.
func parseID(field, s string) (leasehold.ID, error) {
	if s == "" {
		return leasehold.ID{}, nil
	}
	id, err := leasehold.ParseID(s)
	if e, ok := err.(*leasehold.Error); ok {
		e.Field = field
	}
	return id, err
}

func resource(name, alias string) (string, error) { return oneOf("resource", name, "file_path", alias) }

func holder(name, alias string) (string, error) { return oneOf("holder", name, "agent_id", alias) }

// oneOf returns the value of a field or of its alias, and refuses two that
// differ.
func oneOf(field, value, alias, other string) (string, error) {
	if value != "" && other != "" && value != other {
		return "", ambiguous(field, alias)
	}
	if value == "" {
		return other, nil
	}
	return value, nil
}

// ttl is oneOf for ttl_seconds and its alias. An error names the one that was
// sent.
func ttl(value, alias *float64) (time.Duration, error) {
	switch {
	case value == nil && alias == nil:
		return 0, nil
	case value != nil && alias != nil && *value != *alias:
		return 0, ambiguous("ttl_seconds", "duration")
	case value != nil:
		return leasehold.TTLSeconds(*value)
	}
	d, err := leasehold.TTLSeconds(*alias)
	if e, ok := err.(*leasehold.Error); ok {
		e.Field = "duration"
	}
	return d, err
}

func ambiguous(field, alias string) error {
	return leasehold.Invalid(alias, "is another name for %s; they differ, so send one of them", field)
}

func fromTTL(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	return new(seconds(d))
}
