package plainhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestShutdownClosesIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, steered)
		fresh, used := h.dial(), h.dial()
		want(t, used.ask(get("/echo")), 200, "", false)
		synctest.Wait()
		began := time.Now()
		if err := <-h.shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown = %v, want nil", err)
		}
		fresh.wantEnd()
		used.wantEnd()
		if err := <-h.served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve = %v, want %v", err, http.ErrServerClosed)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("Shutdown took %v, want nothing", took)
		}
	})
}

// waiting is a handler that answers when it is let go.
func waiting(release <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		<-release
		w.Header().Set("Content-Length", "4")
		_, _ = io.WriteString(w, "done")
	}
}

func TestShutdownWaitsForRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := newHouse(t, waiting(release))
		v := h.dial()
		v.send(get("/"))
		synctest.Wait()
		done := h.shutdown(t.Context())
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("Shutdown = %v while a request is under way", err)
		default:
		}
		close(release)
		want(t, v.hear(), 200, "done", true)
		v.wantEnd()
		if err := <-done; err != nil {
			t.Errorf("Shutdown = %v, want nil", err)
		}
	})
}

// The second request came before the shutdown, but nobody has looked at it.
func TestShutdownBetweenTwoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := newHouse(t, waiting(release))
		v := h.dial()
		v.send(get("/") + get("/"))
		synctest.Wait()
		done := h.shutdown(t.Context())
		synctest.Wait()
		close(release)
		want(t, v.hear(), 200, "done", true)
		v.wantEnd()
		if err := <-done; err != nil {
			t.Errorf("Shutdown = %v, want nil", err)
		}
	})
}

// The answer has begun when the shutdown comes, so that it cannot say that the
// connection ends. It ends all the same.
func TestShutdownInTheMiddleOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "4")
			w.WriteHeader(200)
			waiting(release)(w, r)
		})
		v := h.dial()
		v.send(get("/"))
		synctest.Wait()
		done := h.shutdown(t.Context())
		synctest.Wait()
		close(release)
		want(t, v.hear(), 200, "done", false)
		v.wantEnd()
		if err := <-done; err != nil {
			t.Errorf("Shutdown = %v, want nil", err)
		}
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := newHouse(t, waiting(release))
		v := h.dial()
		v.send(get("/"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := <-h.shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown = %v, want %v", err, context.DeadlineExceeded)
		}
		close(release)
		want(t, v.hear(), 200, "done", true)
		if err := <-h.shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown again = %v, want nil", err)
		}
	})
}

func TestCloseCutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		h := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			ended <- err
		})
		v, silent := h.dial(), h.dial()
		v.send(request("POST", "/", "half", "Content-Length: 10"))
		synctest.Wait()
		h.server.Close()
		if err := <-ended; err == nil {
			t.Error("the handler read all of half a body")
		}
		v.wantEnd()
		silent.wantEnd()
		if err := <-h.shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown after Close = %v, want nil", err)
		}
	})
}

func TestServeAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(*Server) error{
		"Close":    (*Server).Close,
		"Shutdown": func(s *Server) error { return s.Shutdown(t.Context()) },
	} {
		s, l := &Server{}, newWires()
		if err := end(s); err != nil {
			t.Errorf("%s = %v, want nil", name, err)
		}
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve after %s = %v, want %v", name, err, http.ErrServerClosed)
		}
		if _, err := l.Accept(); err == nil {
			t.Errorf("the listener is open after %s", name)
		}
	}
}

// faulty is a listener that fails before it works.
type faulty struct {
	*wires
	errs []error
}

func (l *faulty) Accept() (net.Conn, error) {
	if len(l.errs) == 0 {
		return l.wires.Accept()
	}
	err := l.errs[0]
	l.errs = l.errs[1:]
	return nil, err
}

// passing is an error that goes by.
type passing struct{ error }

func (passing) Temporary() bool { return true }

func TestServeReturnsTheListenersError(t *testing.T) {
	broken := errors.New("broken")
	l := &faulty{newWires(), []error{broken}}
	if err := new(Server).Serve(l); err != broken {
		t.Errorf("Serve = %v, want %v", err, broken)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is open")
	}
}

func TestServeRetriesPassingErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &faulty{newWires(), nil}
		for range 10 {
			l.errs = append(l.errs, passing{errors.New("too many open files")})
		}
		s := &Server{Handler: http.HandlerFunc(steered), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: testLimit}
		served := make(chan error, 1)
		began := time.Now()
		go func() { served <- s.Serve(l) }()
		near, far := net.Pipe()
		l.conns <- far
		want := (5+10+20+40+80+160+320+640)*time.Millisecond + 2*time.Second
		if took := time.Since(began); took != want {
			t.Errorf("10 errors took %v, want %v", took, want)
		}
		near.Close()
		s.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve = %v, want %v", err, http.ErrServerClosed)
		}
	})
}

// late is a listener that accepts a connection while the server closes.
type late struct {
	*wires
	server *Server
	conn   net.Conn
}

func (l *late) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		l.server.Close()
		return c, nil
	}
	return l.wires.Accept()
}

func TestConnectionThatComesTooLate(t *testing.T) {
	near, far := net.Pipe()
	s := &Server{}
	if err := s.Serve(&late{newWires(), s, far}); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve = %v, want %v", err, http.ErrServerClosed)
	}
	if _, err := near.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("Read = %v, want %v", err, io.EOF)
	}
}

// anonymous is a connection from nowhere.
type anonymous struct{ net.Conn }

func (anonymous) RemoteAddr() net.Addr { return nil }

func TestConnectionWithoutAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var from = "nobody was here"
		h := newHouse(t, func(w http.ResponseWriter, r *http.Request) { from = r.RemoteAddr })
		near, far := net.Pipe()
		h.listener.conns <- anonymous{far}
		_, _ = io.WriteString(near, get("/"))
		_, _ = near.Read(make([]byte, 1000))
		if from != "" {
			t.Errorf("RemoteAddr = %q, want none", from)
		}
		near.Close()
	})
}

func TestPanicsAreLogged(t *testing.T) {
	for _, c := range []struct{ target, want, not string }{
		{"/panic", "panic serving pipe: on purpose", ""},
		{"/panic", "server_test.go", ""}, // or wherever the handler is: a stack names files
		{"/abort", "", "panic"},
		{"/twice", "superfluous", ""},
		{"/echo", "", "e"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, func(w http.ResponseWriter, r *http.Request) { steered(w, r) })
			v := h.dial()
			v.send(get(c.target))
			_, _ = v.in.Peek(1)
			synctest.Wait()
			got := h.log.String()
			if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("%s is logged as %q, want %q and not %q", c.target, got, c.want, c.not)
			}
		})
	}
}

func TestPanicsAreLoggedSomewhere(t *testing.T) {
	var d diary
	swapLogger(t, &d)
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, steered)
		h.server.ErrorLog = nil
		v := h.dial()
		v.send(get("/panic"))
		v.wantEnd()
		synctest.Wait()
	})
	if got := d.String(); !strings.Contains(got, "on purpose") {
		t.Errorf("the standard logger heard %q, want the panic", got)
	}
}
