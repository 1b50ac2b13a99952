package plainhttp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// swapLogger sends the standard logger's lines elsewhere for a test.
func swapLogger(t *testing.T, to io.Writer) {
	was := log.Writer()
	log.SetOutput(to)
	t.Cleanup(func() { log.SetOutput(was) })
}

// listen serves on the loopback network.
func listen(t *testing.T, handler http.HandlerFunc) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		Handler: handler, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: testLimit,
	}
	served := make(chan error)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Shutdown(context.Background())
		<-served
	})
	return l.Addr().String()
}

// A client that is still sending sees the answer, and not only that the
// connection is gone.
func TestLingeringClose(t *testing.T) {
	for name, head := range map[string]string{
		"an ignored body": request("POST", "/ignore", "", "Content-Length: 100000000"),
		"a bad request":   "garbage\r\n\r\n",
		"a large head":    "GET /" + strings.Repeat("x", 2*testLimit),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", listen(t, steered))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var sender sync.WaitGroup
			sender.Go(func() {
				_, _ = io.WriteString(c, head)
				for err := error(nil); err == nil; {
					_, err = c.Write(make([]byte, 64<<10))
				}
			})
			a, err := parseAnswer(bufio.NewReader(c), "GET")
			if a.Status == 0 || !a.Close || err != nil {
				t.Errorf("the answer is %+v, %v; want one", a, err)
			}
			sender.Wait()
		})
	}
}

// A head beyond the buffer comes in many pieces, and with the next request.
func TestLargeHeadOnTheNetwork(t *testing.T) {
	c, err := net.Dial("tcp", listen(t, steered))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	_, _ = io.WriteString(c, headOf(3*bufferSize)+post("/echo", "hello")+headOf(testLimit+1))
	for i, want := range []int{200, 200, 431} {
		if a, err := parseAnswer(in, "GET"); a.Status != want || err != nil {
			t.Errorf("answer %d = %d, %v; want %d", i, a.Status, err, want)
		}
	}
}

func TestManyConnections(t *testing.T) {
	const connections, requests = 200, 5
	addr := listen(t, steered)
	var crowd sync.WaitGroup
	for i := range connections {
		crowd.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			in := bufio.NewReader(c)
			for j := range requests {
				body := fmt.Sprintf("%d of %d", j, i)
				_, _ = io.WriteString(c, post("/echo", body))
				a, err := parseAnswer(in, "POST")
				if a.Body != body || err != nil {
					t.Errorf("the answer is %q, %v; want %q", a.Body, err, body)
				}
			}
		})
	}
	crowd.Wait()
}

// net/http's own client is content with the answers, and keeps its connection.
func TestNetHTTPsClient(t *testing.T) {
	var mu sync.Mutex
	from := map[string]bool{}
	addr := listen(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		from[r.RemoteAddr] = true
		mu.Unlock()
		steered(w, r)
	})
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	for _, target := range []string{"/echo", "/404", "/204", "/304", "/part", "/big", "/nothing", "/flush"} {
		r, err := http.NewRequest("POST", "http://"+addr+target, strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		if target == "/echo" {
			r.Header.Set("Expect", "100-continue")
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatalf("POST %s: %v", target, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Errorf("POST %s: %v", target, err)
		}
		answer.Body.Close()
	}
	if len(from) != 1 {
		t.Errorf("the client needed %d connections, want 1", len(from))
	}
}
