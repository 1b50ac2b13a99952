//go:build unix

package cmd_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold/leasehold/test/process"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent is the official client of the Model Context Protocol.
type agent struct {
	t       *testing.T
	session *mcp.ClientSession
}

func connectAgent(t *testing.T, transport mcp.Transport) agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		t.Fatalf("Connect = %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return agent{t, session}
}

// stdioAgent starts leasehold mcp, as a coding agent does. Its end waits for the exit
// code, after a signal or, without one, of standard input.
func (s *binaryServer) stdioAgent(holder string, flags ...string) (a agent, end func(syscall.Signal) int) {
	s.t.Helper()
	return s.stdioAgentIn("", "LEASEHOLD_HOLDER="+holder, flags...)
}

func (s *binaryServer) stdioAgentIn(folder, variable string, flags ...string) (a agent, end func(syscall.Signal) int) {
	s.t.Helper()
	cmd := binary(s.t, append([]string{"mcp"}, flags...)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "LEASEHOLD_STORE="+s.url, "LEASEHOLD_HOLDER=", "CLAUDE_CODE_SESSION_ID=", variable)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	// Not the client's own command transport: it would wait for calls under way.
	a = connectAgent(s.t, &mcp.IOTransport{Reader: stdout, Writer: stdin})
	return a, func(signal syscall.Signal) int {
		if signal != 0 {
			_ = cmd.Process.Signal(signal)
		} else {
			_ = stdin.Close()
		}
		state, err := cmd.Process.Wait()
		if err != nil {
			s.t.Fatal(err)
		}
		_ = a.session.Close()
		return state.ExitCode()
	}
}

// httpAgent connects to the server itself.
func (s *binaryServer) httpAgent(header http.Header) agent {
	s.t.Helper()
	return connectAgent(s.t, &mcp.StreamableClientTransport{
		Endpoint: s.url + "/mcp", MaxRetries: -1, HTTPClient: &http.Client{Transport: headers{header}},
	})
}

// headers are what the configuration of an agent has for each request.
type headers struct{ http.Header }

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range h.Header {
		r.Header[name] = values
	}
	return http.DefaultTransport.RoundTrip(r)
}

// call returns the structured answer of a tool.
func (a agent) call(tool string, args map[string]any) answer {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	r, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s(%v) = %v", tool, args, err)
	}
	text, err := json.Marshal(r.StructuredContent)
	if err != nil {
		a.t.Fatal(err)
	}
	return answer{t: a.t, request: tool, body: string(text)}
}

// wait calls lease_acquire in the background.
func (a agent) wait(args map[string]any) <-chan answer {
	done := make(chan answer, 1)
	go func() { done <- a.call("lease_acquire", args) }()
	return done
}

