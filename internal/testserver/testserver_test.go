package testserver_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/internal/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, testserver.Leaks()...) }

// redis sends one command and returns the first line of the answer.
func redis(addr, command string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return exchange(conn, command)
}

func exchange(conn net.Conn, command string) (string, error) {
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

func TestRedisKeepsItsDataOverARestart(t *testing.T) {
	s := testserver.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	if got, err := redis(s.Addr, "SET k v"); got != "+OK" || err != nil {
		t.Fatalf("SET = %q, %v", got, err)
	}
	s.Kill()
	if got, err := redis(s.Addr, "PING"); err == nil {
		t.Fatalf("PING after Kill = %q, want an error", got)
	}
	s.Start()
	if got, err := redis(s.Addr, "EXISTS k"); got != ":1" || err != nil {
		t.Errorf("EXISTS after Start = %q, %v, want :1", got, err)
	}
	s.Restart()
}

func TestRedisWithAPassword(t *testing.T) {
	s := testserver.Redis(t, "--requirepass", "hunter2")
	if got, err := redis(s.Addr, "PING"); !strings.HasPrefix(got, "-NOAUTH") || err != nil {
		t.Errorf("PING = %q, %v, want NOAUTH", got, err)
	}
}

func TestRedisWithTLS(t *testing.T) {
	s := testserver.RedisTLS(t, testserver.NewCertificate(t))
	if got, err := redis(s.Addr, "PING"); err == nil {
		t.Errorf("PING without TLS = %q, want an error", got)
	}
}

func TestAzurite(t *testing.T) {
	c := testserver.NewCertificate(t)
	s, secure := testserver.Azurite(t), testserver.AzuriteTLS(t, c)
	for range 2 {
		get(t, http.DefaultTransport.(*http.Transport).Clone(), "http://"+s.Addr+"/", 400)
		get(t, &http.Transport{TLSClientConfig: c.Client()}, "https://"+secure.Addr+"/", 400)
		s.Restart()
	}
}

func TestCosmos(t *testing.T) {
	c := testserver.NewCertificate(t)
	s := testserver.Cosmos(t)
	get(t, http.DefaultTransport.(*http.Transport).Clone(), "http://"+s.Addr+"/", 200)
	get(t, &http.Transport{TLSClientConfig: c.Client()}, "https://"+testserver.TLS(t, s.Addr, c)+"/", 200)
}

func get(t *testing.T, transport *http.Transport, url string, want int) {
	t.Helper()
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(url)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	response.Body.Close()
	if response.StatusCode != want {
		t.Errorf("GET %s = %d, want %d", url, response.StatusCode, want)
	}
}

func TestProxyFaults(t *testing.T) {
	server := testserver.Redis(t)
	network := testserver.Proxy(t, server.Addr)
	works := func() {
		t.Helper()
		if got, err := redis(network.Addr, "PING"); got != "+PONG" || err != nil {
			t.Fatalf("PING = %q, %v, want +PONG", got, err)
		}
	}
	works()

	conn, err := net.Dial("tcp", network.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := exchange(conn, "PING"); got != "+PONG" {
		t.Fatalf("PING = %q, %v, want +PONG", got, err)
	}
	network.Cut()
	if got, err := exchange(conn, "PING"); err == nil {
		t.Errorf("PING on a cut connection = %q, want an error", got)
	}
	if got, err := redis(network.Addr, "PING"); err == nil {
		t.Errorf("PING through a cut network = %q, want an error", got)
	}
	network.Heal()
	works()

	network.Delay(200*time.Millisecond, 0)
	from := time.Now()
	works()
	if took := time.Since(from); took < 200*time.Millisecond {
		t.Errorf("a delayed PING took %v, want at least 200ms", took)
	}
	network.Heal()

	network.Reset()
	if got, err := redis(network.Addr, "INCR answered"); err == nil {
		t.Errorf("INCR with the answer reset = %q, want an error", got)
	}
	network.Heal()
	network.ResetRequests()
	if got, err := redis(network.Addr, "INCR asked"); err == nil {
		t.Errorf("INCR with the request reset = %q, want an error", got)
	}
	network.Heal()
	works()
	if got, _ := redis(server.Addr, "EXISTS answered"); got != ":1" {
		t.Errorf("EXISTS answered = %q, want :1: only the answer was lost", got)
	}
	if got, _ := redis(server.Addr, "EXISTS asked"); got != ":0" {
		t.Errorf("EXISTS asked = %q, want :0: the request was lost", got)
	}
}

// fake is a test that notes how it ended.
type fake struct {
	*testing.T
	skipped, failed string
}

type ended struct{}

func (f *fake) Skipf(format string, args ...any) {
	f.skipped = fmt.Sprintf(format, args...)
	panic(ended{})
}

func (f *fake) Fatalf(format string, args ...any) {
	f.failed = fmt.Sprintf(format, args...)
	panic(ended{})
}

func TestMissingServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(testserver.Emulators, t.TempDir())
	starts := map[string]func(testserver.T){
		"redis-server":    func(t testserver.T) { testserver.Redis(t) },
		"azurite-blob":    func(t testserver.T) { testserver.Azurite(t) },
		"cosmosdb-server": func(t testserver.T) { testserver.Cosmos(t) },
	}
	for name, start := range starts {
		for _, required := range []string{"0", "", "1"} {
			t.Setenv(testserver.Required, required)
			f := &fake{T: t}
			func() {
				defer func() {
					if r := recover(); r != (ended{}) {
						panic(r)
					}
				}()
				start(f)
			}()
			got, other := f.skipped, f.failed
			if required == "1" {
				got, other = other, got
			}
			if !strings.Contains(got, name) || !strings.Contains(got, "make test-stores") || other != "" {
				t.Errorf("a missing %s with %s=%q: skipped %q, failed %q", name, testserver.Required, required, f.skipped, f.failed)
			}
		}
	}
}
