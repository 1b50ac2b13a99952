package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// silence is how long a stream may send nothing. The server sends a comment every
// quarter of that, so that a dead connection is noticed.
const silence = time.Minute

var (
	errSilent = fmt.Errorf("the stream was silent for %v", silence)
	errEnded  = errors.New("the server ended the stream; watch again after the last record it sent")
)

// Watch implements leasehold.Watcher. It does not reconnect: the caller watches
// again, with WatchRequest.After.
func (s *Store) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	if err := r.Validate(); err != nil {
		return localError("watch", "", err)
	}
	q := query{path: "/v1/events"}
	q.filter("", r.Prefix, r.Holder)
	c := &call{op: "watch", effect: reads, method: http.MethodGet, target: q.String(), after: r.After}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	a, err := s.stream(ctx, c)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		return s.failure(ctx, c, errNonsense)
	}
	return s.follow(ctx, c, newEvents(a.Body, func() { quiet.Reset(silence) }), each)
}

// follow calls each for every event until the stream ends or each fails.
func (s *Store) follow(ctx context.Context, c *call, stream *events, each func(leasehold.Notice) error) error {
	for {
		e, err := stream.next()
		if err != nil {
			return s.failure(ctx, c, fmt.Errorf("%w (%w)", errEnded, err))
		}
		n, ours, err := notice(e)
		if err != nil {
			return s.failure(ctx, c, err)
		}
		if !ours {
			continue
		}
		if err := each(n); err != nil {
			return err
		}
	}
}

// notice decodes an event. Events of unknown kinds are not ours.
func notice(e event) (_ leasehold.Notice, ours bool, _ error) {
	if e.name == "" || e.name == "message" {
		return leasehold.Notice{}, false, nil
	}
	var w wire.Record
	if err := json.Unmarshal(e.data, &w); err != nil {
		return leasehold.Notice{}, false, errNonsense
	}
	if e.name == "reset" {
		return leasehold.Notice{Reset: true, Record: leasehold.Record{Seq: w.Seq}}, true, nil
	}
	if w.Event != e.name {
		return leasehold.Notice{}, false, nil
	}
	r, err := w.Record()
	if err != nil {
		return leasehold.Notice{}, false, errNonsense
	}
	return leasehold.Notice{Record: r}, true, nil
}

// stream makes a call whose answer is read as it comes.
func (s *Store) stream(ctx context.Context, c *call) (*http.Response, error) {
	until, cancel := with(ctx, s.open)
	a, err := s.transport.send(until, c)
	if err != nil {
		cancel()
		return nil, s.failure(ctx, c, err)
	}
	a.Body = &cancelBody{a.Body, cancel}
	if a.StatusCode == http.StatusOK {
		return a, nil
	}
	r, err := readReply(a)
	if err != nil {
		return nil, s.failure(ctx, c, err)
	}
	if err := s.decode(ctx, c, r, new(struct{})); err != nil {
		return nil, err
	}
	return nil, s.failure(ctx, c, errNonsense)
}

// cancelBody is a body whose Close ends the request.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelBody) Close() error {
	c.cancel()
	return c.ReadCloser.Close()
}
