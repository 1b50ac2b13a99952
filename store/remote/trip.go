package remote

import (
	"net/http"

	"github.com/leasehold/leasehold/wire"
)

const (
	batchTarget = "/v1/leases/batch"

	// maxBatch is how many bytes of operations one batch takes along, far below
	// what servers and proxies accept.
	maxBatch = 256 << 10
)

// passenger is a call that waits for a batch, or travels in it.
type passenger struct {
	*request
	late    func(reply)  // is given the answer if the caller has left; may be nil
	fate    chan outcome // has room for it
	told    bool         // what became of it
	boarded bool         // it does not wait any more
	left    bool         // since then
}

// outcome is what became of a call.
type outcome struct {
	result
	alone bool // it has not been sent, and is to travel alone,
	seat  bool // counted among the requests under way
}

// tell lets the caller go.
func (p *passenger) tell(o outcome) {
	p.told = true
	p.fate <- o
}

// fitting returns how many of those who wait one batch may hold.
func fitting(queue []*passenger) int {
	n, size := 0, 0
	for n < min(len(queue), wire.MaxOperations) {
		size += len(queue[n].body)
		if n > 0 && size > maxBatch {
			break
		}
		n++
	}
	return n
}

// trip is a batch under way.
type trip []*passenger

// request is the request that carries all of them.
func (t trip) request() *request {
	size := 64
	for _, p := range t {
		size += len(p.body) + 40
	}
	b := append(make([]byte, 0, size), `{"operations":[`...)
	for i, p := range t {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"op":"`...)
		b = append(b, p.op...)
		b = append(b, `","request":`...)
		b = append(b, p.body...)
		b = append(b, '}')
	}
	return &request{method: http.MethodPost, target: batchTarget, timeout: t[0].timeout, body: append(b, `]}`...)}
}

// outcomes makes of the answer an outcome for each passenger. A batch that was
// not taken as one changed nothing: if it can be so that the server takes single
// calls, that is tried. Any other refusal is everybody's. It also reports
// whether the server knows no batches.
func (t trip) outcomes(r reply, err error) (all []outcome, unknown bool) {
	all = make([]outcome, len(t))
	var parts []wire.Answer
	if err == nil && r.status == http.StatusOK {
		if parts = answersIn(r.body); len(parts) != len(all) {
			err = errNonsense
		}
	}
	unknown = err == nil && r.unknownPath()
	for i := range all {
		switch {
		case err != nil:
			all[i].err = err
		case parts != nil:
			all[i].reply = reply{parts[i].Status, problemHeader, parts[i].Body}
		case unknown, r.refusedAsOne():
			all[i].alone = true
		default:
			all[i].reply = r
		}
	}
	return all, unknown
}

// unknownPath reports whether the server knows no batches: it is an older one.
func (r reply) unknownPath() bool {
	return r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed
}

// refusedAsOne reports whether somebody on the way did not let the batch pass,
// because of its size or its path, who may let the calls pass. Whoever may have
// passed it on has not: the calls would happen twice.
func (r reply) refusedAsOne() bool {
	return r.status == http.StatusRequestEntityTooLarge || turnsBack[r.status] && !r.isProblem()
}

// problemHeader is the header of every answer in a batch. It only matters if
// the answer is a refusal.
var problemHeader = http.Header{"Content-Type": {wire.ProblemType}}
