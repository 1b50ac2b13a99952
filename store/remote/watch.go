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

// silence is how long a stream may say nothing. The server sends a comment four
// times as often, so that a dead connection is found out.
const silence = time.Minute

var (
	errSilent = fmt.Errorf("the stream was silent for %v", silence)
	errEnded  = errors.New("the server ended the stream; watch again after the last record it sent")
)

// Watch implements leasehold.Watcher. It does not connect again by itself: what
// was missed in between is the caller's to ask for, with WatchRequest.After.
func (s *Store) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	if err := r.Validate(); err != nil {
		return explain("watch", "", err)
	}
	q := query{path: "/v1/events"}
	q.add("prefix", r.Prefix)
	q.add("holder", r.Holder)
	c := call{op: "watch", effect: reads, method: http.MethodGet, target: q.String()}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	a, err := s.stream(ctx, c, r.After)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		return s.failure(ctx, c, errNonsense)
	}
	return s.follow(ctx, c, newEvents(a.Body, func() { quiet.Reset(silence) }), each)
}

// follow passes the events on until the stream ends or each has had enough.
func (s *Store) follow(ctx context.Context, c call, stream *events, each func(leasehold.Notice) error) error {
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

// notice reads an event. Kinds of events that are not known here are not ours.
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
func (s *Store) stream(ctx context.Context, c call, resume uint64) (*http.Response, error) {
	q := &request{method: c.method, target: c.target, resume: resume, repeatable: true}
	until, cancel := with(ctx, s.open)
	a, err := s.transport.send(until, q)
	if err != nil {
		cancel()
		return nil, s.failure(ctx, c, err)
	}
	a.Body = &cancelling{a.Body, cancel}
	if a.StatusCode == http.StatusOK {
		return a, nil
	}
	r, err := readReply(a)
	if err != nil {
		return nil, s.failure(ctx, c, err)
	}
	if err := s.understand(ctx, c, r, new(struct{})); err != nil {
		return nil, err
	}
	return nil, s.failure(ctx, c, errNonsense)
}

// cancelling is a body whose request ends with it.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelling) Close() error {
	c.cancel()
	return c.ReadCloser.Close()
}
