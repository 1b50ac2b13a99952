package api

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/health"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/server/internal/rest"
	"github.com/leasehold/leasehold/wire"
)

type (
	endpoint = rest.Endpoint[*call]
	section  = rest.Section[*call]
)

var (
	holders          = []auth.Role{auth.RoleHolder}
	operators        = []auth.Role{auth.RoleOperator}
	readers          = []auth.Role{auth.RoleReader}
	readersOrHolders = []auth.Role{auth.RoleReader, auth.RoleHolder}

	operatorsOrHolders = []auth.Role{auth.RoleOperator, auth.RoleHolder}
)

// table is every call of the API. maxBody is the limit of one body in bytes.
func table(maxBody int64) []section {
	return []section{
		{Title: "Holding leases", Endpoints: leaseCalls(maxBody)},
		{Title: "Looking", Endpoints: readCalls()},
		{Title: "Operating", Endpoints: operatorCalls()},
		{Title: "The server itself", Endpoints: serverCalls()},
	}
}

// leaseCalls are for holders of leases.
func leaseCalls(maxBody int64) []*endpoint {
	return []*endpoint{
		{Method: http.MethodPost, Path: "/v1/leases/acquire", ID: "acquire", Roles: holders, Batch: true, Status: http.StatusCreated,
			Summary: "Acquire a lease of one or several resources or paths, or wait for it. 200 when the proposed lease_id already holds it: then the ttl was restarted.",
			Also:    map[int]string{http.StatusOK: "it was held already"},
			Request: exampleAcquire, Answer: exampleGrant, Handler: rest.Body(acquire),
			Codes: []leasehold.Reason{leasehold.ReasonHeld, leasehold.ReasonBreaking, leasehold.ReasonTimeout,
				leasehold.ReasonIDInUse, leasehold.ReasonExpired, leasehold.ReasonReleased, leasehold.ReasonBroken,
				leasehold.ReasonMaxRenewals, leasehold.ReasonSuperseded, leasehold.ReasonBlockingDisabled,
				leasehold.ReasonDeadlock, leasehold.ReasonTooMany, leasehold.ReasonUnsupported}},
		{Method: http.MethodPost, Path: "/v1/leases/renew", ID: "renew", Roles: holders, Batch: true, Status: http.StatusOK,
			Summary: "Restart the ttl of an active lease.",
			Request: wire.RenewRequest{LeaseID: exampleID}, Answer: wire.Owned{Lease: exampleLease}, Handler: rest.Body(renew),
			Codes: append([]leasehold.Reason{leasehold.ReasonMaxRenewals}, byID...)},
		{Method: http.MethodPost, Path: "/v1/leases/release", ID: "release", Roles: holders, Batch: true, Status: http.StatusOK,
			Summary: "Give a lease back. The next in the queue has it in the same instant.",
			Request: wire.ReleaseRequest{LeaseID: exampleID}, Answer: exampleReleased, Handler: rest.Body(release),
			Codes: slices.Concat(byID, optional)},
		{Method: http.MethodPost, Path: "/v1/leases/change", ID: "change", Roles: holders, Status: http.StatusOK,
			Summary: "Swap the id of an active lease for a proposed one.",
			Request: wire.ChangeRequest{LeaseID: exampleID, Proposed: exampleNewID}, Answer: wire.Owned{Lease: exampleChanged}, Handler: rest.Body(change),
			Codes: slices.Concat(byID, optional, []leasehold.Reason{leasehold.ReasonIDInUse})},
		{Method: http.MethodPost, Path: "/v1/leases/transfer", ID: "transfer", Roles: holders, Status: http.StatusOK,
			Summary: "Hand an active lease to another holder without a gap. It has a new id and a new token.",
			Request: wire.TransferRequest{LeaseID: exampleID, To: "ci:43"}, Answer: exampleTransferred, Handler: rest.Body(transfer),
			Codes: slices.Concat(byID, optional, []leasehold.Reason{leasehold.ReasonIDInUse, leasehold.ReasonDeadlock})},
		{Method: http.MethodPost, Path: "/v1/leases/get", ID: "get", Roles: holders, Status: http.StatusOK,
			Summary: "The lease behind an id, in any status still known.",
			Request: wire.GetRequest{LeaseID: exampleID}, Answer: wire.Owned{Lease: exampleLease}, Handler: rest.Body(get),
			Codes: append([]leasehold.Reason{leasehold.ReasonNotFound}, optional...)},
		{Method: http.MethodPost, Path: "/v1/leases/check", ID: "check", Roles: readersOrHolders, Status: http.StatusOK,
			Summary: "May somebody who holds this token still act?",
			Request: wire.CheckRequest{Resource: "deploy:prod", Token: 42}, Answer: wire.Checked{Current: true, Status: "active", Token: 42},
			Handler: rest.Body(check)},
		{Method: http.MethodPost, Path: "/v1/leases/batch", ID: "batch", Roles: holders, Status: http.StatusOK,
			Summary: "Up to 256 acquires, renewals and releases in one request, each answered as if it had come alone, none of them waiting. They have no order among themselves.",
			Request: exampleBatch, Answer: exampleAnswers, MaxBody: maxBatch * maxBody,
			Handler: rest.Handler[*call]{Handle: batch,
				BodyType: reflect.TypeFor[wire.BatchRequest](), AnswerType: reflect.TypeFor[wire.BatchAnswer]()}},
	}
}

