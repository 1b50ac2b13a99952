package plainhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// mostStall is how long a request may stand still: until somebody looks.
const mostStall = stallTime + stallTime/ticks

// TestStall: a request that neither reads nor writes is given up on, and one that
// does is not, however long it takes.
func TestStall(t *testing.T) {
	for name, c := range map[string]struct {
		handle func(http.ResponseWriter, *http.Request) // for an hour, if it may
		ends   bool
	}{
		"waits": {func(_ http.ResponseWriter, r *http.Request) { pause(r, time.Hour) }, true},
		"writes": {func(w http.ResponseWriter, r *http.Request) {
			for range 6 {
				pause(r, 10*time.Minute)
				w.(http.Flusher).Flush()
				_, _ = io.WriteString(w, "x")
			}
		}, false},
		"reads": {func(_ http.ResponseWriter, r *http.Request) {
			for range 6 {
				pause(r, 10*time.Minute)
				_, _ = io.ReadFull(r.Body, make([]byte, 1))
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var took time.Duration
				var ended error
				v := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
					began := time.Now()
					c.handle(w, r)
					took, ended = time.Since(began), r.Context().Err()
				}).dial()
				go func() {
					v.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n")
					for range 6 {
						time.Sleep(10 * time.Minute)
						v.send("x")
					}
				}()
				go func() { _, _ = io.Copy(io.Discard, v.in) }()
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				switch {
				case c.ends && (took < stallTime || took > mostStall || ended == nil):
					t.Errorf("a request that stands still ended after %v with %v, want %v to %v", took, ended, stallTime, mostStall)
				case !c.ends && (took < time.Hour || ended != nil):
					t.Errorf("a request that works ended after %v with %v, want an hour", took, ended)
				}
			})
		})
	}
}

// TestUntakenAnswer: a client that takes nothing of its answer is given up on,
// and one that takes a little now and then is not.
func TestUntakenAnswer(t *testing.T) {
	const pieces, size = 10, 2 * bufferSize
	for name, c := range map[string]struct {
		takes int // bytes, every ten minutes
		want  error
	}{
		"nothing":  {0, os.ErrDeadlineExceeded},
		"a little": {size, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error, 1)
				h := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
					time.Sleep(stallTime - time.Minute) // what was before does not count
					w.Header().Set("Content-Length", strconv.Itoa(pieces*size))
					var err error
					for i := 0; i < pieces && err == nil; i++ {
						_, err = w.Write(make([]byte, size))
					}
					ended <- err
				})
				v := h.dial()
				v.send(get("/"))
				began := time.Now()
				var taker sync.WaitGroup
				defer taker.Wait()
				defer v.Close()
				taker.Go(func() {
					for err := error(nil); err == nil && c.takes > 0; time.Sleep(10 * time.Minute) {
						_, err = io.CopyN(io.Discard, v.in, int64(c.takes))
					}
				})
				if err := <-ended; !errors.Is(err, c.want) {
					t.Errorf("Write = %v, want %v", err, c.want)
				}
				took := time.Since(began) - (stallTime - time.Minute)
				if c.want != nil && (took < stallTime || took > mostStall) {
					t.Errorf("Write took %v, want %v to %v", took, stallTime, mostStall)
				}
				if err := <-h.shutdown(t.Context()); err != nil {
					t.Errorf("Shutdown = %v, want nil", err)
				}
			})
		})
	}
}

// timed is a connection that counts how often its writes got a deadline.
type timed struct {
	net.Conn
	set int
}

func (c *timed) RemoteAddr() net.Addr             { return nil }
func (c *timed) SetWriteDeadline(time.Time) error { c.set++; return nil }

