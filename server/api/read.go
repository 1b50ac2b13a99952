package api

import (
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/server/internal/rest"
	"github.com/leasehold/leasehold/wire"
)

// statusByPath serves GET /v1/leases/{resource}.
func statusByPath(c *call, _ rest.None) (wire.Resource, error) {
	return statusOf(c, c.pathValue)
}

type resourceQuery struct {
	Resource string `query:"resource,required" doc:"The resource's name." example:"deploy:prod"`
}

// statusByQuery serves GET /v1/resource.
func statusByQuery(c *call, q resourceQuery) (wire.Resource, error) {
	return statusOf(c, q.Resource)
}

func statusOf(c *call, resource string) (wire.Resource, error) {
	status, err := readStatus(c, resource)
	if err != nil {
		return wire.Resource{}, err
	}
	return wire.FromStatus(status), nil
}

// readStatus reads a resource's status. A caller that is no reader may see only
// what it may lease; of a set only the status says what that is.
func readStatus(c *call, resource string) (leasehold.Status, error) {
	if err := leasehold.CheckResource(resource); err != nil {
		return leasehold.Status{}, err
	}
	reader, named := c.caller.Has(auth.RoleReader), leasehold.Lease{Resource: resource}
	if !reader && !isSet(resource) && !mayLease(c, named) {
		return leasehold.Status{}, c.forbidden(resource)
	}
	status, err := callStore(c, c.s.store.Status, resource)
	if err == nil && !reader && isSet(resource) {
		if status.Lease != nil {
			named = *status.Lease
		}
		if !mayLease(c, named) {
			return leasehold.Status{}, c.forbidden(resource)
		}
	}
	return status, err
}

// check serves POST /v1/leases/check.
func check(c *call, in wire.CheckRequest) (wire.Checked, error) {
	if in.Token == 0 {
		return wire.Checked{}, leasehold.Invalid("token", "is missing; want the fencing token to judge")
	}
	status, err := readStatus(c, in.Resource)
	if err != nil {
		return wire.Checked{}, err
	}
	answer := wire.Checked{Current: status.Check(in.Token), Status: leasehold.StateAvailable.String()}
	if status.Lease != nil {
		answer.Status, answer.Token = status.Lease.State.String(), status.Lease.Token
	}
	for _, l := range status.Leases {
		answer.Token = max(answer.Token, l.Token)
	}
	return answer, nil
}

// pageQuery is how every list is read page by page.
type pageQuery struct {
	Limit  int    `query:"limit" doc:"1 to 1000. Default: 100."`
	Cursor string `query:"cursor" doc:"next_cursor of the page before, with the same filters."`
}

type listQuery struct {
	Resource  string            `query:"resource" doc:"Only this one, and leases of several that have it."`
	Prefix    string            `query:"prefix" doc:"Only names that begin so." example:"prod:"`
	Holder    string            `query:"holder" doc:"Only leases of this holder."`
	Namespace string            `query:"namespace" doc:"Only leases with a path in this namespace."`
	Path      string            `query:"path" doc:"And there one that overlaps with this pattern."`
	Status    []string          `query:"status" doc:"Repeated or separated by commas. Default: active,breaking." enum:"active,breaking,released,expired,broken"`
	Metadata  map[string]string `query:"metadata" doc:"Only leases with this pair; may be repeated with other keys."`
	pageQuery
}

// list serves GET /v1/leases.
func list(c *call, q listQuery) (wire.Leases, error) {
	lister, ok := c.s.store.(leasehold.Lister)
	if !ok {
		return wire.Leases{}, c.unsupported()
	}
	r := leasehold.ListRequest{
		Resource: q.Resource, Prefix: q.Prefix, Holder: q.Holder, Namespace: q.Namespace, Path: q.Path,
		Metadata: q.Metadata, Limit: q.Limit, Cursor: q.Cursor,
	}
	for _, name := range q.Status {
		state, err := leasehold.ParseState(name)
		if err != nil {
			return wire.Leases{}, err
		}
		r.States = append(r.States, state)
	}
	if err := r.ValidateAll(); err != nil {
		return wire.Leases{}, err
	}
	page, err := callStore(c, lister.List, r)
	if err != nil {
		return wire.Leases{}, err
	}
	return wire.FromLeasePage(page), nil
}

type waitsQuery struct {
	Limit int `query:"limit" doc:"1 to 1000. Default: 100."`
}

// waits serves GET /v1/waits.
func waits(c *call, q waitsQuery) (wire.Waits, error) {
	lister, ok := c.s.store.(leasehold.WaitLister)
	if !ok {
		return wire.Waits{}, c.unsupported()
	}
	if err := leasehold.CheckPageLimit(q.Limit); err != nil {
		return wire.Waits{}, err
	}
	list, err := callStore(c, lister.Waits, q.Limit)
	if err != nil {
		return wire.Waits{}, err
	}
	return wire.FromWaitList(list), nil
}

// scanWait is how much longer than others a read of the history may take: it
// waits for its turn, and others work meanwhile.
const scanWait = 10 * time.Second

type historyQuery struct {
	Resource string    `query:"resource" doc:"Only this one."`
	Prefix   string    `query:"prefix" doc:"Only names that begin so."`
	Holder   string    `query:"holder" doc:"Only records of this holder."`
	Event    string    `query:"event" doc:"Only records of this kind." enum:"acquired,renewed,released,expired,breaking,broken,changed,transferred,force_released,failed,purged,configured"`
	Since    time.Time `query:"since" doc:"From this time on."`
	Until    time.Time `query:"until" doc:"Before this time."`
	pageQuery
}

// history serves GET /v1/history.
func history(c *call, q historyQuery) (wire.History, error) {
	historian, ok := c.s.store.(leasehold.Historian)
	if !ok {
		return wire.History{}, c.unsupported()
	}
	r := leasehold.HistoryRequest{
		Resource: q.Resource, Prefix: q.Prefix, Holder: q.Holder, Kind: leasehold.Kind(q.Event),
		Since: q.Since, Until: q.Until, Limit: q.Limit, Cursor: q.Cursor,
	}
	if err := r.Validate(); err != nil {
		return wire.History{}, err
	}
	if err := c.enterScan(); err != nil {
		return wire.History{}, err
	}
	defer c.s.scans.Exit(c.caller.Name)
	page, err := callStoreFor(c, c.ctx, scanWait, historian.History, r)
	if err != nil {
		return wire.History{}, err
	}
	return wire.FromHistoryPage(page), nil
}

// enterScan refuses a read of the history if there are too many at the same time. One
// that is admitted calls scans.Exit.
func (c *call) enterScan() error {
	s := c.s
	if s.scans.Enter(c.caller.Name) {
		return nil
	}
	return c.tooMany("", fmt.Errorf("at most %d requests read the history at the same time, and %d of one caller", s.o.MaxScans, s.o.MaxScansPerCaller))
}
