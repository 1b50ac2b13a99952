package auth

import (
	"bytes"
	"fmt"
	"time"
)

// poll is how often the token file is looked at.
const poll = time.Second

// follow keeps the tokens as the file has them until Close.
func (g *Guard) follow() {
	defer close(g.done)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-tick.C:
			g.look()
		}
	}
}

// look reads the file if it has changed. What is wrong with it is logged once,
// not every second.
func (g *Guard) look() {
	g.tokens.Load().endExpired(time.Now())
	g.reading.Lock()
	defer g.reading.Unlock()
	if !g.stamp.changed() && g.broken == "" {
		return
	}
	err := g.read()
	switch {
	case err == nil:
		g.broken = ""
	case err.Error() != g.broken:
		g.broken = err.Error()
		g.log.Error("the tokens stay as they were: the token file cannot be used", "error", g.broken)
	}
}

// Reload reads the token file now. On an error the tokens stay as they were.
// There is seldom a need for it: the file is looked at every second.
func (g *Guard) Reload() error {
	if g.tokens.Load() == nil {
		return nil
	}
	g.reading.Lock()
	defer g.reading.Unlock()
	g.stamp.changed()
	return g.read()
}

// read replaces the table. The caller has the lock named reading.
func (g *Guard) read() error {
	data, err := readPrivate(g.file, g.groupMayRead)
	if err != nil {
		return err
	}
	old := g.tokens.Load()
	if old != nil && bytes.Equal(old.source, data) && g.broken == "" {
		return nil
	}
	d, err := parse(data)
	if err != nil {
		return fmt.Errorf("token file %s: %w", g.file, err)
	}
	rows := d.rows()
	if old == nil {
		old = new(table)
	}
	fresh := newTable(data, rows, old, g.limit)
	g.tokens.Store(fresh)
	old.endMissing(fresh)
	g.log.Info("tokens loaded", "file", g.file, "tokens", len(rows))
	if len(rows) == 0 {
		g.log.Warn("the token file has no tokens: nobody is let in", "file", g.file)
	}
	return nil
}
