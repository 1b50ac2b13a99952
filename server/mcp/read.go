package mcp

import (
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// statusArgs are the arguments of lease_status.
type statusArgs struct {
	Resource  string `json:"resource,omitempty" jsonschema:"This one: its lease and its queue."`
	Namespace string `json:"namespace,omitempty" jsonschema:"Leases on paths of this namespace. Default with path: the one that this server is configured with."`
	Path      string `json:"path,omitempty" jsonschema:"And there those that overlap with this path or pattern."`
	Prefix    string `json:"prefix,omitempty" jsonschema:"Leases on resources whose names begin so."`
	Mine      bool   `json:"mine,omitempty" jsonschema:"Only your own leases."`
	Limit     int    `json:"limit,omitempty" jsonschema:"1 to 100 leases. Default: 50."`
	Cursor    string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before, with the same other arguments."`
}

// The sizes of a page: models read every word.
const (
	defaultPage = 50
	maxPage     = 100
)

// status serves lease_status.
func (c *call) status(in statusArgs) (Result, error) {
	if in.Resource == "" {
		return c.list(in)
	}
	if in.Namespace != "" || in.Path != "" || in.Prefix != "" || in.Mine || in.Limit != 0 || in.Cursor != "" {
		return Result{}, leasehold.Invalid("resource", "is sent together with a filter; send one of them")
	}
	if err := leasehold.CheckResource(in.Resource); err != nil {
		return Result{}, err
	}
	// A set's name covers nothing itself: what it covers only the answer says.
	if err := c.checkSee(leasehold.Resources(in.Resource)); err != nil {
		return Result{}, err
	}
	status, err := callStore(c, c.s.store.Status, in.Resource)
	if err != nil {
		return Result{}, err
	}
	if status.Lease != nil {
		if err := c.checkSee(covered(*status.Lease)); err != nil && status.Lease.Resource == in.Resource {
			return Result{}, err
		}
	}
	return c.statusResult(status), nil
}

// checkSee lets a reader see all, and a holder what it could hold.
func (c *call) checkSee(claims []leasehold.Claim) error {
	if c.caller().Has(auth.RoleReader) {
		return nil
	}
	if err := c.checkRole(auth.RoleHolder); err != nil {
		return err
	}
	anyHolder := c.caller()
	anyHolder.Holders = nil
	for _, claim := range claims {
		if !isSet(claim) && !anyHolder.MayClaim("", claim) {
			return c.forbidden("the token of this client may not see %.128q", claim)
		}
	}
	return nil
}

// list answers with a page of leases. Whoever is no reader sees its own.
func (c *call) list(in statusArgs) (Result, error) {
	lister, ok := c.s.store.(leasehold.Lister)
	if !ok {
		return Result{}, c.unsupported()
	}
	r := leasehold.ListRequest{Prefix: in.Prefix, Namespace: in.Namespace, Path: in.Path, Cursor: in.Cursor}
	if in.Path != "" && in.Namespace == "" {
		r.Namespace = c.session.identity.Namespace
	}
	err := c.checkRole(auth.RoleReader)
	if in.Mine {
		r.Holder, err = c.holder(), c.session.problem
		if err == nil && !c.caller().Has(auth.RoleReader) {
			err = c.checkHolder()
		}
	}
	if err == nil {
		r.Limit, err = pageSize(in.Limit)
	}
	if err == nil {
		err = r.ValidateAll()
	}
	if err != nil {
		return Result{}, err
	}
	page, err := callStore(c, lister.List, r)
	if err != nil {
		return Result{}, err
	}
	out := Result{NextCursor: page.Cursor, NextStep: "These are the leases that are held now. What nobody holds, lease_acquire grants at once."}
	for _, l := range page.Leases {
		out.Leases = append(out.Leases, c.seen(l))
		out.Granted = out.Granted || l.Holder == c.holder() && in.Mine
	}
	switch {
	case page.Cursor != "":
		out.NextStep = "There are more: call lease_status again with cursor set to next_cursor."
	case len(page.Leases) == 0:
		out.NextStep = "There is no such lease. To have one, call lease_acquire."
	}
	return out, nil
}

func pageSize(limit int) (int, error) {
	if limit < 0 || limit > maxPage {
		return 0, leasehold.Invalid("limit", "is %d; want 1 to %d", limit, maxPage)
	}
	if limit == 0 {
		return defaultPage, nil
	}
	return limit, nil
}

// historyArgs are the arguments of lease_history.
type historyArgs struct {
	Resource string  `json:"resource,omitempty" jsonschema:"Only this resource."`
	Prefix   string  `json:"prefix,omitempty" jsonschema:"Only resources whose names begin so."`
	Event    string  `json:"event,omitempty" jsonschema:"Only acquired, renewed, released, expired, breaking, broken, changed, transferred, force_released, failed, purged or configured."`
	Since    float64 `json:"since_seconds,omitempty" jsonschema:"Only what happened in the last so many seconds."`
	Mine     bool    `json:"mine,omitempty" jsonschema:"Only what happened to your own leases."`
	Limit    int     `json:"limit,omitempty" jsonschema:"1 to 100 records. Default: 50."`
	Cursor   string  `json:"cursor,omitempty" jsonschema:"next_cursor of the page before, with the same other arguments."`
}

// history serves lease_history.
func (c *call) history(in historyArgs) (Result, error) {
	if err := c.checkRole(auth.RoleReader); err != nil {
		return Result{}, err
	}
	historian, ok := c.s.store.(leasehold.Historian)
	if !ok {
		return Result{}, c.unsupported()
	}
	r, err := c.historyRequest(in)
	if err != nil {
		return Result{}, err
	}
	if !c.s.scans.Enter(c.caller().Name) {
		return Result{}, c.tooMany()
	}
	defer c.s.scans.Exit(c.caller().Name)
	page, err := callStore(c, historian.History, r)
	if err != nil {
		return Result{}, err
	}
	out := Result{NextCursor: page.Cursor, NextStep: "That is all that is kept."}
	for _, record := range page.Records {
		out.History = append(out.History, recordOf(record))
	}
	if page.Cursor != "" {
		out.NextStep = "There is more: call lease_history again with cursor set to next_cursor."
	}
	return out, nil
}

func (c *call) historyRequest(in historyArgs) (r leasehold.HistoryRequest, err error) {
	r = leasehold.HistoryRequest{Resource: in.Resource, Prefix: in.Prefix, Kind: leasehold.Kind(in.Event), Cursor: in.Cursor}
	since, ok := duration(in.Since)
	if !ok || since < 0 {
		return r, leasehold.Invalid("since_seconds", "is %v; want a number of seconds before now", in.Since)
	}
	if since > 0 {
		r.Since = time.Now().Add(-since)
	}
	if in.Mine {
		if c.session.problem != nil {
			return r, c.session.problem
		}
		r.Holder = c.holder()
	}
	if r.Limit, err = pageSize(in.Limit); err != nil {
		return r, err
	}
	return r, r.Validate()
}
