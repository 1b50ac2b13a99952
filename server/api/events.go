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
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/server/internal/rest"
	"github.com/leasehold/leasehold/wire"
)

const (
	// heartbeat is how often a quiet stream is written to: its client sees that
	// it is alive, and a client that silently went away is noticed.
	heartbeat = 15 * time.Second
	// headerDelay is how long a stream's headers are held back. By then the
	// store has either refused the watch or joined it, so a client that has
	// seen the headers misses nothing of what it then does.
	headerDelay = 5 * time.Millisecond

	// flushEvery is how soon a stream may be written to again. What happens in
	// between is written together.
	flushEvery = 20 * time.Millisecond
	// flushSize is how many bytes are written to a stream at a time, about.
	flushSize = 64 << 10
	// streamShare is the share of the processors that writing to streams may
	// use, so that grants have the rest, however many streams there are. A stream
	// that waits for its turn has more to write then, or has fallen behind.
	streamShare = 0.10
	// longestTurn is how long one write may keep others waiting.
	longestTurn = time.Millisecond
)

type eventsQuery struct {
	Prefix string `query:"prefix" doc:"Only names that begin so."`
	Holder string `query:"holder" doc:"Only events of this holder."`
	After  uint64 `query:"after" doc:"Resume after this event, as the header Last-Event-ID does, which wins."`
}

// events serves GET /v1/events as Server-Sent Events.
func events(c *call, q eventsQuery) error {
	s := c.s
	watcher, ok := s.store.(leasehold.Watcher)
	if !ok {
		return c.unsupported()
	}
	if last := c.r.Header.Get("Last-Event-ID"); last != "" {
		after, problem := rest.ParseSeq(last)
		if problem != "" {
			return leasehold.Invalid("Last-Event-ID", "%s", problem)
		}
		q.After = after
	}
	r := leasehold.WatchRequest(q)
	if err := r.Validate(); err != nil {
		return err
	}
	if !s.streams.Enter(c.caller.Name) {
		return c.tooMany("", fmt.Errorf("the server has at most %d event streams, and %d of one caller; close one first", s.o.MaxStreams, s.o.MaxStreamsPerCaller))
	}
	defer s.streams.Exit(c.caller.Name)
	return stream(c, watcher, r)
}

// stream writes what the store reports until either side ends.
func stream(c *call, watcher leasehold.Watcher, r leasehold.WatchRequest) error {
	ctx, cancel := c.s.untilDrained(c.ctx)
	defer cancel()
	_ = c.rc.SetReadDeadline(time.Time{}) // as in waitInQueue
	w := &eventWriter{c: c, ctx: ctx, lock: make(chan struct{}, 1)}
	var beats sync.WaitGroup
	beats.Go(func() { w.keepAlive(cancel) })
	err := watchBatches(watcher)(ctx, r, w.send)
	if ctx.Err() != nil {
		err = contextError(ctx, c.endpoint.ID, err)
	}
	cancel()
	beats.Wait() // nobody may write after the handler has returned
	return w.end(err)
}

// watchBatches returns how to watch the store: several notices at a time if it can.
func watchBatches(w leasehold.Watcher) func(context.Context, leasehold.WatchRequest, func([]*leasehold.SharedNotice) error) error {
	if b, ok := w.(leasehold.BatchWatcher); ok {
		return b.WatchBatches
	}
	return func(ctx context.Context, r leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
		return w.Watch(ctx, r, func(n leasehold.Notice) error {
			return each([]*leasehold.SharedNotice{{Notice: n}})
		})
	}
}

// eventWriter is the writing side of a stream.
type eventWriter struct {
	c    *call
	ctx  context.Context // ends with the stream
	lock chan struct{}   // held while writing, by the watch or by keepAlive
}

// keepAlive opens the stream and then writes heartbeats until the context ends or
// the client accepts no more.
func (w *eventWriter) keepAlive(cancel context.CancelFunc) {
	defer cancel()
	if !sleep.For(w.ctx, headerDelay) || w.write([]byte(": watching\n\n")) != nil {
		return
	}
	for sleep.For(w.ctx, heartbeat) {
		err := w.c.s.streamTurns.Do(w.ctx, func() error { return w.write([]byte(": still here\n\n")) })
		if err != nil {
			return
		}
	}
}

// send writes notices as events, many at a time, and returns when the stream may
// be written to again.
func (w *eventWriter) send(notices []*leasehold.SharedNotice) error {
	for len(notices) > 0 {
		var unwritten []*leasehold.SharedNotice
		err := w.c.s.streamTurns.Do(w.ctx, func() (err error) {
			unwritten, err = w.writeSome(notices)
			return err
		})
		if w.ctx.Err() != nil {
			return nil // the watch says why
		}
		if err != nil {
			return err
		}
		notices = unwritten
		sleep.For(w.ctx, flushEvery)
	}
	return nil
}

// writeSome writes as many of the notices as fit into one write, and returns the
// others.
func (w *eventWriter) writeSome(notices []*leasehold.SharedNotice) ([]*leasehold.SharedNotice, error) {
	buffer := eventBuffers.Get().(*[]byte)
	defer eventBuffers.Put(buffer)
	piece := (*buffer)[:0]
	for len(notices) > 0 && len(piece) < flushSize {
		piece = append(piece, notices[0].Encode(frame)...)
		notices = notices[1:]
	}
	*buffer = piece
	return notices, w.write(piece)
}

var eventBuffers = sync.Pool{New: func() any { return new([]byte) }}

// frame encodes a notice as an event. One without a record has no id, so that a
// client never resumes from it.
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

// write sends one piece, after the headers if it is the first. A client that does
// not accept it in time is cut off.
func (w *eventWriter) write(piece []byte) error {
	w.lock <- struct{}{}
	defer func() { <-w.lock }()
	c := w.c
	if !c.wrote {
		c.wrote = true
		c.w.Header().Set("Content-Type", c.endpoint.Media)
		c.w.WriteHeader(http.StatusOK)
	}
	_ = c.rc.SetWriteDeadline(time.Now().Add(c.s.o.WriteTimeout))
	if _, err := c.w.Write(piece); err != nil {
		return err
	}
	return c.flush()
}

// end writes why an open stream ends, if the client is still there.
func (w *eventWriter) end(err error) error {
	switch {
	case !w.c.wrote:
		return err
	case errors.Is(err, errDraining):
		_ = w.write([]byte(": the server is shutting down; come back with Last-Event-ID\n\n"))
		return nil
	case w.c.r.Context().Err() == nil && errors.Is(err, leasehold.ErrUnavailable):
		_ = w.write([]byte(": cut off; come back with Last-Event-ID\n\n"))
	}
	return err
}
