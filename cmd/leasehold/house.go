package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// goodbye is how long requests under way have to end at a shutdown.
const goodbye = 10 * time.Second

// house is a running server: its rooms and the doors into them.
type house struct {
	a     *app
	log   *slog.Logger
	rooms *rooms
	doors []*door
}

// open serves all doors, tells where they are, and returns when ctx ends and
// everybody has gone, or when a door fails.
func (h *house) open(ctx context.Context) error {
	failed := make(chan error, len(h.doors))
	for _, d := range h.doors {
		go func() { failed <- d.serve() }()
	}
	if err := h.announce(); err != nil {
		return errors.Join(err, h.shut())
	}
	select {
	case err := <-failed:
		return errors.Join(err, h.shut())
	case <-ctx.Done():
		h.log.Info("shutting down", "cause", context.Cause(ctx))
		return h.shut()
	}
}

// announce prints one line per door. They answer already: connections are
// taken from the moment a listener is made.
func (h *house) announce() error {
	if h.a.json {
		doors := map[string]string{}
		for _, d := range h.doors {
			doors[d.key] = d.url
			if d.note != "" {
				doors[d.key+"_connection_string"] = d.note
			}
		}
		return json.NewEncoder(h.a.out).Encode(doors) // one line, for whoever waits for it
	}
	var lines bytes.Buffer // written at once: whoever reads one line has them all
	for _, d := range h.doors {
		fmt.Fprintf(&lines, "%-9s %s\n", d.name, d.url)
		if d.note != "" {
			fmt.Fprintf(&lines, "%-9s %s\n", "", d.note)
		}
	}
	_, err := h.a.out.Write(lines.Bytes())
	return err
}

// shut lets waiters go with an answer, waits for requests under way, and then
// cuts off who is still there.
func (h *house) shut() error {
	for _, d := range h.doors {
		if d.drain != nil {
			d.drain()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	var shutting sync.WaitGroup
	for _, d := range h.doors { // all at once: no door takes newcomers while another waits
		shutting.Go(func() {
			if err := d.server.Shutdown(ctx); err != nil {
				h.log.Warn("cutting off requests that did not end", "door", d.name, "error", err)
				_ = d.server.Close()
			}
		})
	}
	shutting.Wait()
	return nil
}
