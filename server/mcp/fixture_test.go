package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/pipenet"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server under test, which remembers what it logged and which lease ids it
// gave away.
type world struct {
	*testing.T
	store  leasehold.Store
	server *Server

	mu   sync.Mutex
	log  bytes.Buffer
	ids  []string
	ends []func()
}

// newWorld serves the store, which it closes at the end; nil is a new memory store.
// Inside a bubble, end it there.
func newWorld(t *testing.T, store leasehold.Store, o Options) *world {
	t.Helper()
	if store == nil {
		store = memory.New()
	}
	w := &world{T: t, store: store}
	o.Logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.server = New(store, &o)
	return w
}

// Write is where the log goes.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// end closes all clients, and checks that no lease id was logged.
func (w *world) end() {
	w.Helper()
	for _, end := range w.ends {
		end()
	}
	if err := w.store.Close(); err != nil {
		w.Errorf("Close = %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.ids {
		if strings.Contains(strings.ToLower(w.log.String()), strings.ToLower(id)) {
			w.Errorf("the log has a lease id:\n%s", w.log.String())
		}
	}
}

// agent is the SDK's client, on a connection of its own.
type agent struct {
	*world
	session *sdk.ClientSession
}

// stream connects a client over a pair of streams. End closes its side.
func (w *world) stream(s Stream, version string) (a agent, end func() error) {
	w.Helper()
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	s.In, s.Out = serverIn, serverOut
	if s.Identity.Caller.Name == "" {
		s.Identity.Caller = auth.Local
	}
	done := make(chan error, 1)
	go func() {
		done <- w.server.ServeStream(w.Context(), s)
		serverOut.Close()
	}()
	a = w.connect(&sdk.IOTransport{Reader: clientIn, Writer: clientOut}, version)
	end = sync.OnceValue(func() error {
		_ = clientOut.Close()
		err := <-done
		_ = a.session.Close()
		return err
	})
	w.ends = append(w.ends, func() {
		if err := end(); err != nil {
			w.Errorf("ServeStream = %v", err)
		}
	})
	return a, end
}

// web connects a client over HTTP, through a server with the timeouts of a real one.
func (w *world) web(caller auth.Caller, header http.Header, version string) agent {
	w.Helper()
	client, address := w.serve(caller)
	client.Transport = withHeader{client.Transport, header}
	return w.connect(&sdk.StreamableClientTransport{Endpoint: address, HTTPClient: client, MaxRetries: -1}, version)
}

// serve starts an HTTP server whose requests all have the same caller.
func (w *world) serve(caller auth.Caller) (*http.Client, string) {
	l := pipenet.Listen()
	handler := w.server.Handler()
	server := &http.Server{ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second,
		Handler: WithHandler(http.NotFoundHandler(), http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(rw, r.WithContext(auth.With(r.Context(), caller)))
		}))}
	go server.Serve(l)
	transport := &http.Transport{DialContext: l.Dial}
	w.ends = append(w.ends, func() { transport.CloseIdleConnections(); server.Close(); l.Close() })
	return &http.Client{Transport: transport}, "http://localhost" + Path
}

type withHeader struct {
	next   http.RoundTripper
	header http.Header
}

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range h.header {
		r.Header[name] = values
	}
	return h.next.RoundTrip(r)
}

func (w *world) connect(transport sdk.Transport, version string) agent {
	w.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(w.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.Fatalf("Connect with revision %q = %v", version, err)
	}
	w.ends = append([]func(){func() { session.Close() }}, w.ends...)
	return agent{w, session}
}

// holderHeader is the configuration of a client over HTTP.
func holderHeader(holder string) http.Header { return http.Header{HolderHeader: {holder}} }

// args are the arguments of a tool.
type args = map[string]any

// call calls a tool and returns its structured answer, which must be there.
func (a agent) call(tool string, in any) Result {
	a.Helper()
	out, _, err := a.try(a.Context(), tool, in)
	if err != nil {
		a.Fatalf("%s(%v) = %v, want a result", tool, in, err)
	}
	return out
}

// failure calls a tool whose answer must be an error of the tool.
func (a agent) failure(tool string, in any) Result {
	a.Helper()
	out, isError, err := a.try(a.Context(), tool, in)
	if err != nil || !isError {
		a.Fatalf("%s(%v) = %+v, %v, want an error of the tool", tool, in, out, err)
	}
	return out
}

// try calls a tool. What has no structured answer comes back as a message.
func (a agent) try(ctx context.Context, tool string, in any) (out Result, isError bool, err error) {
	a.Helper()
	r, err := a.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return out, false, err
	}
	if len(r.Content) != 1 {
		return out, r.IsError, errors.New("not one content")
	}
	text := r.Content[0].(*sdk.TextContent).Text
	if r.StructuredContent == nil {
		return Result{Message: text}, r.IsError, nil
	}
	structured, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(structured, &out)
	}
	var same Result
	if e := json.Unmarshal([]byte(text), &same); e != nil || same.NextStep != out.NextStep {
		a.Errorf("%s: the text %q is not the structured answer %s", tool, text, structured)
	}
	if out.LeaseID != "" {
		a.mu.Lock()
		a.ids = append(a.ids, out.LeaseID)
		a.mu.Unlock()
	}
	return out, r.IsError, err
}

// pending is a call under way.
type pending struct {
	done   chan Result
	cancel context.CancelFunc
}

// start calls a tool in the background.
func (a agent) start(tool string, in any) pending {
	ctx, cancel := context.WithCancel(a.Context())
	p := pending{make(chan Result, 1), cancel}
	go func() {
		out, _, err := a.try(ctx, tool, in)
		if err != nil {
			out.Message = err.Error()
		}
		p.done <- out
	}()
	return p
}

func (w *world) status(resource string) leasehold.Status {
	w.Helper()
	s, err := w.store.Status(w.Context(), resource)
	if err != nil {
		w.Fatalf("Status(%q) = %v", resource, err)
	}
	return s
}

// revisions are those of the protocol, newest first.
var revisions = sdk.SupportedProtocolVersions()

// durations are those in sentences.
var durations = regexp.MustCompile(`\b[0-9][0-9.hms]*s\b`)

// newSilence returns the streams of a client that sends nothing.
func newSilence() (*io.PipeReader, io.Writer) {
	in, _ := io.Pipe()
	return in, io.Discard
}
