// Package api is the JSON API: plain HTTP for agents and services in any language.
//
// # How the package is organised
//
// Every call stands once, in a table (table.go, with examples.go and codes.go):
// its method, path, roles, the types that go in and come out, its codes and an
// example. Package server/internal/rest makes the router, the decoders, the
// OpenAPI document at /openapi.json and the page at /docs from that table, so
// they cannot disagree. Each handler is a function of a call and the decoded
// request that returns an answer or an error:
//
//	acquire.go           acquire, with the wait in the queue
//	lease.go             renew, release, change, transfer, get
//	read.go              status, check, list, history
//	events.go            the stream of events
//	batch.go             many of the above in one request (decoded in batch_decode.go)
//	operator.go          break, force-release, cleanup, settings
//	backup.go            a copy of the store
//	health.go metrics.go the server itself
//
// Around them: server.go has the options and the lifetime, call.go one request
// under way, call_answer.go its answer or problem, body.go the reading of bodies,
// authorize.go who may use which lease, store.go calls of the store under a time
// limit; package server/internal/limit limits how many requests may wait, stream
// or read the history.
//
// # A request, step by step
//
// POST /v1/leases/acquire, from the listener to the store and back:
//
//  1. (*Server).serve (call.go) makes the call and finds its endpoint with
//     rest.Router.Find.
//  2. (*call).run checks the role, reads the body (readBody, body.go) and calls the
//     endpoint's Handle.
//  3. Handle, which rest.Body has made, decodes the body (rest.BodyDecoder.Decode)
//     and calls acquire (acquire.go).
//  4. acquire converts the request (wire.AcquireRequest.Request), validates it
//     (leasehold.AcquireRequest.ValidateAll) and authorizes the caller
//     (auth.Caller.MayAct, or MayClaim for each of several).
//  5. grant decides whether to wait; callStore (store.go) calls Store.Acquire under
//     the time limit.
//  6. acquire returns a wire.Grant or an error, and (*call).respond
//     (call_answer.go) writes it with writeAnswer or writeProblem.
//  7. (*call).finish counts and logs.
//
// An operation of a batch is a call, too: it starts at step 2, with a body that was
// read already, and its answer is put into the batch's.
//
// # What is checked where
//
// The decoder checks JSON types and refuses unknown fields; package wire resolves
// aliases and the forms of numbers; Validate of the root package's requests has the
// rules. Handlers check only what exists in this API alone.
//
// # What the API promises to its clients
//
//   - What it cannot read exactly it refuses by name, and then nothing happened.
//   - Every error is a problem document (RFC 9457) with a stable code.
//   - A store that does not answer in time is store_timeout: the outcome is
//     unknown. Waiting in a queue is not counted.
//   - A grant that could not be delivered, and that the client could not request
//     again, is released at once.
//   - A lease id is written only in the answer to its owner. Bodies are never
//     logged, and log lines name the route, not the path.
//
// The caller comes with the request's context; package auth, whose Guard stands in
// front, puts it there.
package api