// readCalls change nothing.
func readCalls() []*endpoint {
	return []*endpoint{
		{Method: http.MethodGet, Path: "/v1/leases", ID: "list", Roles: readers, Status: http.StatusOK,
			Summary: "Active and breaking leases, or those of the statuses asked for, by resource.",
			Answer:  wire.Leases{Leases: []wire.Lease{exampleSeen}}, Handler: rest.Query(list), Codes: optional},
		{Method: http.MethodGet, Path: "/v1/resource", ID: "resource", Roles: readersOrHolders, Status: http.StatusOK,
			Summary: "One resource: its lease and its queue. The form for names with odd characters.",
			Answer:  exampleResource, Handler: rest.Query(statusByQuery)},
		{Method: http.MethodGet, Path: "/v1/leases/{resource}", ID: "status", Roles: readersOrHolders, Status: http.StatusOK,
			Summary: "One resource, by path. The name may hold slashes, escaped or not; it arrives as it is sent.",
			Answer:  exampleResource, Handler: rest.Query(statusByPath)},
		{Method: http.MethodGet, Path: "/v1/waits", ID: "waits", Roles: readers, Status: http.StatusOK,
			Summary: "Who waits, the longest first, and for whom.",
			Answer:  exampleWaits, Handler: rest.Query(waits), Codes: optional},
		{Method: http.MethodGet, Path: "/v1/history", ID: "history", Roles: readers, Status: http.StatusOK,
			Summary: "What happened, newest first.",
			Answer:  wire.History{History: []wire.Record{exampleRecord}}, Handler: rest.Query(history), Codes: optional},
		{Method: http.MethodGet, Path: "/v1/history/at", ID: "history_at", Roles: readers, Status: http.StatusOK,
			Summary: "Who held one resource, or anything, at a moment of the retained history.",
			Answer:  examplePast, Handler: rest.Query(historyAt), Codes: optional},
		{Method: http.MethodGet, Path: "/v1/events", ID: "events", Roles: readers, Status: http.StatusOK,
			Summary: "What happens, as Server-Sent Events. Each event's data is a history record and its id the record's seq; one event reset says that records are missing.",
			Codes:   optional, Long: true, Handler: rest.Raw("text/event-stream", events)},
		{Method: http.MethodGet, Path: "/v1/config", ID: "settings", Roles: readers, Status: http.StatusOK,
			Summary: "The run-time settings.",
			Answer:  wire.Settings{Settings: []wire.Setting{exampleSetting}}, Handler: rest.Query(listSettings), Codes: optional},
	}
}

