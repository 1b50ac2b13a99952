package api

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
)

// statusByPath serves GET /v1/leases/{resource}.
func (s *Server) statusByPath(c *call, _ none) (wire.Resource, error) {
	return s.describe(c, c.rest)
}

type resourceQuery struct {
	Resource string `query:"resource,required" doc:"The resource's name." example:"deploy:prod"`
}

// statusByQuery serves GET /v1/resource.
func (s *Server) statusByQuery(c *call, q resourceQuery) (wire.Resource, error) {
	return s.describe(c, q.Resource)
}

func (s *Server) describe(c *call, resource string) (wire.Resource, error) {
	status, err := s.look(c, resource)
	if err != nil {
		return wire.Resource{}, err
	}
	return wire.FromStatus(status), nil
}

// look asks for a resource's status. A caller that is no reader may ask only
// about what it may lease.
func (s *Server) look(c *call, resource string) (leasehold.Status, error) {
	if err := leasehold.CheckResource(resource); err != nil {
		return leasehold.Status{}, err
	}
	if !c.caller.Has(auth.RoleReader) && !c.mayLease(resource) {
		return leasehold.Status{}, c.forbidden(resource)
	}
	return within(c, func(ctx context.Context) (leasehold.Status, error) { return s.store.Status(ctx, resource) })
}

// check serves POST /v1/leases/check.
func (s *Server) check(c *call, in wire.CheckRequest) (wire.Checked, error) {
	if in.Token == 0 {
		return wire.Checked{}, invalid("token", "is missing; want the fencing token to judge")
	}
	status, err := s.look(c, in.Resource)
	if err != nil {
		return wire.Checked{}, err
	}
	answer := wire.Checked{Current: status.Check(in.Token), Status: leasehold.StateAvailable.String()}
	if status.Lease != nil {
		answer.Status, answer.Token = status.Lease.State.String(), status.Lease.Token
	}
	return answer, nil
}

type listQuery struct {
	Resource string            `query:"resource" doc:"Only this one."`
	Prefix   string            `query:"prefix" doc:"Only names that begin so." example:"prod:"`
	Holder   string            `query:"holder" doc:"Only leases of this holder."`
	Status   []string          `query:"status" doc:"Repeated or separated by commas. Default: active,breaking." enum:"active,breaking,released,expired,broken"`
	Metadata map[string]string `query:"metadata" doc:"Only leases with this pair; may be repeated with other keys."`
	Limit    int               `query:"limit" doc:"1 to 1000. Default: 100."`
	Cursor   string            `query:"cursor" doc:"next_cursor of the page before, with the same filters."`
}

// list serves GET /v1/leases.
func (s *Server) list(c *call, q listQuery) (wire.Leases, error) {
	lister, ok := s.store.(leasehold.Lister)
	if !ok {
		return wire.Leases{}, c.unsupported()
	}
	r := leasehold.ListRequest{
		Resource: q.Resource, Prefix: q.Prefix, Holder: q.Holder,
		Metadata: q.Metadata, Limit: q.Limit, Cursor: q.Cursor,
	}
	for _, name := range q.Status {
		state, err := leasehold.ParseState(name)
		if err != nil {
			return wire.Leases{}, err
		}
		r.States = append(r.States, state)
	}
	if err := r.Validate(); err != nil {
		return wire.Leases{}, err
	}
	page, err := within(c, func(ctx context.Context) (leasehold.LeasePage, error) { return lister.List(ctx, r) })
	if err != nil {
		return wire.Leases{}, err
	}
	return wire.FromLeasePage(page), nil
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
	Limit    int       `query:"limit" doc:"1 to 1000. Default: 100."`
	Cursor   string    `query:"cursor" doc:"next_cursor of the page before, with the same filters."`
}

// history serves GET /v1/history.
func (s *Server) history(c *call, q historyQuery) (wire.History, error) {
	historian, ok := s.store.(leasehold.Historian)
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
	if !s.scans.enter(c.caller.Name) {
		return wire.History{}, c.tooMany(fmt.Errorf("at most %d requests read the history at the same time, and %d of one caller", s.o.MaxScans, s.o.MaxScansPerCaller))
	}
	defer s.scans.leave(c.caller.Name)
	page, err := longer(c, c.r.Context(), scanWait, func(ctx context.Context) (leasehold.HistoryPage, error) { return historian.History(ctx, r) })
	if err != nil {
		return wire.History{}, err
	}
	return wire.FromHistoryPage(page), nil
}
