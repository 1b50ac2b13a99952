package azureapi_test

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"go.uber.org/goleak"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/pipenet"
	"github.com/leasehold/leasehold/internal/testbuffer"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testAccount = "devstoreaccount1"
	testHost    = "http://127.0.0.1:10000"
)

// deployment is a server under test with both APIs, on the real catalog and
// engine, reached without a network, so that it works in a synctest bubble.
type deployment struct {
	testing.TB
	server  *server.Server
	engine  *hanging
	catalog *catalog.Catalog
	store   *sqlite.Store
	dir     string       // of the data
	client  *http.Client // raw requests go here
	dial    func(ctx context.Context, _, _ string) (net.Conn, error)
	caller  auth.Caller // on the main port
	log     *testbuffer.Buffer
}

// newDeployment starts a server of the development account and "otheraccount",
// which has two keys.
func newDeployment(t testing.TB) *deployment {
	t.Helper()
	d := &deployment{TB: t, caller: auth.Local, log: &testbuffer.Buffer{}}
	dir := t.TempDir()
	d.dir = dir
	var err error
	o := &sqlite.Options{Modules: []engine.Module{catalog.Module()}, Durability: sqlite.DurabilityNormal}
	if d.store, err = sqlite.Open(t.Context(), filepath.Join(dir, "leases.db"), o); err != nil {
		t.Fatal(err)
	}
	bytes, err := content.Open(filepath.Join(dir, "blobs"), &content.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	d.engine = &hanging{Engine: d.store}
	if d.catalog, err = catalog.Open(t.Context(), d.engine, bytes, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(d.catalog.Close(), bytes.Close(), d.store.Close()); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	d.server = server.New(d.catalog, &server.Options{
		Accounts: []sign.Account{sign.Development(), {Name: "otheraccount", Keys: [][]byte{[]byte("first key"), []byte("second key")}}},
		Logger:   slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	d.listen()
	return d
}

// hanging is an engine whose disk can stop to answer.
type hanging struct {
	engine.Engine
	stuck atomic.Bool
}

func (h *hanging) Do(ctx context.Context, resource string, decide func(engine.View) (engine.Decision, error)) error {
	if !h.stuck.Load() {
		return h.Engine.Do(ctx, resource, decide)
	}
	<-ctx.Done() // as the engine does while a commit hangs
	return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: context.Cause(ctx)}
}

// ServeHTTP serves both APIs on one port: the plain one has its paths below
// /blob/.
func (d *deployment) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.EscapedPath(), "/blob/") {
		d.server.PlainHandler().ServeHTTP(w, r.WithContext(auth.With(r.Context(), d.caller)))
		return
	}
	d.server.Handler().ServeHTTP(w, r)
}

// listen starts an HTTP server.
func (d *deployment) listen() {
	server := &http.Server{Handler: d, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	l := pipenet.Listen()
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{DialContext: l.Dial, DisableCompression: true, MaxIdleConnsPerHost: 64}
	d.client = &http.Client{Transport: &limitedTransport{transport, make(chan struct{}, 64)}}
	d.dial = l.Dial
	d.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			d.Errorf("Serve = %v", err)
		}
	})
}

// limitedTransport has a limit of requests at a time. The transport's own limit of
// connections miscounts at times, and panics.
type limitedTransport struct {
	*http.Transport
	turns chan struct{}
}

func (o *limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	o.turns <- struct{}{}
	defer func() { <-o.turns }()
	return o.Transport.RoundTrip(r)
}

// options make a client of the SDK use this server, without trying again.
func (d *deployment) options() policy.ClientOptions {
	return policy.ClientOptions{Transport: d.client, Retry: policy.RetryOptions{MaxRetries: -1}}
}

// service is the SDK's client of the account, signing with its key.
func (d *deployment) service() *service.Client {
	d.Helper()
	return d.serviceOf(testHost+"/"+testAccount+"/", testAccount, sign.Development().Keys[0])
}

func (d *deployment) serviceOf(url, account string, key []byte) *service.Client {
	d.Helper()
	credential, err := service.NewSharedKeyCredential(account, base64.StdEncoding.EncodeToString(key))
	if err != nil {
		d.Fatal(err)
	}
	client, err := service.NewClientWithSharedKeyCredential(url, credential, &service.ClientOptions{ClientOptions: d.options()})
	if err != nil {
		d.Fatal(err)
	}
	return client
}

