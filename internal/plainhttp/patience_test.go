package plainhttp

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestPatience(t *testing.T) {
	whole := get("/echo")
	for name, c := range map[string]struct {
		sends []string // a second apart; each whole request is answered
		want  time.Duration
	}{
		"a new connection without a word": {nil, headerTime},
		"half a head":                     {[]string{whole[:9]}, headerTime},
		"a head byte by byte":             {[]string{whole[:9], "x", "x", "x"}, headerTime},
		"between two requests":            {[]string{whole}, idleTime},
		"half a second head":              {[]string{whole, whole[:9]}, time.Second + headerTime},
		"a head and a half":               {[]string{whole + whole[:9]}, headerTime},
		"a head and a half in large":      {[]string{headOf(bufferSize+10) + whole[:9]}, headerTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newHouse(t, steered).dial()
				began := time.Now()
				go func() {
					for _, text := range c.sends {
						v.send(text)
						time.Sleep(time.Second)
					}
				}()
				_, _ = io.Copy(io.Discard, v.in)
				if took := time.Since(began); took != c.want {
					t.Errorf("the connection was closed after %v, want %v", took, c.want)
				}
			})
		})
	}
}

// Only heads have to hurry. How long a body may take is the handler's business.
func TestBodiesAreNotHurried(t *testing.T) {
	for name, first := range map[string]string{
		"first request":  "",
		"second request": get("/echo"),
	} {
		for kind, send := range map[string][]string{
			"with a length": {request("POST", "/echo", "", "Content-Length: 10"), "hello", "world"},
			"in chunks":     {chunked("/echo", "5\r\n"), "hello\r\n5\r\nworld", "\r\n0\r\n\r\n"},
			"in pieces":     {"POST /echo HTTP/1.1\r\nHost: a\r\n", "Content-Length: 10\r\n\r\n", "hello", "world"},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					v := newHouse(t, steered).dial()
					if first != "" {
						v.ask(first)
					}
					pause := headerTime - time.Second // the last part of a head may take as long
					for _, text := range send {
						v.send(text)
						time.Sleep(pause)
						pause = 2 * idleTime
					}
					want(t, v.hear(), 200, "helloworld", false)
					want(t, v.ask(get("/after")), 200, "after", false)
				})
			})
		}
	}
}

// A handler that takes its time is not cut off either, nor is its successor.
func TestHandlersAreNotHurried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(2 * idleTime)
			steered(w, r)
		}).dial()
		for range 2 {
			want(t, v.ask(post("/echo", "hello")), 200, "hello", false)
		}
	})
}

// The handler's read deadline is for its own body.
func TestReadDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
			if r.RequestURI == "/limited" {
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
			}
			steered(w, r)
		})
		v := h.dial()
		v.send(post("/limited", "first") + request("POST", "/echo", "", "Content-Length: 6"))
		want(t, v.hear(), 200, "first", false)
		time.Sleep(time.Minute)
		want(t, v.ask("second"), 200, "second", false)

		v.send(request("POST", "/limited", "", "Content-Length: 5"))
		want(t, v.hear(), 200, "", true)
		v.wantEnd()
	})
}

// A client that wants the connection closed may wait for the answer before it
// sends a body that nobody reads.
func TestAnswerBeforeTheBody(t *testing.T) {
	for name, send := range map[string]string{
		"close":       request("POST", "/ignore", "", "Content-Length: 5", "Connection: close"),
		"1.0":         raw("POST /ignore HTTP/1.0", "Content-Length: 5"),
		"continue":    request("POST", "/ignore", "", "Content-Length: 5", "Expect: 100-continue"),
		"large":       request("POST", "/ignore", "", "Content-Length: 1000000"),
		"the handler": request("POST", "/close", "", "Content-Length: 5"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newHouse(t, steered).dial()
				began := time.Now()
				v.send(send)
				if a := v.hear(); a.Status != 200 || !a.Close {
					t.Errorf("the answer is %+v, want 200, close", a)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("the answer took %v, want nothing", took)
				}
				v.wantEnd()
				if took := time.Since(began); took != farewell {
					t.Errorf("the connection was closed after %v, want %v", took, farewell)
				}
			})
		})
	}
}

// A client that is not there to be told to continue fails the body.
func TestContinueThatIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		h := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			ended <- err
		})
		v := h.dial()
		v.send(request("POST", "/", "", "Content-Length: 5", "Expect: 100-continue"))
		if err := <-ended; err == nil {
			t.Error("a body was read that was not sent")
		}
		v.wantEnd()
	})
}