// TestMCP: agents over standard input and over HTTP contend for one resource of a real
// server.
func TestMCP(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	anna, endAnna := s.stdioAgent("anna")
	ben, endBen := s.stdioAgent("ben")
	carl := s.httpAgent(http.Header{"Leasehold-Holder": {"carl"}})

	held := anna.call("lease_acquire", map[string]any{"resources": []string{"deploy:prod"}, "task": "release 1.2"})
	if held.at("granted") != "true" || s.status("deploy:prod").at("lease.holder") != "anna" {
		t.Fatalf("acquire = %s, want that anna holds it", held.body)
	}
	for name, a := range map[string]agent{"ben": ben, "carl": carl} {
		refused := a.call("lease_acquire", map[string]any{"resources": []string{"deploy:prod"}})
		if refused.at("granted") != "false" || refused.at("code") != "lease_held" || refused.at("held_by") != "anna" ||
			refused.at("held_for") != "release 1.2" || refused.at("expires_at") != held.at("expires_at") || refused.at("next_step") == "" {
			t.Errorf("%s's acquire = %s, want a refusal that says who, what for and until when", name, refused.body)
		}
	}
	waiting := map[string]any{"resources": []string{"deploy:prod"}, "wait_seconds": 3}
	queued := ben.call("lease_acquire", waiting)
	for range 10 { // the position is read before the end of the wait, unless the machine is too busy then
		if queued.at("queue_position") != "" {
			break
		}
		waiting["lease_id"] = queued.at("lease_id")
		queued = ben.call("lease_acquire", waiting)
	}
	if queued.at("code") != "acquire_timeout" || queued.at("queue_position") != "1" || !strings.Contains(queued.at("next_step"), "Still queued, position 1") {
		t.Errorf("ben's wait = %s, want position 1", queued.body)
	}
	later := carl.wait(map[string]any{"resources": []string{"deploy:prod"}, "wait_seconds": 50})
	s.awaitWaiters("deploy:prod", "carl")
	first := ben.wait(map[string]any{"resources": []string{"deploy:prod"}, "wait_seconds": 50, "lease_id": queued.at("lease_id")})
	s.awaitWaiters("deploy:prod", "ben", "carl")
	anna.call("lease_release", map[string]any{"lease_id": held.at("lease_id")})
	got := <-first
	if got.at("granted") != "true" || got.at("lease_id") != queued.at("lease_id") || got.number("token") <= held.number("token") {
		t.Errorf("ben = %s, want the grant at the place that was kept", got.body)
	}
	ben.call("lease_release", map[string]any{"lease_id": got.at("lease_id")})
	if last := <-later; last.at("granted") != "true" || s.status("deploy:prod").at("lease.holder") != "carl" {
		t.Errorf("carl = %s, want the grant", last.body)
	}
	// Without a configured name a process has one of its own.
	dora, endDora := s.stdioAgent("", "--namespace", "shop")
	own := dora.call("lease_acquire", map[string]any{"paths": []string{"src/**"}})
	if name := regexp.MustCompile(`^\S+@\S+:[0-9]+-[a-z2-7]{6}$`); !name.MatchString(own.at("held_by")) || own.at("covers.0") != "shop src/**" {
		t.Errorf("dora = %s, want a holder like %s, and a path of shop", own.body, name)
	}
	// In a repository paths have the name that hooks give them.
	folder := filepath.Join(t.TempDir(), "src")
	for _, args := range [][]string{{"init", "-q", filepath.Dir(folder)}, {"-C", filepath.Dir(folder), "remote", "add", "origin", "git@example.org:team/Shop.git"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	eve, endEve := s.stdioAgentIn(folder, "LEASEHOLD_HOLDER=eve")
	if there := eve.call("lease_acquire", map[string]any{"paths": []string{"go.mod"}}); there.at("covers.0") != "example.org/team/shop go.mod" {
		t.Errorf("eve = %s, want a path of the repository", there.body)
	}
	endEve(0)
	if codes := [3]int{endAnna(0), endBen(0), endDora(0)}; codes != [3]int{} {
		t.Errorf("the ends of their sessions = %v, want exit codes 0", codes)
	}
}

// awaitWaiters waits until the queue is these holders in this order.
func (s *binaryServer) awaitWaiters(resource string, want ...string) {
	s.t.Helper()
	process.Eventually(s.t, strings.Join(want, " and ")+" wait", func() bool {
		st := s.status(resource)
		for i, holder := range want {
			if st.at("waiters."+string(rune('0'+i))+".holder") != holder {
				return false
			}
		}
		return st.size("waiters") == len(want)
	})
}

// TestMCPEnd: the end of a session releases what it still holds, unless --keep, or
// nobody is left to do it. A wait under way does not hold it up.
func TestMCPEnd(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	s.acquire("busy", "other", "")
	for _, tt := range []struct {
		name   string
		flags  []string
		signal syscall.Signal // 0: the client closes standard input
		code   int
		want   string
	}{
		{name: "closed", want: "released"},
		{name: "terminated", signal: syscall.SIGTERM, want: "released"},
		{name: "kept", flags: []string{"--keep"}, want: "active"},
		{name: "killed", signal: syscall.SIGKILL, code: -1, want: "active"},
	} {
		a, end := s.stdioAgent("x", tt.flags...)
		a.call("lease_acquire", map[string]any{"resources": []string{tt.name}, "ttl_seconds": 600})
		waits := make(chan struct{})
		go func() {
			defer close(waits)
			_, _ = a.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "lease_acquire",
				Arguments: map[string]any{"resources": []string{"busy"}, "wait_seconds": 50}})
		}()
		s.awaitWaiters("busy", "x")
		start := time.Now()
		if code := end(tt.signal); code != tt.code {
			t.Errorf("%s: exit code %d, want %d", tt.name, code, tt.code)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: the end took %v; the wait held it up", tt.name, took)
		}
		<-waits
		if got := s.status(tt.name).at("lease.status"); got != tt.want {
			t.Errorf("%s: the lease is %q, want %q", tt.name, got, tt.want)
		}
		s.awaitWaiters("busy")
	}
	if reason := s.send(http.MethodGet, "/v1/history?event=released&resource=closed", "").at("history.0.reason"); !strings.Contains(reason, "session") {
		t.Errorf("the release's reason is %q, want that the session ended", reason)
	}
}

// TestMCPOutput: standard output has the protocol and nothing else, whatever happens,
// and no stream has a lease id but in the answer to its owner.
func TestMCPOutput(t *testing.T) {
	t.Parallel()
	input, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	p := process.Start(t, binary(t, "mcp", "--store", "sqlite:"+filepath.Join(t.TempDir(), "new.db"), "--json"), func(c *exec.Cmd) { c.Stdin = input })
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lease_acquire","arguments":{"resources":["r"]}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"lease_status","arguments":{"holder":"me"}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"nothing"}`,
	}
	if _, err := write.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{`"id":1`, `"id":2`, `"id":3`, `"id":4`} {
		p.AwaitOutput(id)
	}
	write.Close()
	p.CheckCode(0)
	for line := range strings.Lines(p.Stdout()) {
		var message struct{ JSONRPC string }
		if err := json.Unmarshal([]byte(line), &message); err != nil || message.JSONRPC != "2.0" {
			t.Errorf("standard output has %q, want the protocol alone", line)
		}
	}
	if p.Stderr() != "" {
		t.Errorf("standard error has %q, want nothing", p.Stderr())
	}
}

