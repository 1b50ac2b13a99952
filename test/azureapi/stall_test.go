package azureapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// wire is a connection to the server that is used byte by byte.
func (d *deployment) wire() (net.Conn, *bufio.Reader) {
	d.Helper()
	conn, err := d.dial(context.Background(), "", "")
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { conn.Close() })
	return conn, bufio.NewReader(conn)
}

// stallTimeout is the server's default.
const stallTimeout = time.Minute

const slowPut = "PUT /blob/" + testAccount + "/box/slow HTTP/1.1\r\nHost: x\r\nx-ms-blob-type: BlockBlob\r\nContent-Length: 10\r\n\r\n"

// inBubble runs a test of a deployment in a synctest bubble.
func inBubble(t *testing.T, test func(*testing.T, *deployment)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newDeployment(t)) })
}

// TestSlowSender: a byte now and then is enough, and so is the next request on
// the same connection long after.
func TestSlowSender(t *testing.T) {
	inBubble(t, func(t *testing.T, d *deployment) {
		d.ensure("box")
		conn, in := d.wire()
		for range 2 {
			io.WriteString(conn, slowPut)
			for range 10 {
				time.Sleep(stallTimeout * 2 / 5)
				io.WriteString(conn, "x")
			}
			answer, err := http.ReadResponse(in, nil)
			if err != nil || answer.StatusCode != http.StatusCreated {
				t.Fatalf("a slow upload = %v, %v, want 201", answer, err)
			}
			answer.Body.Close()
			time.Sleep(2 * stallTimeout)
		}
	})
}

// TestSilentSender: a client that stops sending is disconnected, whether the
// server was about to read or to refuse, and nothing is written.
func TestSilentSender(t *testing.T) {
	for name, request := range map[string]string{
		"an upload":  slowPut + "half",
		"a refusal":  strings.Replace(slowPut, "BlockBlob", "NoBlob", 1),
		"a document": strings.Replace(slowPut, "/slow", "?restype=container&comp=acl", 1) + "<Signed",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, d *deployment) {
				d.ensure("box")
				conn, in := d.wire()
				io.WriteString(conn, request)
				began := time.Now()
				answer, err := http.ReadResponse(in, nil)
				if err == nil {
					answer.Body.Close()
					if answer.StatusCode < 400 {
						t.Errorf("half a request = %d", answer.StatusCode)
					}
				}
				_, _ = io.Copy(io.Discard, in) // until the server disconnects
				if waited := time.Since(began); waited > 2*stallTimeout {
					t.Errorf("the silent sender was given %v, want about %v", waited, stallTimeout)
				}
				if d.has("box", "slow") {
					t.Error("half an upload was written")
				}
			})
		})
	}
}

// TestSilentReader: a client that stops reading is disconnected.
func TestSilentReader(t *testing.T) {
	inBubble(t, func(t *testing.T, d *deployment) {
		d.ensure("box")
		d.put("box", "large", strings.Repeat("x", 1<<20))
		conn, in := d.wire()
		fmt.Fprintf(conn, "GET /blob/%s/box/large HTTP/1.1\r\nHost: x\r\n\r\n", testAccount)
		answer, err := http.ReadResponse(in, nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("GET = %v, %v", answer, err)
		}
		defer answer.Body.Close()
		time.Sleep(3 * stallTimeout)
		if n, err := io.Copy(io.Discard, answer.Body); err == nil {
			t.Errorf("a reader that slept got all %d bytes", n)
		}
	})
}

// TestHangingDisk: a request whose commit does not end is answered after a
// minute, with the truth: nobody knows whether it took effect.
func TestHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t)
		d.upload("b", "x", nil)
		d.engine.stuck.Store(true)
		began := time.Now()
		r := d.signed("PUT", d.path("b")+"?comp=lease", "", "x-ms-lease-action", "acquire", "x-ms-lease-duration", "60")
		if r.status != http.StatusInternalServerError || r.code() != "OperationTimedOut" {
			t.Errorf("a lease on a disk that hangs = %d %s, want 500 OperationTimedOut", r.status, r.code())
		}
		if took := time.Since(began); took < stallTimeout || took > stallTimeout*5/4 {
			t.Errorf("the answer took %v, want %v or a little more", took, stallTimeout)
		}
		d.engine.stuck.Store(false)
		if r := d.signed("GET", d.path("b"), ""); r.status != http.StatusOK {
			t.Errorf("a read once the disk answers again = %d", r.status)
		}
	})
}

// TestClientThatLeaves: a client that is gone is no failure of ours, and not
// logged as one.
func TestClientThatLeaves(t *testing.T) {
	for name, leave := range map[string]func(net.Conn, *bufio.Reader){
		"in the middle of its upload": func(conn net.Conn, _ *bufio.Reader) {
			io.WriteString(conn, slowPut+"half")
		},
		"in the middle of the answer": func(conn net.Conn, in *bufio.Reader) {
			io.WriteString(conn, "GET /blob/"+testAccount+"/box/large HTTP/1.1\r\nHost: x\r\n\r\n")
			_, _ = io.ReadFull(in, make([]byte, 2000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDeployment(t)
				d.ensure("box")
				d.put("box", "large", strings.Repeat("x", 1<<20))
				conn, in := d.wire()
				leave(conn, in)
				conn.Close()
				time.Sleep(time.Second)
				synctest.Wait()
				if log := d.log.String(); !strings.Contains(log, `level=DEBUG msg="blob request failed"`) || strings.Contains(log, "level=ERROR") {
					t.Errorf("the log tells:\n%s", log)
				}
			})
		})
	}
}
