//go:build unix

package serve

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A client that sends all of a large body before it reads sees why it was refused.
func TestLargeBodiesAreAnswered(t *testing.T) {
	t.Parallel()
	const size = 10 << 20
	announced := fmt.Sprintf("Content-Length: %d\r\n\r\n", size)
	chunked := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", size)
	for _, secure := range []bool{false, true} {
		s := start(t, Defaults(), secure)
		for _, tt := range []struct {
			name, address, head string
			status              int
		}{
			{"too large", s.json, "POST /v1/leases/acquire HTTP/1.1\r\n" + toJSON + announced, 413},
			{"too large, in chunks", s.json, "POST /v1/leases/acquire HTTP/1.1\r\n" + toJSON + chunked, 413},
			{"no such path", s.json, "POST /x HTTP/1.1\r\n" + toJSON + announced, 404},
			{"a foreign Host", s.json, "POST /x HTTP/1.1\r\nHost: evil.example\r\n" + announced, 403},
			{"a form", s.json, "POST /v1/leases/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n" + announced, 415},
			{"a blob without a container", s.json, "PUT /blob/devstoreaccount1/none/b HTTP/1.1\r\nHost: localhost\r\nx-ms-blob-type: BlockBlob\r\n" + announced, 404},
			{"a blob without a signature", s.blob, "PUT /devstoreaccount1/none/b HTTP/1.1\r\nHost: localhost\r\nx-ms-blob-type: BlockBlob\r\n" + announced, 401},
		} {
			t.Run(fmt.Sprintf("%s, TLS %v", tt.name, secure), func(t *testing.T) {
				c := s.dial(tt.address)
				defer c.Close()
				end := ""
				if strings.HasSuffix(tt.head, chunked) {
					end = "\r\n0\r\n\r\n"
				}
				if _, err := io.WriteString(c, tt.head+strings.Repeat(" ", size)+end); err != nil {
					t.Fatalf("the connection broke while the body was sent: %v", err)
				}
				answer, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil || answer.StatusCode != tt.status {
					t.Fatalf("the answer = %v, %v, want %d", answer, err, tt.status)
				}
				answer.Body.Close()
			})
		}
	}
}

// A client that waits, or makes progress, may take longer than any timeout.
func TestTimeoutsSparePatientClients(t *testing.T) {
	t.Parallel()
	o := Defaults()
	o.Timeouts = Timeouts{Header: 2 * time.Second, Idle: time.Minute, Exchange: 2 * time.Second, Stall: 2 * time.Second}
	const long = 6 * time.Second
	for _, secure := range []bool{false, true} { // with TLS, HTTP/2
		s := start(t, o, secure)
		s.seed()
		for name, wait := range map[string]func(*testing.T, *testServer, time.Duration){
			"a wait in a queue": waitInQueue, "a stream of events": watchEvents, "an upload": uploadSlowly, "a download": downloadSlowly,
		} {
			t.Run(fmt.Sprintf("%s, TLS %v", name, secure), func(t *testing.T) {
				t.Parallel()
				wait(t, s, long)
			})
		}
	}
}

func (s *testServer) post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	answer, err := s.client().Post(s.url(s.json)+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Errorf("POST %s: %v", path, err)
		return 0, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Errorf("POST %s: %v", path, err)
	}
	return answer.StatusCode, string(text)
}

func waitInQueue(t *testing.T, s *testServer, long time.Duration) {
	s.post(t, "/v1/leases/acquire", fmt.Sprintf(`{"resource":"queue","holder":"a","ttl_seconds":%v}`, long.Seconds()))
	status, text := s.post(t, "/v1/leases/acquire", `{"resource":"queue","holder":"b","blocking":true,"timeout_ms":60000}`)
	if status != http.StatusCreated {
		t.Errorf("a wait of %v = %d %s, want 201", long, status, text)
	}
}

func watchEvents(t *testing.T, s *testServer, long time.Duration) {
	answer, err := s.client().Get(s.url(s.json) + "/v1/events?prefix=watched")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	time.Sleep(long) // the stream must stay open
	s.post(t, "/v1/leases/acquire", `{"resource":"watched","holder":"a"}`)
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if lines.Text() == "event: acquired" {
			return
		}
	}
	t.Errorf("the stream ended after %v", long)
}

// step is a pause that is no stall.
const step = 200 * time.Millisecond

func uploadSlowly(t *testing.T, s *testServer, long time.Duration) {
	out, in := io.Pipe()
	n := int64(long / step)
	go func() {
		for range n {
			time.Sleep(step)
			_, _ = io.WriteString(in, "x")
		}
		in.Close()
	}()
	r, err := http.NewRequest(http.MethodPut, s.url(s.blob)+"/devstoreaccount1/box/slow"+s.signature(), out)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = n
	r.Header.Set("x-ms-blob-type", "BlockBlob")
	answer, err := s.client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		t.Errorf("an upload of %v = %s, want 201", long, answer.Status)
	}
}

func downloadSlowly(t *testing.T, s *testServer, long time.Duration) {
	const size = 16 << 20
	r, err := http.NewRequest(http.MethodPut, s.url(s.blob)+"/devstoreaccount1/box/large"+s.signature(), strings.NewReader(strings.Repeat("x", size)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-ms-blob-type", "BlockBlob")
	answer, err := s.client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer, err = s.client().Get(s.url(s.blob) + "/devstoreaccount1/box/large" + s.signature()); err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	total := int64(0)
	for err = nil; err == nil; {
		var n int64
		n, err = io.CopyN(io.Discard, answer.Body, size*int64(step)/int64(long))
		total += n
		time.Sleep(step)
	}
	if err != io.EOF || total != size {
		t.Errorf("a download of %v brought %d bytes, %v; want all %d", long, total, err, size)
	}
}
