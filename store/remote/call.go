package remote

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// effect is what a call may do to the store, which decides what it means when
// its answer does not come.
type effect uint8

const (
	reads effect = iota
	writes
	waits
)

// call is one call of the API.
type call struct {
	op, resource string // for errors
	effect       effect
	batch        bool // it may be part of one
	method       string
	target       string
	body         any // of a write; nil: an empty object
	late         func(reply)
}

// do makes the call and decodes the answer into out.
func (s *Store) do(ctx context.Context, c call, out any) error {
	q, err := s.request(c)
	if err != nil {
		return err
	}
	var r reply
	switch {
	case c.batch:
		r, err = s.batcher.send(ctx, q, c.late)
	case c.effect == reads:
		r, err = s.read(ctx, q)
	default:
		r, err = s.change(ctx, q, c.late, func() {})
	}
	if err != nil {
		return s.failure(ctx, c, err)
	}
	return s.understand(ctx, c, r, out)
}

// request is the request of a call.
func (s *Store) request(c call) (*request, error) {
	q := &request{method: c.method, target: c.target, repeatable: c.effect == reads}
	if c.effect != waits {
		q.timeout = max(s.o.Timeout, 0)
	}
	if q.method == "" {
		q.method = http.MethodPost
	}
	if c.batch {
		q.op = c.op
	}
	if q.method != http.MethodGet {
		var err error
		if q.body, err = encode(c.body); err != nil {
			return nil, explain(c.op, c.resource, invalid("value", "cannot be written as JSON"))
		}
	}
	return q, nil
}

func encode(body any) ([]byte, error) {
	switch body := body.(type) {
	case nil:
		return []byte("{}"), nil
	case interface{ AppendJSON([]byte) ([]byte, error) }:
		return body.AppendJSON(make([]byte, 0, 192))
	}
	return json.Marshal(body)
}

// read makes a request that changes nothing, and ends with its context.
func (s *Store) read(ctx context.Context, q *request) (reply, error) {
	ctx, cancel := with(ctx, s.open)
	defer cancel()
	return s.transport.exchange(ctx, q)
}

// understand decodes an answer, or turns it into the error that it is.
func (s *Store) understand(ctx context.Context, c call, r reply, out any) error {
	if r.status/100 != 2 {
		return s.refusal(c, r)
	}
	if err := decode(r.body, out); err != nil {
		return s.failure(ctx, c, errNonsense)
	}
	return nil
}

var errNonsense = errors.New("the answer is not what a Leasehold server says; is it one?")
