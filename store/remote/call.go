package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxAnswer is how much of an answer is read. The longest list page is shorter.
const maxAnswer = 64 << 20

var errTooLong = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

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
	late         func(*answer)
}

// do makes the call and decodes the answer into out.
func (s *Store) do(ctx context.Context, c call, out any) error {
	q := &request{ctx: ctx, method: c.method, target: c.target, late: c.late}
	if s.o.Timeout > 0 && c.effect != waits {
		q.timeout = s.o.Timeout
	}
	if c.effect == waits {
		q.patience = patience
	}
	if q.method == "" {
		q.method = http.MethodPost
	}
	if c.batch {
		q.op = c.op
	}
	q.repeatable = c.effect == reads
	if q.method != http.MethodGet {
		var err error
		if q.body, err = encode(c.body); err != nil {
			return explain(c.op, c.resource, invalid("value", "cannot be written as JSON"))
		}
	}
	a, err := s.carrier.send(q)
	if err != nil {
		return s.failure(ctx, c, err)
	}
	return s.read(ctx, c, a, out)
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

// read decodes an answer, or turns it into the error that it is.
func (s *Store) read(ctx context.Context, c call, a *answer, out any) error {
	if p, ok := a.Body.(*part); ok {
		return s.understand(ctx, c, a, p.text, out)
	}
	buffer := buffers.Get().(*[]byte)
	defer putBuffer(buffer)
	err := readAll(a.Body, buffer)
	_ = a.Body.Close()
	if err != nil {
		return s.failure(ctx, c, err)
	}
	return s.understand(ctx, c, a, *buffer, out)
}

func (s *Store) understand(ctx context.Context, c call, a *answer, text []byte, out any) error {
	if a.StatusCode/100 != 2 {
		return s.refusal(c, a, text)
	}
	if err := decode(text, out); err != nil {
		return s.failure(ctx, c, errNonsense)
	}
	return nil
}

var errNonsense = errors.New("the answer is not what a Leasehold server says; is it one?")

// readAll is io.ReadAll into a buffer that is used again, with a limit.
func readAll(r io.Reader, buffer *[]byte) error {
	b := (*buffer)[:0]
	defer func() { *buffer = b }()
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case len(b) > maxAnswer:
			return errTooLong
		}
	}
}
