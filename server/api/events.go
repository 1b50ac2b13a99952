package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

const (
	// heartbeat is how often a quiet stream shows that it is alive, which is
	// also how a client that silently went away is noticed.
	heartbeat = 15 * time.Second
	// settling is how long a stream's headers are held back. By then the
	// store has either refused the watch or joined it, so a client that has
	// seen the headers misses nothing of what it then does.
	settling = 5 * time.Millisecond
)

type eventsQuery struct {
	Prefix string `query:"prefix" doc:"Only names that begin so."`
	Holder string `query:"holder" doc:"Only events of this holder."`
	After  uint64 `query:"after" doc:"Resume after this event, as the header Last-Event-ID does, which wins."`
}

// events serves GET /v1/events as Server-Sent Events.
func (s *Server) events(c *call, q eventsQuery) error {
	watcher, ok := s.store.(leasehold.Watcher)
	if !ok {
		return c.unsupported()
	}
	if last := c.r.Header.Get("Last-Event-ID"); last != "" {
		if problem := setSeq(&q.After, last); problem != "" {
			return invalid("Last-Event-ID", problem)
		}
	}
	r := leasehold.WatchRequest(q)
	if err := r.Validate(); err != nil {
		return err
	}
	if !s.streams.enter(c.caller.Name) {
		return c.crowded("")
	}
	defer s.streams.leave(c.caller.Name)
	return s.watch(c, watcher, r)
}

func (s *Server) watch(c *call, watcher leasehold.Watcher, r leasehold.WatchRequest) error {
	ctx, cancel := s.untilDrained(c.r.Context())
	defer cancel()
	_ = c.rc.SetReadDeadline(time.Time{}) // as in wait
	f := &feed{c: c, turn: make(chan struct{}, 1)}
	var beating sync.WaitGroup
	beating.Go(func() { f.beat(ctx, cancel) })
	err := watcher.Watch(ctx, r, f.tell)
	if ctx.Err() != nil {
		err = c.explain(ctx, err)
	}
	cancel()
	beating.Wait() // nobody may write after the handler has returned
	return f.end(err)
}

// feed is the writing side of a stream.
type feed struct {
	c    *call
	turn chan struct{} // who may write: the watch or the heartbeat
}

// beat opens the stream and then keeps it alive until the context ends or the
// client no longer takes anything.
func (f *feed) beat(ctx context.Context, cancel context.CancelFunc) {
	defer cancel()
	next := settling
	line := ": watching\n\n"
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
		if f.write([]byte(line)) != nil {
			return
		}
		next, line = heartbeat, ": still here\n\n"
	}
}

func (f *feed) tell(n leasehold.Notice) error {
	event, err := frame(n)
	if err != nil {
		return err
	}
	return f.write(event)
}

// frame writes a notice as an event. What leaves no record has no id, so that
// a client never resumes from it.
func frame(n leasehold.Notice) ([]byte, error) {
	if n.Reset {
		return fmt.Appendf(nil, "event: reset\nid: %d\ndata: {\"seq\":%d}\n\n", n.Seq, n.Seq), nil
	}
	data, err := json.Marshal(wire.FromRecord(n.Record))
	if err != nil {
		return nil, err
	}
	id := ""
	if n.Seq > 0 {
		id = fmt.Sprintf("id: %d\n", n.Seq)
	}
	return fmt.Appendf(nil, "event: %s\n%sdata: %s\n\n", n.Kind, id, data), nil
}

// write passes one piece on, opening the stream before the first. A client that
// does not take it in time is cut off.
func (f *feed) write(piece []byte) error {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	c := f.c
	if !c.wrote {
		c.wrote = true
		c.w.Header().Set("Content-Type", c.endpoint.media)
		c.w.WriteHeader(http.StatusOK)
	}
	_ = c.rc.SetWriteDeadline(time.Now().Add(c.s.o.WriteTimeout))
	if _, err := c.w.Write(piece); err != nil {
		return err
	}
	return c.flush()
}

// end says why an open stream ends, as far as there is somebody to hear it.
func (f *feed) end(err error) error {
	switch {
	case !f.c.wrote:
		return err
	case errors.Is(err, errDraining):
		_ = f.write([]byte(": the server is shutting down; come back with Last-Event-ID\n\n"))
		return nil
	case f.c.r.Context().Err() == nil && errors.Is(err, leasehold.ErrUnavailable):
		_ = f.write([]byte(": cut off; come back with Last-Event-ID\n\n"))
	}
	return err
}