// TestMCPGuard: /mcp is behind the checks of the API.
func TestMCPGuard(t *testing.T) {
	t.Parallel()
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	open := serveBinary(t)
	for _, tt := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Accept", "application/json, text/event-stream"}, http.StatusOK},
		{[]string{"Accept", "application/json, text/event-stream", "Origin", "http://evil.example"}, http.StatusForbidden},
		{[]string{"Accept", "application/json, text/event-stream", "Content-Type", "text/plain"}, http.StatusUnsupportedMediaType},
		{[]string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "1999-01-01"}, http.StatusBadRequest},
	} {
		a, err := open.trySend(t.Context(), http.MethodPost, "/mcp", list, tt.headers...)
		if err != nil || a.status != tt.status {
			t.Errorf("tools/list with %q = %d %.200s, %v, want %d", tt.headers, a.status, a.body, err, tt.status)
		}
	}
	open.send(http.MethodGet, "/mcp", "").want(http.StatusMethodNotAllowed)
	open.post("/mcp", `"`+strings.Repeat("x", 300<<10)+`"`).want(http.StatusRequestEntityTooLarge)

	tokens := filepath.Join(t.TempDir(), "tokens")
	newToken := func(name string, flags ...string) http.Header {
		secret, err := binary(t, append([]string{"token", "new", name, "--token-file", tokens}, flags...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return http.Header{"Authorization": {"Bearer " + strings.TrimSpace(string(secret))}}
	}
	ci, reader, operator := newToken("ci", "--role", "holder", "--holders", "ci:*"), newToken("reader", "--role", "reader"), newToken("ops", "--role", "operator")
	closed := serveBinary(t, "--token-file", tokens)
	closed.post("/mcp", list).wantCode(http.StatusUnauthorized, "unauthenticated")

	acquire := map[string]any{"resources": []string{"r"}}
	for _, tt := range []struct {
		token  http.Header
		holder string
		tool   string
		args   map[string]any
		code   string // empty: it is allowed
	}{
		{ci, "", "lease_acquire", acquire, "holder_mismatch"}, // any of its holders: which one?
		{ci, "other", "lease_acquire", acquire, "forbidden"},
		{ci, "ci:7", "lease_acquire", acquire, ""},
		{ci, "ci:7", "lease_history", map[string]any{}, "forbidden"},
		{ci, "ci:7", "lease_break", map[string]any{"resource": "r", "reason": "x"}, "forbidden"},
		{reader, "", "lease_status", map[string]any{"resource": "r"}, ""},
		{reader, "", "lease_history", map[string]any{}, ""},
		{reader, "ci:7", "lease_acquire", acquire, "forbidden"},
		{operator, "", "lease_break", map[string]any{"resource": "r", "reason": "the runner is gone"}, ""},
	} {
		header := tt.token.Clone()
		if tt.holder != "" {
			header.Set("Leasehold-Holder", tt.holder)
		}
		got := closed.httpAgent(header).call(tt.tool, tt.args)
		if got.at("code") != tt.code {
			t.Errorf("%s as %q = %s, want code %q", tt.tool, tt.holder, got.body, tt.code)
		}
	}
}

// TestMCPAndHookAreOneHolder: what a session of Claude Code has acquired by a tool, its hook
// does not refuse, unlike that of another session.
func TestMCPAndHookAreOneHolder(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	folder, home := t.TempDir(), t.TempDir()
	if out, err := exec.Command("git", "init", "-q", folder).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	a, end := s.stdioAgentIn(folder, "CLAUDE_CODE_SESSION_ID=5c1f")
	if r := a.call("lease_acquire", map[string]any{"paths": []string{"src/**"}}); r.at("granted") != "true" || r.at("held_by") != "claude:5c1f" {
		t.Fatalf("lease_acquire = %s, want it granted to claude:5c1f", r.body)
	}
	path, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	for session, denied := range map[string]bool{"5c1f": false, "9d2e": true} {
		out, err := hookCommand(path, s.url, home, hookInput("PreToolUse", session, folder, "src/x.go"), "claude", "--limit", "60s").CombinedOutput()
		if err != nil || (len(out) > 0) != denied || denied && !strings.Contains(string(out), "claude:5c1f") {
			t.Errorf("an edit of the session %s = %s, %v, want it denied: %v", session, out, err, denied)
		}
	}
	end(0)
}
