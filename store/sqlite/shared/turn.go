package shared

import (
	"context"
	"errors"
	"os"
	"time"
)

// fileTurn is where processes queue for the file. SQLite has no queue: those that
// wait try from time to time, and fifty that do leave little time for the one that
// works. Nothing but speed and fairness depends on it, so that whoever waits too long
// goes on without.
type fileTurn struct {
	name    string
	file    *os.File   // nil: not open
	waiting chan error // nil: nobody waits for it
	held    bool
	late    chan struct{} // closed when a wait that was given up has ended; nil: there is none
}

func newTurn(path string) *fileTurn { return &fileTurn{name: path + ".turn"} }

// patience is how long the turn is waited for. One who has it for so long is
// stopped, or its disk is.
const patience = time.Second

var errTaken = errors.New("another process has the turn")

// try takes the turn if it is free. Where there is no such queue, or one who has been
// given up on still has it, it is done without: each wait keeps a file and a thread.
func (f *fileTurn) try() bool {
	if f.late != nil {
		select {
		case <-f.late:
			f.late = nil
		default:
			return true
		}
	}
	if f.file == nil {
		var err error
		if f.file, err = os.OpenFile(f.name, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			f.file = nil
			return true
		}
	}
	err := lockTurn(f.file, false)
	f.held = err == nil
	return !errors.Is(err, errTaken)
}

// wait waits for the turn, but not for ever.
func (f *fileTurn) wait(ctx context.Context) {
	f.waiting = make(chan error, 1)
	go func(file *os.File, done chan error) { done <- lockTurn(file, true) }(f.file, f.waiting)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-f.waiting:
		f.waiting, f.held = nil, err == nil
	case <-timer.C:
	case <-ctx.Done():
	}
}

// finish gives the turn to the next.
func (f *fileTurn) finish() {
	switch {
	case f.waiting != nil: // it comes too late; nothing else ends the wait
		f.late = make(chan struct{})
		go func(file *os.File, done chan error, late chan struct{}) {
			<-done
			_ = file.Close() // which unlocks it
			close(late)
		}(f.file, f.waiting, f.late)
		f.file, f.waiting = nil, nil
	case f.held:
		_ = unlockTurn(f.file) // if it fails others go on without
		f.held = false
	}
}

func (f *fileTurn) close() error {
	if f == nil || f.file == nil {
		return nil
	}
	return f.file.Close()
}
