package wire

import "encoding/json"

// MaxOperations is how many operations a batch may have.
const MaxOperations = 256

// BatchRequest is the body of POST /v1/leases/batch. Its operations are
// independent of each other and have no order.
type BatchRequest struct {
	Operations []Operation `json:"operations" doc:"1 to 256, in no order among themselves."`
}

// Operation is one operation of a batch.
type Operation struct {
	Op      string          `json:"op" enum:"acquire,renew,release"`
	Request json.RawMessage `json:"request" schema:"AcquireRequest,RenewRequest,ReleaseRequest" doc:"The body of the call of that name. An acquire does not wait here."`
}

// BatchAnswer is the answer to a batch.
type BatchAnswer struct {
	Answers []Answer `json:"answers" doc:"One for each operation, in the order in which they were sent."`
}

// Answer is what the call would have answered by itself.
type Answer struct {
	Status int             `json:"status" doc:"The HTTP status of the call."`
	Body   json.RawMessage `json:"body" schema:"Grant,Owned,Released,Problem" doc:"The answer of the call, or the problem."`
}
