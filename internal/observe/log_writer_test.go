package observe

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowWriter takes a while for each write.
type slowWriter struct {
	buffer
	takes time.Duration
}

func (w *slowWriter) Write(p []byte) (int, error) {
	time.Sleep(w.takes)
	return w.buffer.Write(p)
}

// An error is written soon, however many other records come meanwhile: its request
// waits for it.
func TestErrorDoesNotWaitForLaterRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &slowWriter{takes: 3 * time.Millisecond}
		w := newLogWriter(out)
		stop := make(chan struct{})
		var others sync.WaitGroup
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					w.Write([]byte("another\n"))
				}
			}
		})
		time.Sleep(time.Second)
		start := time.Now()
		w.Write([]byte("the error\n"))
		flushed := make(chan struct{})
		go func() {
			defer close(flushed)
			w.flush()
		}()
		select {
		case <-flushed:
			if !strings.Contains(out.String(), "the error") {
				t.Error("flush returned before the record was written")
			}
		case <-time.After(time.Minute):
			t.Errorf("flush still waits after %v", time.Since(start))
		}
		close(stop)
		others.Wait()
		<-flushed
		w.close()
	})
}

// A record that had to wait for room is written, too, if the log is closed
// meanwhile, and so are those after it.
func TestCloseWhileRecordsWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &slowWriter{takes: time.Second}
		w := newLogWriter(out)
		w.Write([]byte(strings.Repeat("x", maxUnwritten) + "\n"))
		written := make(chan struct{})
		go func() {
			defer close(written)
			w.Write([]byte("had to wait\n"))
		}()
		synctest.Wait()
		w.close()
		<-written
		w.Write([]byte("last\n"))
		if text := out.String(); !strings.HasSuffix(text, "x\nhad to wait\nlast\n") {
			t.Errorf("the log ends with %q", text[max(0, len(text)-40):])
		}
	})
}
