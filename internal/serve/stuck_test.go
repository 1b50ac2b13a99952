//go:build unix

package serve

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/internal/soak"
)

// short are timeouts that a test can wait for. An idle connection has more time:
// it is one whose unread answers fit into the system's buffers.
var short = Timeouts{Header: time.Second, Idle: 3 * time.Second, Exchange: time.Second, Stall: time.Second}

// stuck is a way to keep a connection without completing a request.
type stuck struct {
	name, head string
	again      bool // the request is sent again and again, and no answer read
}

const (
	toJSON   = "Host: localhost\r\nContent-Type: application/json\r\n"
	promised = "Content-Length: 100\r\n\r\n"
	large    = "Content-Length: 10000000\r\n\r\n"
	inChunks = "Transfer-Encoding: chunked\r\n\r\n4\r\n{\"re"
	devPath  = "/devstoreaccount1/box/b"
)

// atEither are for both listeners.
var atEither = []stuck{
	{"silence", "", false},
	{"half a head", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", false},
	{"nonsense, answers unread", "nonsense\r\n\r\n", true},
	{"OPTIONS *, answers unread", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", true},
	{"a foreign Host, body missing", "POST /x HTTP/1.1\r\nHost: evil.example\r\n" + promised, false},
	{"a foreign Host, large body missing", "POST /x HTTP/1.1\r\nHost: evil.example\r\n" + large, false},
	{"a foreign Host, body without an end", "POST /x HTTP/1.1\r\nHost: evil.example\r\n" + inChunks, false},
	{"a foreign Host, offered body", "POST /x HTTP/1.1\r\nHost: evil.example\r\nExpect: 100-continue\r\n" + promised, false},
	{"a foreign Host, answers unread", "GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n", true},
}

var atJSON = []stuck{
	{"a path that is not there, body missing", "POST /x HTTP/1.1\r\n" + toJSON + promised, false},
	{"a form, body missing", "POST /v1/leases/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n" + promised, false},
	{"a large body missing", "POST /v1/leases/acquire HTTP/1.1\r\n" + toJSON + large, false},
	{"half a body", "POST /v1/leases/acquire HTTP/1.1\r\n" + toJSON + promised + `{"resource`, false},
	{"a body without an end", "POST /v1/leases/acquire HTTP/1.1\r\n" + toJSON + inChunks, false},
	{"an offered body", "POST /v1/leases/acquire HTTP/1.1\r\n" + toJSON + "Expect: 100-continue\r\n" + promised, false},
	{"health, answers unread", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
	{"documents, answers unread", "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
	{"a blob refused, body missing", "PUT /blob" + devPath + " HTTP/1.1\r\nHost: localhost\r\n" + promised, false},
	{"half a blob", "PUT /blob" + devPath + " HTTP/1.1\r\nHost: localhost\r\nx-ms-blob-type: BlockBlob\r\n" + promised + "half", false},
	{"blobs, answers unread", "GET /blob" + devPath + " HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
}

var atBlobs = []stuck{
	{"no signature, body missing", "PUT " + devPath + " HTTP/1.1\r\nHost: localhost\r\n" + promised, false},
	{"no signature, large body missing", "PUT " + devPath + " HTTP/1.1\r\nHost: localhost\r\n" + large, false},
	{"no signature, answers unread", "GET " + devPath + " HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
	{"half a blob", "PUT " + devPath + "SIGNED HTTP/1.1\r\nHost: localhost\r\nx-ms-blob-type: BlockBlob\r\n" + promised + "half", false},
	{"half an offered blob", "PUT " + devPath + "SIGNED HTTP/1.1\r\nHost: localhost\r\nx-ms-blob-type: BlockBlob\r\nExpect: 100-continue\r\n" + promised + "half", false},
	{"half a document", "PUT /devstoreaccount1/boxSIGNED&restype=container&comp=acl HTTP/1.1\r\nHost: localhost\r\n" + promised + "<Signed", false},
	{"blobs, answers unread", "GET " + devPath + "SIGNED HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
}

// TestStuckConnections: as many connections as the server takes, all stuck in one
// way, end at a timeout: as many others are then served.
func TestStuckConnections(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		for listener, ways := range map[string][]stuck{"JSON": atJSON, "Blob": atBlobs} {
			t.Run(fmt.Sprintf("%s, TLS %v", listener, secure), func(t *testing.T) {
				t.Parallel()
				var all sync.WaitGroup // all ways at once: each takes as long as a timeout
				if secure {
					ways = nil // the handlers see no difference
				}
				for _, way := range append(ways, atEither...) {
					if secure && way.again && !soak.Long() {
						continue // encrypting until the buffers are full takes its time
					}
					o := Defaults()
					o.MaxConnections, o.Timeouts = connections, short
					s := start(t, o, secure)
					s.seed()
					address, probe := s.json, "/healthz"
					if listener == "Blob" {
						address, probe = s.blob, devPath+s.signature()
					}
					way.head = strings.Replace(way.head, "SIGNED", s.signature(), 1)
					for range connections {
						go way.hold(s.dial(address))
						client := s.client()
						all.Go(func() { wantServed(t, way.name, client, s.url(address)+probe) })
					}
				}
				all.Wait()
			})
		}
	}
}

const connections = 2

// hold keeps the connection open for as long as it can.
func (w stuck) hold(c net.Conn) {
	many := w.head
	if w.again {
		many = strings.Repeat(w.head, 100)
	}
	for {
		if _, err := io.WriteString(c, many); err != nil || !w.again {
			return
		}
	}
}

// seed makes a blob that is so large that unread answers soon fill the buffers.
func (s *testServer) seed() {
	s.t.Helper()
	client := s.client()
	for _, one := range []struct{ path, body string }{
		{"/blob/devstoreaccount1/box?restype=container", ""}, {"/blob" + devPath, strings.Repeat("x", 1<<20)},
	} {
		for deadline := time.Now().Add(20 * time.Second); !s.put(client, one.path, one.body); { // the timeouts may be too short for a machine under load
			if time.Now().After(deadline) {
				s.t.Fatalf("%s could not be made", one.path)
			}
		}
	}
	client.CloseIdleConnections()
}

// put reports whether the container or blob is there.
func (s *testServer) put(client *http.Client, path, body string) bool {
	r, err := http.NewRequest(http.MethodPut, s.url(s.json)+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("x-ms-blob-type", "BlockBlob")
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusCreated || answer.StatusCode == http.StatusConflict
}

// signature is the query that lets a request into the development account.
func (s *testServer) signature() string {
	s.t.Helper()
	dev := sign.Development()
	credential, err := service.NewSharedKeyCredential(dev.Name, base64.StdEncoding.EncodeToString(dev.Keys[0]))
	if err != nil {
		s.t.Fatal(err)
	}
	q, err := sas.AccountSignatureValues{
		ExpiryTime: time.Now().Add(time.Hour), Permissions: "rwdlac", ResourceTypes: "sco",
	}.SignWithSharedKey(credential)
	if err != nil {
		s.t.Fatal(err)
	}
	return "?" + q.Encode()
}

// wantServed checks that another connection is served within a minute. On a machine
// under load it may be too slow for these timeouts, and tries again.
func wantServed(t *testing.T, way string, client *http.Client, url string) {
	for deadline := time.Now().Add(time.Minute); ; {
		answer, err := client.Get(url)
		if err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				t.Errorf("%s: GET of another client = %s, want 200", way, answer.Status)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: GET of another client: %v", way, err)
			return
		}
	}
}
