package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/leasehold/leasehold"
)

const (
	// heartbeat is how often a quiet stream is written to, so that both sides notice
	// when the other is gone. The script waits for it.
	heartbeat = 5 * time.Second
	// pollEvery is how often what no record reports, the waiters, is looked at.
	pollEvery = 500 * time.Millisecond
)

// stream serves the live updates of one page as Server-Sent Events:
//
//   - hello: the stream stands; what the page shows may be older
//   - rows: rows of the table that are new or changed, as [{"name", "html"}], without
//     html those that are gone
//   - totals: the counts above the table
//   - changed: the page must be loaded again, as must a table after too many changes
//   - beat: nothing happened
func (v *visit) stream() error {
	watcher, ok := v.s.store.(leasehold.Watcher)
	if !ok {
		return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "events"}
	}
	f, request, err := newFeed(v)
	if err != nil {
		return err
	}
	if !v.s.o.Streams.Enter(v.caller.Name) {
		return &leasehold.Error{Reason: leasehold.ReasonRateLimited, Op: "stream"}
	}
	defer v.s.o.Streams.Exit(v.caller.Name)
	if v.r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	defer context.AfterFunc(v.s.draining, cancel)()
	v.ctx = ctx
	rc := http.NewResponseController(v.w)
	_ = rc.SetReadDeadline(time.Time{}) // there is no more to read
	w := &streamWriter{visit: v, rc: rc}
	watched := make(chan error, 1)
	go func() {
		watched <- watchBatches(watcher)(ctx, request, f.note)
		cancel()
	}()
	err = f.run(ctx, w)
	cancel()
	watchErr := <-watched // nobody notes anything after the handler has returned
	if !v.wrote {
		return watchErr
	}
	if err != nil && v.s.draining.Err() == nil && v.r.Context().Err() == nil {
		v.s.o.Logger.Debug("stream ended", "error", err, "request_id", v.requestID)
	}
	return nil
}

// streamWriter writes events. A browser that does not accept one in time is cut off.
type streamWriter struct {
	visit *visit
	rc    *http.ResponseController
}

func (w *streamWriter) event(name string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return w.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, body))
}

func (w *streamWriter) write(piece []byte) error {
	v := w.visit
	if !v.wrote {
		v.wrote = true
		v.w.Header().Set("Content-Type", "text/event-stream")
		v.w.WriteHeader(http.StatusOK)
	}
	_ = w.rc.SetWriteDeadline(time.Now().Add(v.s.o.WriteTimeout))
	if _, err := v.w.Write(piece); err != nil {
		return err
	}
	return w.rc.Flush()
}
