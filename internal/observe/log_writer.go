package observe

import (
	"io"
	"sync"
	"time"
)

// maxUnwritten is how many bytes of records may wait. A writer that is slower than
// the program then slows it down: no record is dropped.
const maxUnwritten = 1 << 20

// writeEvery is how long a record may wait for others. A process that is killed
// loses the records of this time.
const writeEvery = 5 * time.Millisecond

// logWriter writes records in the background, all that wait with one call. A
// system call for each of them would cost a busy server more than the record.
type logWriter struct {
	out io.Writer

	mu      sync.Mutex
	changed sync.Cond // broadcast after every change below
	waiting []byte
	taken   uint64 // bytes of records, since the start
	written uint64 // how many of them are written
	closed  bool
	done    chan struct{}
}

func newLogWriter(out io.Writer) *logWriter {
	w := &logWriter{out: out, done: make(chan struct{})}
	w.changed.L = &w.mu
	go w.run()
	return w
}

// Write keeps the record. After close it writes at once.
func (w *logWriter) Write(record []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) >= maxUnwritten && !w.closed {
		w.changed.Wait()
	}
	if w.closed {
		w.waitWritten()
		return w.out.Write(record)
	}
	if len(w.waiting) == 0 {
		w.changed.Broadcast()
	}
	w.waiting = append(w.waiting, record...)
	w.taken += uint64(len(record))
	return len(record), nil
}

func (w *logWriter) run() {
	defer close(w.done)
	var records []byte
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.waiting) == 0 {
			if w.closed {
				return
			}
			w.changed.Wait()
		}
		w.collect()
		records, w.waiting = w.waiting, records[:0]
		w.mu.Unlock()
		_, _ = w.out.Write(records) // there is nowhere to report it
		w.mu.Lock()
		w.written += uint64(len(records))
		w.changed.Broadcast()
	}
}

// collect lets more records come. The lock is held, but not meanwhile.
func (w *logWriter) collect() {
	if w.closed {
		return
	}
	w.mu.Unlock()
	time.Sleep(writeEvery)
	w.mu.Lock()
}

// flush returns when all records of before are written.
func (w *logWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waitWritten()
}

// waitWritten waits until the records of before are written, and not for those
// that come meanwhile: on a busy server there is always one. The lock is held.
func (w *logWriter) waitWritten() {
	for until := w.taken; w.written < until; {
		w.changed.Wait()
	}
}

// close writes what waits, and ends the goroutine.
func (w *logWriter) close() {
	w.mu.Lock()
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	<-w.done
}
