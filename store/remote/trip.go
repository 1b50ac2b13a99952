package remote

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"

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
	fate chan outcome // has room for it
	told bool         // what became of it
	trip *trip        // nil: it still waits
	left bool         // during the trip
}

// outcome is what became of a call.
type outcome struct {
	answer *answer
	err    error
	alone  bool // it has not been sent, and is to travel alone,
	seat   bool // counted among the requests under way
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
type trip struct {
	passengers []*passenger
	here       int // those who have not left
	ctx        context.Context
	cancel     context.CancelFunc
}

func newTrip(life context.Context, passengers []*passenger) *trip {
	t := &trip{passengers: passengers, here: len(passengers)}
	t.ctx, t.cancel = context.WithCancel(life)
	for _, p := range passengers {
		p.trip = t
	}
	return t
}

// leave ends the trip when the last passenger has left, as the request of one
// that travels alone ends when it leaves.
func (t *trip) leave(p *passenger) {
	p.left = true
	if t.here--; t.here == 0 {
		t.cancel()
	}
}

// request is the request that carries all of them.
func (t *trip) request() *request {
	q := &request{ctx: t.ctx, method: http.MethodPost, target: batchTarget, timeout: t.passengers[0].timeout}
	size := 64
	for _, p := range t.passengers {
		size += len(p.body) + 40
		if p.late != nil {
			q.late = t.late
		}
	}
	b := append(make([]byte, 0, size), `{"operations":[`...)
	for i, p := range t.passengers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"op":"`...)
		b = append(b, p.op...)
		b = append(b, `","request":`...)
		b = append(b, p.body...)
		b = append(b, '}')
	}
	q.body = append(b, `]}`...)
	return q
}

// late hears the server's last word, when everybody has left.
func (t *trip) late(a *answer) {
	var running sync.WaitGroup
	outcomes, _ := t.outcomes(a, nil)
	for i, o := range outcomes {
		if p := t.passengers[i]; p.late != nil && o.answer != nil {
			running.Go(func() { p.late(o.answer) })
		}
	}
	running.Wait()
}

// outcomes reads the answer and makes of it an outcome for each passenger. A
// batch that was not taken as one changed nothing: if it can be so that the
// server takes single calls, that is tried. Any other refusal is everybody's.
// It also reports whether the server knows no batches. The trip stays as it is:
// the last word may be read while the trip ends.
func (t *trip) outcomes(a *answer, err error) (all []outcome, unknown bool) {
	all = make([]outcome, len(t.passengers))
	var text []byte
	if err == nil {
		text, err = readBody(a)
	}
	var parts []wire.Answer
	if err == nil && a.StatusCode == http.StatusOK {
		if parts = answersIn(text); len(parts) != len(all) {
			err = errNonsense
		}
	}
	unknown = err == nil && unknownPath(a)
	for i := range all {
		switch {
		case err != nil:
			all[i].err = err
		case parts != nil:
			all[i].answer = newAnswer(parts[i].Status, problemHeader, parts[i].Body)
		case unknown, refusedAsOne(a):
			all[i].alone = true
		default:
			all[i].answer = newAnswer(a.StatusCode, a.Header, text)
		}
	}
	return all, unknown
}

// unknownPath reports whether the server knows no batches: it is an older one.
func unknownPath(a *answer) bool {
	return a.StatusCode == http.StatusNotFound || a.StatusCode == http.StatusMethodNotAllowed
}

// refusedAsOne reports whether somebody on the way did not let the batch pass,
// because of its size or its path, who may let the calls pass. Whoever may have
// passed it on has not: the calls would happen twice.
func refusedAsOne(a *answer) bool {
	return a.StatusCode == http.StatusRequestEntityTooLarge || turnsBack[a.StatusCode] && !isProblem(a)
}

// problemHeader is the header of every answer in a batch. It only matters if
// the answer is a refusal.
var problemHeader = http.Header{"Content-Type": {wire.ProblemType}}

func newAnswer(status int, header http.Header, text []byte) *answer {
	return &answer{StatusCode: status, Header: header, Body: &part{*bytes.NewReader(text), text}}
}

// part is the body of an answer that is here already.
type part struct {
	bytes.Reader
	text []byte
}

func (p *part) Close() error { return nil }

// readBody reads the whole answer, into memory of its own: the parts are read
// by many, and nobody knows who will be the last.
func readBody(a *answer) ([]byte, error) {
	defer a.Body.Close()
	buffer := make([]byte, 0, max(512, min(a.ContentLength+1, keptBuffer)))
	err := readAll(a.Body, &buffer)
	return buffer, err
}

var _ io.ReadCloser = (*part)(nil)
