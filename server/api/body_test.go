package api

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold/internal/pipenet"
)

// talk sends raw bytes and returns the first line of the answer, or "".
func (d *driver) talk(l *pipenet.Listener, text string) string {
	d.Helper()
	conn, err := l.Dial(d.Context(), "", "")
	if err != nil {
		d.Fatal(err)
	}
	defer conn.Close()
	go io.WriteString(conn, text)
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		l, _ := d.listen()
		for head, answer := range map[string]string{
			"POST /v1/leases/acquire HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{":                 "HTTP/1.1 400 Bad Request",
			"POST /v1/leases/acquire HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n": "HTTP/1.1 400 Bad Request",
			"POST /v1/leases/acquire HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10000000\r\n\r\n{":            "HTTP/1.1 413 Request Entity Too Large",
			"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{":                                                             "HTTP/1.1 404 Not Found",
		} {
			began := time.Now()
			if got := d.talk(l, head); got != answer {
				t.Errorf("%q = %q, want %q", head, got, answer)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%q took %v, want 10 s at most", head, took)
			}
		}
		time.Sleep(time.Second) // a connection that is cut lingers for a moment
	})
}

func TestLargeBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		_, client := d.listen()
		huge := `{"resource":"` + strings.Repeat("x", 10<<20) + `"}`
		for _, announced := range []bool{true, false} {
			r := newRequest(t, t.Context(), "POST", "/v1/leases/acquire", huge)
			if !announced {
				r.ContentLength = -1
			}
			answer, err := client.Do(r)
			if err != nil {
				t.Fatalf("10 MB, announced %v: %v", announced, err)
			}
			body := readAll(t, answer.Body)
			answer.Body.Close()
			if answer.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, `"code":"too_large"`) {
				t.Errorf("10 MB, announced %v = %d %s, want 413", announced, answer.StatusCode, body)
			}
		}
		// The largest valid request passes, however it is escaped.
		metadata := make([]string, 8)
		for i := range metadata {
			metadata[i] = fmt.Sprintf(`"%d":"%s"`, i, strings.Repeat(`\u0041`, 1023))
		}
		r := d.send("POST", "/v1/leases/acquire", `{"resource":"`+strings.Repeat(`\u0041`, 1024)+`","holder":"`+strings.Repeat(`\u0041`, 256)+`","metadata":{`+strings.Join(metadata, ",")+`}}`)
		if r.status != http.StatusCreated {
			t.Errorf("the largest request = %d %s, want 201", r.status, r.body)
		}
		time.Sleep(time.Second) // as above
	})
}

func TestCutOffBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		l, _ := d.listen()
		conn, err := l.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "POST /v1/leases/acquire HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"resource\":\"r\",\"holder\":\"a\"}")
		conn.Close()
		time.Sleep(time.Second) // as above
		if d.status("r").Lease != nil {
			t.Error("half a body was granted a lease")
		}
	})
}