// TestAnswerAfterTheStall: a handler that gives up with its context can still tell
// the client. Its write may begin while the context is being ended, and is not
// the one that has stalled.
func TestAnswerAfterTheStall(t *testing.T) {
	for name, test := range map[string]struct {
		before bool // it was writing when it was looked at
		want   int
	}{
		"a write that stalls":     {true, 1},
		"a write of the farewell": {false, 0},
	} {
		rw := &timed{}
		c := newConn(&Server{}, rw)
		defer c.cancel()
		c.state.Store(active)
		c.writing.Store(test.before)
		end := c.cancel
		c.cancel = func() {
			end()
			c.writing.Store(true) // the handler woke up
		}
		c.giveUp(c.touched.Load() + 1)
		if c.context.Err() == nil || rw.set != test.want {
			t.Errorf("%s: %d deadlines, context %v; want %d and an end", name, rw.set, c.context.Err(), test.want)
		}
	}
}

// TestSlowTaker: a client that takes a large answer slowly is waited for, even if
// the handler writes all of it at once.
func TestSlowTaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 4 * piece
		ended := make(chan error, 1)
		h := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(size))
			_, err := w.Write(make([]byte, size))
			ended <- err
		})
		v := h.dial()
		v.send(get("/"))
		for err := error(nil); err == nil; {
			time.Sleep(stallTime / 2)
			_, err = io.CopyN(io.Discard, v.in, piece)
			select {
			case wrote := <-ended:
				if wrote != nil {
					t.Errorf("Write = %v, want nil", wrote)
				}
				return
			default:
			}
		}
		t.Error("the answer ended before it was written")
	})
}

// TestOptionsWithoutTheirBody: a body that nobody reads need not come for ever.
func TestOptionsWithoutTheirBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, steered)
		v := h.dial()
		began := time.Now()
		v.send("OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
		_, _ = io.Copy(io.Discard, v.in)
		if took := time.Since(began); took < headerTime || took > headerTime+farewell {
			t.Errorf("the connection was closed after %v, want %v", took, headerTime)
		}
	})
}

func pause(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// TestContextEndsWithTheClient: once reading or writing has failed, whatever the
// handler does for that client is in vain.
func TestContextEndsWithTheClient(t *testing.T) {
	for name, touch := range map[string]func(http.ResponseWriter, *http.Request) error{
		"reading": func(_ http.ResponseWriter, r *http.Request) error {
			_, err := io.ReadAll(r.Body)
			return err
		},
		"writing": func(w http.ResponseWriter, _ *http.Request) error {
			_, err := w.Write(make([]byte, 2*bufferSize))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var failure, ended error
				v := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
					if err := r.Context().Err(); err != nil {
						t.Errorf("the context of a request begins with %v", err)
					}
					time.Sleep(time.Second) // the client leaves meanwhile
					failure, ended = touch(w, r), r.Context().Err()
				}).dial()
				v.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
				v.Close()
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if failure == nil || !errors.Is(ended, context.Canceled) {
					t.Errorf("%s = %v, and the context %v; want two errors", name, failure, ended)
				}
			})
		})
	}
}

// TestLargeBufferIsGivenBack: one large head must not cost memory for as long as
// the connection is kept.
func TestLargeBufferIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, steered)
		v := h.dial()
		for range 2 {
			want(t, v.ask(headOf(bufferSize+10)), 200, "", false)
			synctest.Wait()
			h.server.mu.Lock()
			for c := range h.server.conns {
				if size := c.in.Size(); size != bufferSize {
					t.Errorf("an idle connection has a buffer of %d bytes, want %d", size, bufferSize)
				}
			}
			h.server.mu.Unlock()
		}
	})
}

// TestUnreadAnswersOfTheServer: what the server answers by itself is not written
// for ever to a client that does not read.
func TestUnreadAnswersOfTheServer(t *testing.T) {
	for name, text := range map[string]string{
		"OPTIONS *":    "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
		"100 Continue": "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
		"a refusal":    "GET / HTTP/1.1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, steered)
				h.dial().send(text)
				time.Sleep(mostStall + farewell + time.Second)
				h.server.mu.Lock()
				defer h.server.mu.Unlock()
				if n := len(h.server.conns); n != 0 {
					t.Errorf("%d connections are left after %v", n, mostStall)
				}
			})
		})
	}
}
