//go:build unix

package cmd_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold/test/process"
)

// transcript keeps every lease id that was ever issued, and every byte that was
// written.
type transcript struct {
	mu      sync.Mutex
	ids     []string
	secrets []string // of tokens
	own     []output // answers to those who own a lease
	public  []output // everything else
}

// output is a text that was written, and where.
type output struct{ where, text string }

func (l *transcript) addID(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id != "" {
		l.ids = append(l.ids, strings.ToLower(id))
	}
	return id
}

func (l *transcript) addPublic(where, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.public = append(l.public, output{where, text})
}

// addAnswer records an answer. Only the success of a call with a lease id, or for
// one, is its owner's; even that may not show other ids.
func (l *transcript) addAnswer(method, path string, a answer) {
	where := a.request
	if calls := "acquire renew release change transfer get"; a.status < 300 && method == http.MethodPost &&
		strings.Contains(calls, strings.TrimPrefix(path, "/v1/leases/")) {
		l.addID(a.at("lease_id"))
		l.mu.Lock()
		defer l.mu.Unlock()
		l.own = append(l.own, output{where, strings.ReplaceAll(a.body, `"lease_id":"`+a.at("lease_id")+`"`, "")})
		return
	}
	var header bytes.Buffer
	_ = a.header.Write(&header) // to memory
	l.addPublic(where, header.String()+a.body)
}

// check looks for every id and every secret in everything.
func (l *transcript) check(t *testing.T) {
	t.Helper()
	for _, p := range l.public {
		if found := leaks(p.text, append(l.ids, l.secrets...)); len(found) > 0 {
			t.Errorf("%.200s\ntells %q:\n%.2000s", p.where, found, p.text)
		}
	}
	for _, p := range l.own {
		if found := leaks(p.text, append(l.ids, l.secrets...)); len(found) > 0 {
			t.Errorf("%.200s\ntells its owner %q besides:\n%.2000s", p.where, found, p.text)
		}
	}
}

// TestSecretsStaySecret records everything that the server and the commands write in
// a full run with tokens, with the log at debug, and searches it for the ids of all
// leases.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	l := &transcript{}
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	secret := map[string]string{}
	for name, roles := range map[string]string{"owner": "holder", "ops": "operator", "reader": "reader"} {
		made, err := binary(t, "token", "new", name, "--role", roles, "--token-file", tokens).Output()
		if err != nil {
			t.Fatal(err)
		}
		secret[name] = strings.TrimSpace(string(made))
		l.secrets = append(l.secrets, strings.ToLower(secret[name]))
	}
	s := serveBinary(t, "--token-file", tokens, "--log-level", "debug", "--data", filepath.Join(dir, "data"))
	nobody := s.as("", l.addAnswer)
	r := &scenario{transcript: l, s: s, secret: secret, ops: s.as(secret["ops"], l.addAnswer), reader: s.as(secret["reader"], l.addAnswer), nobody: nobody}
	s.client = s.as(secret["owner"], l.addAnswer)
	stream := r.listen()
	r.hold()
	r.queue()
	r.operate()
	r.commands()
	r.misplace()
	r.look()
	process.Eventually(t, "the stream has it all", func() bool { return strings.Contains(stream(), "force_released") })
	l.addPublic("GET /v1/events", stream())
	s.process.Signal(syscall.SIGTERM)
	s.process.CheckCode(0)
	for _, file := range []string{s.process.OutFile, s.process.ErrFile} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		l.addPublic(file, string(text))
		if file == s.process.ErrFile && strings.Count(string(text), `"level":"DEBUG"`) < 100 {
			t.Errorf("the log has %d lines at debug, want every request: %s", strings.Count(string(text), `"level":"DEBUG"`), text)
		}
	}
	t.Logf("%d ids, %d answers to owners, %d other pieces", len(l.ids), len(l.own), len(l.public))
	if len(l.ids) < 20 || len(l.own) < 20 || len(l.public) < 100 {
		t.Errorf("there were %d ids, %d answers to owners and %d other pieces; the run was none", len(l.ids), len(l.own), len(l.public))
	}
	l.check(t)
}

// scenario has every kind of caller do everything.
type scenario struct {
	*transcript
	s                   *binaryServer // its client is the owner of leases
	ops, reader, nobody *client
	secret              map[string]string
}

// listen reads the events with the reader's token, and returns those so far.
func (r *scenario) listen() (sofar func() string) {
	t := r.s.t
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.s.url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.secret["reader"])
	response, err := (&http.Client{Transport: r.reader.http.Transport}).Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET /v1/events = %v, %v", response, err)
	}
	var mu sync.Mutex
	var text strings.Builder
	go func() {
		defer response.Body.Close()
		for buf := make([]byte, 4096); ; {
			n, err := response.Body.Read(buf)
			mu.Lock()
			text.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
}

// propose makes an id on the client's side.
func (r *scenario) propose(n string) string {
	return r.addID(n + "0c0ffee-1234-4abc-8def-" + strings.Repeat(n, 12))
}

func (r *scenario) post(c *client, call, body string) answer {
	r.s.t.Helper()
	a, err := c.trySend(context.Background(), http.MethodPost, "/v1/leases/"+call, body)
	if err != nil {
		r.s.t.Fatal(err)
	}
	return a
}
