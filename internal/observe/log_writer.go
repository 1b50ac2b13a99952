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
	writing bool
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
	if w.closed {
		w.waitWritten()
		return w.out.Write(record)
	}
	for len(w.waiting) >= maxUnwritten {
		w.changed.Wait()
	}
	if len(w.waiting) == 0 {
		w.changed.Broadcast()
	}
	w.waiting = append(w.waiting, record...)
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
		w.writing = true
		w.mu.Unlock()
		_, _ = w.out.Write(records) // there is nowhere to report it
		w.mu.Lock()
		w.writing = false
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

// waitWritten waits until nothing waits and nothing is written. The lock is held.
func (w *logWriter) waitWritten() {
	for len(w.waiting) > 0 || w.writing {
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
