package remote

import (
	"net/http"
	"slices"

	"github.com/leasehold/leasehold/wire"
)

// maxBatch is how many bytes of operations one batch has, far below what servers
// and proxies accept.
const maxBatch = 256 << 10

// batch is several calls that are sent as one request.
type batch []*pendingCall

// fitting returns how many calls of the queue one batch may have.
func fitting(queue []*pendingCall) int {
	n, size := 0, 0
	for n < min(len(queue), wire.MaxOperations) {
		size += len(queue[n].json) + queue[n].trace.size()
		if n > 0 && size > maxBatch {
			break
		}
		n++
	}
	return n
}

// call returns the call that carries all of the batch.
func (b batch) call() *call {
	w := wire.BatchRequest{Operations: make([]wire.Operation, len(b))}
	for i, p := range b {
		w.Operations[i] = wire.Operation{Op: p.op, Request: p.json, TraceParent: p.trace.parent, TraceState: p.trace.state}
	}
	text, _ := w.AppendJSON(nil) // it has no errors
	return &call{effect: writes, method: http.MethodPost, target: "/v1/leases/batch", json: text}
}

// batchAnswer is what became of a batch.
type batchAnswer struct {
	result
	parts   []wire.Answer // one for each call; nil: the result is that of each
	unknown bool          // the server knows no batches

	// untraced: the server is older than trace contexts of operations. It has
	// refused the batch because of them, and done nothing.
	untraced bool
}

// answer reads the answer to the batch. A batch that was refused as a whole has
// changed nothing: where the calls may be accepted one by one, they are sent
// alone.
func (b batch) answer(r reply, err error) batchAnswer {
	a := batchAnswer{result: result{reply: r, err: err}}
	switch {
	case err != nil:
	case r.status == http.StatusOK:
		var w wire.BatchAnswer
		if err := wire.Decode(r.body, &w); err != nil || len(w.Answers) != len(b) {
			a.err = errNonsense
		}
		a.parts = w.Answers
	default:
		a.unknown = r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed
		a.untraced = r.status == http.StatusBadRequest && b.traced()
		a.alone = a.unknown || a.untraced || r.refusedAsBatch()
	}
	return a
}

func (b batch) traced() bool {
	return slices.ContainsFunc(b, func(p *pendingCall) bool { return p.trace != traceContext{} })
}

// ofCall returns what became of the i-th call.
func (a batchAnswer) ofCall(i int) result {
	if a.err != nil || a.parts == nil {
		return a.result
	}
	return result{reply: reply{a.parts[i].Status, problemHeader, a.parts[i].Body}}
}

// refusedAsBatch reports whether a proxy refused the batch for its size or its
// path and may accept the calls. One that may have forwarded the batch has not
// refused it: the calls would happen twice.
func (r reply) refusedAsBatch() bool {
	return r.status == http.StatusRequestEntityTooLarge || notForwarded[r.status] && !r.isProblem()
}

// problemHeader is the header of every answer in a batch. It matters only in a
// refusal.
var problemHeader = http.Header{"Content-Type": {wire.ProblemType}}
