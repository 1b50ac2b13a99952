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

	// flushEvery is how soon a stream may be written to again. What happens in
	// between is written together.
	flushEvery = 20 * time.Millisecond
	// flushMost is how many bytes are written to a stream at a time, about.
	flushMost = 64 << 10
	// streamShare is how much of the processors writing to streams may take, so
	// that grants have the rest, however many streams there are. A stream that
	// waits for its turn finds more to write then, or that it has fallen behind.
	streamShare = 0.10
	// longestTurn is how long a write keeps others from theirs.
	longestTurn = time.Millisecond
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
		return c.tooMany(fmt.Errorf("the server has at most %d event streams, and %d of one caller; close one first", s.o.MaxStreams, s.o.MaxStreamsPerCaller))
	}
	defer s.streams.leave(c.caller.Name)
	return s.watch(c, watcher, r)
}

func (s *Server) watch(c *call, watcher leasehold.Watcher, r leasehold.WatchRequest) error {
	ctx, cancel := s.untilDrained(c.r.Context())
	defer cancel()
	_ = c.rc.SetReadDeadline(time.Time{}) // as in wait
	f := &feed{c: c, ctx: ctx, turn: make(chan struct{}, 1)}
	var beating sync.WaitGroup
	beating.Go(func() { f.beat(cancel) })
	err := batches(watcher)(ctx, r, f.tell)
	if ctx.Err() != nil {
		err = c.explain(ctx, err)
	}
	cancel()
	beating.Wait() // nobody may write after the handler has returned
	return f.end(err)
}

// batches is how a store is watched: several notices at a time if it can.
func batches(w leasehold.Watcher) func(context.Context, leasehold.WatchRequest, func([]*leasehold.SharedNotice) error) error {
	if b, ok := w.(leasehold.BatchWatcher); ok {
		return b.WatchBatches
	}
	return func(ctx context.Context, r leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
		return w.Watch(ctx, r, func(n leasehold.Notice) error {
			return each([]*leasehold.SharedNotice{{Notice: n}})
		})
	}
}

// feed is the writing side of a stream.
type feed struct {
	c    *call
	ctx  context.Context // ends with the stream
	turn chan struct{}   // who may write: the watch or the heartbeat
}

// beat opens the stream and then keeps it alive until the context ends or the
// client no longer takes anything.
func (f *feed) beat(cancel context.CancelFunc) {
	defer cancel()
	if !f.pause(settling) || f.write([]byte(": watching\n\n")) != nil {
		return
	}
	for f.pause(heartbeat) {
		err := f.c.s.writing.Do(f.ctx, func() error { return f.write([]byte(": still here\n\n")) })
		if err != nil {
			return
		}
	}
}

// pause reports whether the stream is still there after it.
func (f *feed) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-f.ctx.Done():
		return false
	}
}

// tell writes notices as events, many at a time, and returns when the stream may
// be written to again.
func (f *feed) tell(notices []*leasehold.SharedNotice) error {
	for len(notices) > 0 {
		var rest []*leasehold.SharedNotice
		err := f.c.s.writing.Do(f.ctx, func() (err error) {
			rest, err = f.writeSome(notices)
			return err
		})
		if f.ctx.Err() != nil {
			return nil // the watch says why
		}
		if err != nil {
			return err
		}
		notices = rest
		f.pause(flushEvery)
	}
	return nil
}

// writeSome writes as many of the notices as go together, and returns the
// others.
func (f *feed) writeSome(notices []*leasehold.SharedNotice) ([]*leasehold.SharedNotice, error) {
	buffer := eventBuffers.Get().(*[]byte)
	defer eventBuffers.Put(buffer)
	piece := (*buffer)[:0]
	for len(notices) > 0 && len(piece) < flushMost {
		piece = append(piece, notices[0].Encode(frame)...)
		notices = notices[1:]
	}
	*buffer = piece
	return notices, f.write(piece)
}

var eventBuffers = sync.Pool{New: func() any { return new([]byte) }}

// frame writes a notice as an event. What leaves no record has no id, so that
// a client never resumes from it.
func frame(n leasehold.Notice) []byte {
	if n.Reset {
		return fmt.Appendf(nil, "event: reset\nid: %d\ndata: {\"seq\":%d}\n\n", n.Seq, n.Seq)
	}
	data, err := json.Marshal(wire.FromRecord(n.Record))
	if err != nil {
		panic(err) // a record holds nothing that cannot be written
	}
	id := ""
	if n.Seq > 0 {
		id = fmt.Sprintf("id: %d\n", n.Seq)
	}
	return fmt.Appendf(nil, "event: %s\n%sdata: %s\n\n", n.Kind, id, data)
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
