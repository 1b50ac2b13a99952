package wire

import (
	"encoding/json"
	"slices"
	"strconv"
)

// MaxOperations is how many operations a batch may have.
const MaxOperations = 256

// BatchRequest is the body of POST /v1/leases/batch. Its operations are
// independent of each other and have no order.
type BatchRequest struct {
	Operations []Operation `json:"operations" doc:"1 to 256, in no order among themselves."`
}

// Operation is one operation of a batch: a call, and the body that it has as a
// request of its own.
type Operation struct {
	Op      string          `json:"op" enum:"acquire,renew,release"`
	Request json.RawMessage `json:"request" schema:"AcquireRequest,RenewRequest,ReleaseRequest" doc:"The body of the call of that name. An acquire does not wait here."`

	// The W3C trace context of the call, as the headers of a request would have it.
	TraceParent string `json:"traceparent,omitempty" doc:"As the header of that name. What is none is ignored."`
	TraceState  string `json:"tracestate,omitempty" doc:"As the header of that name."`
}

// AppendJSON appends what json.Marshal writes. Requests must be JSON without
// spaces, and names of operations need no escapes.
func (w BatchRequest) AppendJSON(b []byte) ([]byte, error) {
	size := len(`{"operations":[]}`)
	for _, o := range w.Operations {
		size += len(`{"op":"","request":},`) + len(o.Op) + len(o.Request) + o.traceSize()
	}
	b = append(slices.Grow(b, size), `{"operations":[`...)
	for i, o := range w.Operations {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"op":"`...)
		b = append(b, o.Op...)
		b = append(b, `","request":`...)
		b = append(b, o.Request...)
		b = append(o.appendTrace(b), '}')
	}
	return append(b, `]}`...), nil
}

func (o Operation) traceSize() int {
	if o.TraceParent == "" && o.TraceState == "" {
		return 0
	}
	return len(`,"traceparent":"","tracestate":""`) + len(o.TraceParent) + len(o.TraceState)
}

func (o Operation) appendTrace(b []byte) []byte {
	if o.traceSize() == 0 {
		return b
	}
	e := encoder{b: b}
	e.optional("traceparent", o.TraceParent)
	e.optional("tracestate", o.TraceState)
	return e.b // strings can always be written
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

// AppendJSON appends what json.Marshal writes. Bodies must be JSON without
// spaces.
func (w BatchAnswer) AppendJSON(b []byte) ([]byte, error) {
	size := len(`{"answers":[]}`)
	for _, a := range w.Answers {
		size += len(`{"status":200,"body":},`) + len(a.Body)
	}
	b = append(slices.Grow(b, size), `{"answers":[`...)
	for i, a := range w.Answers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"status":`...)
		b = strconv.AppendInt(b, int64(a.Status), 10)
		b = append(b, `,"body":`...)
		b = append(b, a.Body...)
		b = append(b, '}')
	}
	return append(b, `]}`...), nil
}