// bySAS is the SDK's client with this shared access signature alone.
func (d *deployment) bySAS(sas string) *service.Client {
	d.Helper()
	client, err := service.NewClientWithNoCredential(testHost+"/"+testAccount+"/?"+sas, &service.ClientOptions{ClientOptions: d.options()})
	if err != nil {
		d.Fatal(err)
	}
	return client
}

// container makes a container and returns the SDK's client of it.
func (d *deployment) container(name string) *container.Client {
	d.Helper()
	client := d.service().NewContainerClient(name)
	if _, err := client.Create(d.Context(), nil); err != nil {
		d.Fatalf("Create(%q) = %v", name, err)
	}
	return client
}

// ensure makes a container unless there is one.
func (d *deployment) ensure(name string) {
	d.Helper()
	_, err := d.catalog.CreateContainer(d.Context(), testRef(name, ""), catalog.ContainerDetails{})
	var f *azerr.Error
	if err != nil && (!errors.As(err, &f) || f.Code != azerr.ContainerAlreadyExists) {
		d.Fatalf("CreateContainer(%q) = %v", name, err)
	}
}

func testRef(container, blob string) catalog.Ref {
	return catalog.Ref{Account: testAccount, Container: container, Blob: blob}
}

// put writes a block blob straight into the catalog.
func (d *deployment) put(container, blob, text string) *catalog.Item {
	d.Helper()
	item, err := d.catalog.PutBlob(d.Context(), testRef(container, blob), catalog.New{}, d.catalog.Accept([]byte(text)), catalog.Access{})
	if err != nil {
		d.Fatalf("PutBlob(%q) = %v", blob, err)
	}
	return item
}

// reply is an answer as it came.
type reply struct {
	status int
	header http.Header
	body   string
}

// code returns the error code of the answer, which header and body agree on.
func (r reply) code() string {
	var body struct{ Code, Message string }
	if strings.Contains(r.body, "<Error>") && (xml.Unmarshal([]byte(r.body), &body) != nil || body.Message == "") {
		return "no error that could be read: " + r.body
	}
	if header := r.header.Get("X-Ms-Error-Code"); body.Code != "" && body.Code != header {
		return "two codes: " + header + " and " + body.Code
	}
	return r.header.Get("X-Ms-Error-Code")
}

// send sends a request as it is. Headers are pairs of name and value; the path
// may have a query.
func (d *deployment) send(method, path, body string, headers ...string) reply {
	d.Helper()
	return d.exchange(d.request(method, path, body, headers...))
}

// signed is send with the signature of the development account's key.
func (d *deployment) signed(method, path, body string, headers ...string) reply {
	d.Helper()
	r := d.request(method, path, body, headers...)
	signRequest(r, sign.Development())
	return d.exchange(r)
}

func (d *deployment) request(method, path, body string, headers ...string) *http.Request {
	d.Helper()
	r, err := http.NewRequestWithContext(d.Context(), method, testHost+path, strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func (d *deployment) exchange(r *http.Request) reply {
	d.Helper()
	answer, err := d.client.Do(r)
	if err != nil {
		d.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		d.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	return reply{answer.StatusCode, answer.Header, string(body)}
}

// wantCode checks that the SDK was refused with this code; "" is success.
func wantCode(t testing.TB, what string, err error, code string) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Errorf("%s = %v, want success", what, err)
		}
		return
	}
	if !bloberror.HasCode(err, bloberror.Code(code)) {
		t.Errorf("%s = %v, want %s", what, err, code)
	}
}

// statusOf returns the status of an SDK's error, 0 if it is none.
func statusOf(err error) int {
	var e *azcore.ResponseError
	if errors.As(err, &e) {
		return e.StatusCode
	}
	return 0
}

// codeOf returns the code of an SDK's error.
func codeOf(err error) string {
	var e *azcore.ResponseError
	if errors.As(err, &e) {
		return e.ErrorCode
	}
	return err.Error()
}

// value returns what p points to, or nothing.
func value[T any](p *T) T {
	var none T
	if p == nil {
		return none
	}
	return *p
}
