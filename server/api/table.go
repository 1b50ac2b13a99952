package api

import (
	"net/http"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
)

var (
	holders   = []auth.Role{auth.RoleHolder}
	operators = []auth.Role{auth.RoleOperator}
	readers   = []auth.Role{auth.RoleReader}
	askers    = []auth.Role{auth.RoleReader, auth.RoleHolder}
)

// table is every call of the door.
func (s *Server) table() []*endpoint {
	return slices.Concat(s.leaseCalls(), s.readCalls(), s.operatorCalls(), s.ownCalls())
}

// leaseCalls are the calls of those who hold leases.
func (s *Server) leaseCalls() []*endpoint {
	return []*endpoint{
		{Method: http.MethodPost, Path: "/v1/leases/acquire", ID: "acquire", Roles: holders, Status: http.StatusCreated,
			Summary: "Acquire a lease, or wait for it. 200 when the proposed lease_id already holds it: then the ttl was restarted.",
			Request: exampleAcquire, Answer: exampleGrant, action: body(s.acquire),
			Codes: []leasehold.Reason{leasehold.ReasonHeld, leasehold.ReasonBreaking, leasehold.ReasonTimeout,
				leasehold.ReasonIDInUse, leasehold.ReasonExpired, leasehold.ReasonReleased, leasehold.ReasonBroken,
				leasehold.ReasonMaxRenewals, leasehold.ReasonSuperseded, leasehold.ReasonBlockingDisabled,
				leasehold.ReasonDeadlock, leasehold.ReasonTooMany, leasehold.ReasonUnsupported}},
		{Method: http.MethodPost, Path: "/v1/leases/renew", ID: "renew", Roles: holders, Status: http.StatusOK,
			Summary: "Restart the ttl of an active lease.",
			Request: wire.RenewRequest{LeaseID: exampleID}, Answer: wire.Owned{Lease: exampleLease}, action: body(s.renew),
			Codes: append([]leasehold.Reason{leasehold.ReasonMaxRenewals}, byID...)},
		{Method: http.MethodPost, Path: "/v1/leases/release", ID: "release", Roles: holders, Status: http.StatusOK,
			Summary: "Give a lease back. The next in the queue has it in the same instant.",
			Request: wire.ReleaseRequest{LeaseID: exampleID}, Answer: exampleReleased, action: body(s.release), Codes: byID},
		{Method: http.MethodPost, Path: "/v1/leases/change", ID: "change", Roles: holders, Status: http.StatusOK,
			Summary: "Swap the id of an active lease for a proposed one.",
			Request: wire.ChangeRequest{LeaseID: exampleID, Proposed: exampleNewID}, Answer: wire.Owned{Lease: exampleChanged}, action: body(s.change),
			Codes: slices.Concat(byID, optional, []leasehold.Reason{leasehold.ReasonIDInUse})},
		{Method: http.MethodPost, Path: "/v1/leases/transfer", ID: "transfer", Roles: holders, Status: http.StatusOK,
			Summary: "Hand an active lease to another holder without a gap. It has a new id and a new token.",
			Request: wire.TransferRequest{LeaseID: exampleID, To: "ci:43"}, Answer: exampleTransferred, action: body(s.transfer),
			Codes: slices.Concat(byID, optional, []leasehold.Reason{leasehold.ReasonIDInUse})},
		{Method: http.MethodPost, Path: "/v1/leases/get", ID: "get", Roles: holders, Status: http.StatusOK,
			Summary: "The lease behind an id, in any status still known.",
			Request: wire.GetRequest{LeaseID: exampleID}, Answer: wire.Owned{Lease: exampleLease}, action: body(s.get),
			Codes: append([]leasehold.Reason{leasehold.ReasonNotFound}, optional...)},
		{Method: http.MethodPost, Path: "/v1/leases/check", ID: "check", Roles: askers, Status: http.StatusOK,
			Summary: "May somebody who holds this token still act?",
			Request: wire.CheckRequest{Resource: "deploy:prod", Token: 42}, Answer: wire.Checked{Current: true, Status: "active", Token: 42},
			action: body(s.check)},
		{Method: http.MethodPost, Path: "/v1/leases/batch", ID: "batch", Roles: holders, Status: http.StatusOK,
			Summary: "Up to 256 acquires, renewals and releases in one request, each answered as if it had come alone, none of them waiting. They have no order among themselves.",
			Request: exampleBatch, Answer: exampleAnswers, action: s.batchAction()},
	}
}

// batchable are the calls that a batch may be made of.
func batchable(endpoints []*endpoint) map[string]*endpoint {
	calls := map[string]*endpoint{}
	for _, e := range endpoints {
		if e.ID == "acquire" || e.ID == "renew" || e.ID == "release" {
			calls[e.ID] = e
		}
	}
	return calls
}

