package auth

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// poll is how often the token file is checked.
const poll = time.Second

// watch keeps the tokens as the file has them until Close.
func (g *Guard) watch() {
	defer close(g.done)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-tick.C:
			g.check()
		}
	}
}

// check reads the file if it has changed. What is wrong with it is logged once,
// not every second.
func (g *Guard) check() {
	g.tokens.Load().endExpired(time.Now())
	g.loading.Lock()
	defer g.loading.Unlock()
	if !g.watched.changed() && g.problem == "" {
		return
	}
	err := g.load()
	switch {
	case err == nil:
		g.problem = ""
	case err.Error() != g.problem:
		g.problem = err.Error()
		g.log.Error("the tokens stay as they were: the token file cannot be used", "error", g.problem)
	}
}

// Reload reads the token file now. On an error the tokens stay as they were.
// There is seldom a need for it: the file is checked every second.
func (g *Guard) Reload() error {
	if g.tokens.Load() == nil {
		return nil
	}
	g.loading.Lock()
	defer g.loading.Unlock()
	g.watched.changed()
	return g.load()
}

// load replaces the table. The caller holds loading.
func (g *Guard) load() error {
	data, err := readPrivate(g.file, g.groupMayRead)
	if err != nil {
		return err
	}
	old := g.tokens.Load()
	if old != nil && bytes.Equal(old.source, data) && g.problem == "" {
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

// watchedFile knows whether a file is still the one that was read.
type watchedFile struct {
	path    string
	info    os.FileInfo // nil: never seen
	checked time.Time
}

// timestampAge is how old a file must be for its times to be trusted: two writes
// within one tick of the file system's clock look the same.
const timestampAge = 2 * time.Second

// changed reports whether the file must be read again, and remembers how it
// looked. Call it before reading, so that what is written meanwhile shows the next
// time.
func (f *watchedFile) changed() bool {
	old, checked := f.info, f.checked
	info, err := os.Stat(f.path)
	if err != nil {
		f.info = nil
		return true
	}
	f.info, f.checked = info, time.Now()
	return old == nil || !os.SameFile(old, info) || old.Size() != info.Size() ||
		old.Mode() != info.Mode() || !old.ModTime().Equal(info.ModTime()) ||
		info.ModTime().After(checked.Add(-timestampAge))
}
