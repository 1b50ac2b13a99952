package azblob_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/pipenet"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, testserver.Leaks()...) }

// azureAPI is the project's own Azure API, reached without a network, so that it
// works in a synctest bubble.
type azureAPI struct {
	transport *http.Transport
}

func newAzureAPI(t testing.TB) *azureAPI {
	t.Helper()
	dir := t.TempDir()
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "leases.db"), &sqlite.Options{
		Modules: []engine.Module{catalog.Module()}, Durability: sqlite.DurabilityNormal,
	})
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := content.Open(filepath.Join(dir, "blobs"), &content.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := catalog.Open(ctx, store, bytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(blobs.Close(), bytes.Close(), store.Close()); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return &azureAPI{transport: overPipes(t, server.New(blobs, nil).Handler())}
}

// overPipes serves a handler on a network inside the process.
func overPipes(t testing.TB, h http.Handler) *http.Transport {
	l := pipenet.Listen()
	s := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	served := make(chan error)
	go func() { served <- s.Serve(l) }()
	transport := &http.Transport{DialContext: l.Dial, DisableCompression: true, MaxIdleConnsPerHost: 256}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve = %v", err)
		}
	})
	return transport
}

// generous is for checks that load a busy machine.
const generous = time.Minute

// The limits of a ttl.
const (
	shortest = 15 * time.Second
	longest  = 60 * time.Second
)