// readCalls are the calls of those who look.
func (s *Server) readCalls() []*endpoint {
	return []*endpoint{
		{Method: http.MethodGet, Path: "/v1/leases", ID: "list", Roles: readers, Status: http.StatusOK,
			Summary: "Active and breaking leases, or those of the statuses asked for, by resource.",
			Answer:  wire.Leases{Leases: []wire.Lease{exampleSeen}}, action: query(s.list), Codes: optional},
		{Method: http.MethodGet, Path: "/v1/resource", ID: "resource", Roles: askers, Status: http.StatusOK,
			Summary: "One resource: its lease and its queue. The form for names with odd characters.",
			Answer:  exampleResource, action: query(s.statusByQuery)},
		{Method: http.MethodGet, Path: "/v1/leases/{resource}", ID: "status", Roles: askers, Status: http.StatusOK,
			Summary: "One resource, by path. The name may hold slashes, escaped or not; it arrives as it is sent.",
			Answer:  exampleResource, action: query(s.statusByPath)},
		{Method: http.MethodGet, Path: "/v1/history", ID: "history", Roles: readers, Status: http.StatusOK,
			Summary: "What happened, newest first.",
			Answer:  wire.History{History: []wire.Record{exampleRecord}}, action: query(s.history), Codes: optional},
		{Method: http.MethodGet, Path: "/v1/events", ID: "events", Roles: readers, Status: http.StatusOK,
			Summary: "What happens, as Server-Sent Events. Each event's data is a history record and its id the record's seq; one event reset says that records are missing.",
			Codes:   optional, action: stream("text/event-stream", s.events)},
		{Method: http.MethodGet, Path: "/v1/config", ID: "settings", Roles: readers, Status: http.StatusOK,
			Summary: "The run-time settings.",
			Answer:  wire.Settings{Settings: []wire.Setting{exampleSetting}}, action: query(s.settings), Codes: optional},
	}
}

// operatorCalls are the calls of those who keep the service.
func (s *Server) operatorCalls() []*endpoint {
	return []*endpoint{
		{Method: http.MethodPost, Path: "/v1/leases/break", ID: "break", Roles: operators, Status: http.StatusAccepted,
			Summary: "End a lease without its id, at once or after a period.",
			Request: wire.BreakRequest{Resource: "deploy:prod", Period: new(10.0), Reason: "the runner is gone"},
			Answer:  wire.Broken{Remaining: 10, Lease: exampleBreaking}, action: body(s.breakLease),
			Codes: append([]leasehold.Reason{leasehold.ReasonNotFound, leasehold.ReasonExpired, leasehold.ReasonReleased, leasehold.ReasonBroken}, optional...)},
		{Method: http.MethodPost, Path: "/v1/holders/{holder}/release", ID: "force_release", Roles: operators, Status: http.StatusOK,
			Summary: "End every lease of one holder in one atomic step.",
			Request: wire.ForceRequest{Reason: "the runner is gone"}, Answer: wire.Forced{Released: 3}, action: body(s.forceRelease), Codes: optional},
		{Method: http.MethodPost, Path: "/v1/leases/cleanup", ID: "cleanup", Roles: operators, Status: http.StatusOK,
			Summary: "Tidy now. Nothing depends on it.",
			Request: none{}, Answer: wire.Cleaned{Expired: 1}, action: body(s.cleanup), Codes: optional},
		{Method: http.MethodPut, Path: "/v1/config/{key}", ID: "set", Roles: operators, Status: http.StatusOK,
			Summary: "Change a run-time setting: effective at once, kept across restarts.",
			Request: wire.SetRequest{Value: 300}, Answer: exampleSetting, action: body(s.set), Codes: optional},
		{Method: http.MethodGet, Path: "/v1/backup", ID: "backup", Roles: operators, Status: http.StatusOK,
			Summary: "A consistent copy of the running store.",
			Codes:   optional, action: stream("application/octet-stream", s.backup)},
	}
}

// ownCalls are about the server itself.
func (s *Server) ownCalls() []*endpoint {
	healthy := Health{Status: "healthy", Duration: 2}
	return []*endpoint{
		{Method: http.MethodGet, Path: "/healthz", ID: "healthz", Status: http.StatusOK,
			Summary: "Is the process alive? Another name for /health/live.", Answer: healthy, action: query(s.live)},
		{Method: http.MethodGet, Path: "/health/live", ID: "live", Status: http.StatusOK,
			Summary: "Is the process alive?", Answer: healthy, action: query(s.live)},
		{Method: http.MethodGet, Path: "/health/ready", ID: "ready", Status: http.StatusOK,
			Summary: "May traffic come here? 503 while the store does not answer and during shutdown.", Answer: healthy, action: query(s.ready)},
		{Method: http.MethodGet, Path: "/health/leasing", ID: "leasing", Status: http.StatusOK,
			Summary: "Can leases be had? Takes one and releases it. 503 when unhealthy.", Answer: healthy, action: query(s.leasingHealth)},
		{Method: http.MethodGet, Path: "/metrics", ID: "metrics", Roles: readers, Status: http.StatusOK,
			Summary: "Counters for Prometheus.", action: text("text/plain; version=0.0.4; charset=utf-8", s.metricsPage)},
		{Method: http.MethodGet, Path: "/openapi.json", ID: "openapi", Status: http.StatusOK,
			Summary: "This interface as an OpenAPI 3.1 document.", action: text("application/json", func() []byte { return s.openapi() })},
		{Method: http.MethodGet, Path: "/docs", ID: "docs", Status: http.StatusOK,
			Summary: "This interface as a page for people.", action: text("text/html; charset=utf-8", func() []byte { return s.page() })},
	}
}