// operatorCalls are for operators.
func operatorCalls() []*endpoint {
	return []*endpoint{
		{Method: http.MethodPost, Path: "/v1/leases/break", ID: "break", Roles: operators, Status: http.StatusAccepted,
			Summary: "End a lease without its id, at once or after a period.",
			Request: wire.BreakRequest{Resource: "deploy:prod", Period: new(10.0), Reason: "the runner is gone"},
			Answer:  wire.Broken{Remaining: 10, Lease: exampleBreaking}, Handler: rest.Body(breakLease),
			Codes: append([]leasehold.Reason{leasehold.ReasonNotFound, leasehold.ReasonExpired, leasehold.ReasonReleased, leasehold.ReasonBroken}, optional...)},
		{Method: http.MethodPost, Path: "/v1/holders/{holder}/release", ID: "force_release", Roles: operatorsOrHolders, Status: http.StatusOK,
			Summary: "End every lease of one holder in one atomic step, and with children those of the holders whose names begin with its name and a slash. A holder's token may do so for the holders that it names.",
			Request: wire.ForceRequest{Reason: "the runner is gone"}, Answer: wire.Forced{Released: 3}, Handler: rest.Body(forceRelease), Codes: optional},
		{Method: http.MethodPost, Path: "/v1/leases/cleanup", ID: "cleanup", Roles: operators, Status: http.StatusOK,
			Summary: "Tidy now. Nothing depends on it.",
			Request: rest.None{}, Answer: wire.Cleaned{Expired: 1}, Handler: rest.Body(cleanup), Codes: optional},
		{Method: http.MethodPut, Path: "/v1/config/{key}", ID: "set", Roles: operators, Status: http.StatusOK,
			Summary: "Change a run-time setting: effective at once, kept across restarts.",
			Request: wire.SetRequest{Value: 300}, Answer: exampleSetting, Handler: rest.Body(setSetting), Codes: optional},
		{Method: http.MethodGet, Path: "/v1/log-level", ID: "log_level", Roles: operators, Status: http.StatusOK,
			Summary: "From which level on this server logs.",
			Answer:  wire.LogLevel{Level: "info"}, Handler: rest.Query(getLogLevel), Codes: optional},
		{Method: http.MethodPut, Path: "/v1/log-level", ID: "set_log_level", Roles: operators, Status: http.StatusOK,
			Summary: "Log from another level on, until this server restarts.",
			Request: wire.LogLevel{Level: "debug"}, Answer: wire.LogLevel{Level: "debug"}, Handler: rest.Body(setLogLevel), Codes: optional},
		{Method: http.MethodGet, Path: "/v1/backup", ID: "backup", Roles: operators, Status: http.StatusOK,
			Summary: "A consistent copy of the running store.",
			Codes:   optional, Long: true, Handler: rest.Raw("application/octet-stream", backup)},
	}
}

// serverCalls are about the server itself.
func serverCalls() []*endpoint {
	healthy := Health{Status: health.Healthy, Store: "sqlite", Duration: 2, Time: exampleTime}
	unhealthy := map[int]string{http.StatusServiceUnavailable: "unhealthy"}
	return []*endpoint{
		{Method: http.MethodGet, Path: "/healthz", ID: "healthz", Status: http.StatusOK,
			Summary: "Is the process alive? Another name for /health/live.", Answer: healthy, Handler: rest.Query(live)},
		{Method: http.MethodGet, Path: "/health/live", ID: "live", Status: http.StatusOK,
			Summary: "Is the process alive?", Answer: healthy, Handler: rest.Query(live)},
		{Method: http.MethodGet, Path: "/health/ready", ID: "ready", Status: http.StatusOK,
			Summary: "May traffic come here? 503 while the store does not answer and during shutdown.", Answer: healthy, Also: unhealthy, Handler: rest.Query(ready)},
		{Method: http.MethodGet, Path: "/health/leasing", ID: "leasing", Status: http.StatusOK,
			Summary: "Can leases be had? Takes one and releases it: degraded if that is slow or did not succeed at once, 503 when unhealthy.", Answer: healthy, Also: unhealthy, Handler: rest.Query(leasing)},
		{Method: http.MethodGet, Path: "/metrics", ID: "metrics", Roles: readers, Status: http.StatusOK,
			Summary: "Counters for Prometheus.", Codes: optional, Handler: rest.Raw(metricsMedia, metrics)},
		{Method: http.MethodGet, Path: "/openapi.json", ID: "openapi", Status: http.StatusOK,
			Summary: "This interface as an OpenAPI 3.1 document.", Handler: text("application/json", func(s *Server) []byte { return s.openapi() })},
		{Method: http.MethodGet, Path: "/docs", ID: "docs", Status: http.StatusOK,
			Summary: "This interface as a page for people.", Handler: text("text/html; charset=utf-8", func(s *Server) []byte { return s.page() })},
	}
}

// text is a handler of a document that is not of a Go type.
func text(media string, document func(*Server) []byte) rest.Handler[*call] {
	return rest.Raw(media, func(c *call, _ rest.None) error { return c.write(c.status, media, document(c.s)) })
}
