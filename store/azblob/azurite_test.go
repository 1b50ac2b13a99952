package azblob_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/azblob"
	"github.com/leasehold/leasehold/storetest"
)

// TestAzuriteBrokenNetwork cuts, delays and resets connections to azurite: the
// errors are right, and the recorded history has nothing doubled.
func TestAzuriteBrokenNetwork(t *testing.T) {
	server := testserver.Azurite(t)
	network := testserver.Proxy(t, server.Addr)
	transport := newTransport(t)
	var all several
	for range 3 {
		s, err := azblob.New(containerOf(t, transport, network.Addr, "leases"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		all = append(all, s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var broken sync.WaitGroup
	broken.Go(func() { breakNetwork(ctx, network) })
	rec := storetest.Hammer(t, all, &storetest.LoadOptions{Workers: 16, Calls: 60, TTL: longest, Seed: rand.Uint64(), Context: ctx})
	cancel()
	broken.Wait()
	t.Logf("%d calls, %d grants, %d in doubt, %d failed", rec.Len(), rec.Grants(), rec.InDoubt(), rec.Failed())
	if rec.Grants() == 0 || rec.Failed()+rec.InDoubt() == 0 {
		t.Error("the network was never broken, or always")
	}
	storetest.CheckHistory(t, rec)
}

// breakNetwork breaks the network in one way after the other, with times between
// in which it works.
func breakNetwork(ctx context.Context, n *testserver.Network) {
	ways := []func(){n.Reset, n.Cut, func() { n.Delay(50*time.Millisecond, 30*time.Millisecond) }, n.ResetRequests, n.Swallow}
	for i := 0; ctx.Err() == nil; i++ {
		sleep.For(ctx, 400*time.Millisecond)
		ways[i%len(ways)]()
		sleep.For(ctx, 250*time.Millisecond)
		n.Heal()
	}
	n.Heal()
}

// TestAzuriteRefusals has what only a real server refuses: TLS, and a token that
// has ended.
func TestAzuriteRefusals(t *testing.T) {
	certificate := testserver.NewCertificate(t)
	server := testserver.AzuriteTLS(t, certificate)
	url := "https://" + server.Addr + "/" + account
	refusedToOpen(t, &azblob.Options{ServiceURL: url, Account: account, Key: key}, leasehold.ReasonUnavailable, "azblob: tls: ")
	plain := testserver.AzuriteConnection(server.Addr)
	refusedToOpen(t, &azblob.Options{ConnectionString: plain}, leasehold.ReasonUnavailable, "azblob: ")

	transport := &http.Transport{TLSClientConfig: certificate.Client()}
	t.Cleanup(transport.CloseIdleConnections)
	on := &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: transport}}}
	refusedToOpen(t, &azblob.Options{ServiceURL: url, Account: account, Key: wrongKey, Client: on}, leasehold.ReasonUnauthenticated, "azblob: the service answered 40")
	refusedToOpen(t, &azblob.Options{ServiceURL: url, Credential: token{text: "SECRET", ends: time.Hour}, Client: on}, leasehold.ReasonUnauthenticated, "azblob: the service answered 40", "SECRET")
	s, err := azblob.Open(t.Context(), &azblob.Options{ServiceURL: url, Account: account, Key: key, Client: on})
	if err != nil {
		t.Fatalf("Open = %v, want success", err)
	}
	defer s.Close()
	if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"}); err != nil {
		t.Errorf("Acquire = %v, want a grant", err)
	}
}

// TestAzuriteContainerRace opens many stores at once on a container that is not
// there.
func TestAzuriteContainerRace(t *testing.T) {
	server := testserver.Azurite(t)
	transport := newTransport(t)
	errs := make([]error, 20)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			s := onAzurite(t, transport, server.Addr, "together")
			_, errs[i] = s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: fmt.Sprint(i)})
		})
	}
	all.Wait()
	granted := 0
	for _, err := range errs {
		switch {
		case err == nil:
			granted++
		case !errors.Is(err, leasehold.ErrHeld):
			t.Errorf("Acquire = %v, want a grant or ErrHeld", err)
		}
	}
	if granted != 1 {
		t.Errorf("%d grants, want 1", granted)
	}
}

// TestAzuriteHold holds and renews a lease for five minutes in make soak, and for
// some seconds otherwise.
func TestAzuriteHold(t *testing.T) {
	server := testserver.Azurite(t)
	transport := newTransport(t)
	s, other := onAzurite(t, transport, server.Addr, "leases"), onAzurite(t, transport, server.Addr, "leases")
	storetest.Hold(t, s, other, shortest, time.Duration(soak.Rounds(20, 300))*time.Second)
}

// TestAzuriteShape shows what is to be seen in the container.
func TestAzuriteShape(t *testing.T) {
	server := testserver.Azurite(t)
	transport := newTransport(t)
	s := onAzurite(t, transport, server.Addr, "leases")
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{
		Resource: "db/orders", Holder: "host a", TTL: shortest, Metadata: map[string]string{"Env": "prod é"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := containerOf(t, transport, server.Addr, "leases").NewBlobClient("lease-db-2Forders").GetProperties(t.Context(), nil)
	if err != nil {
		t.Fatalf("GetProperties = %v, want the blob", err)
	}
	if *got.ContentLength != 0 || *got.LeaseState != "leased" {
		t.Errorf("%d bytes, %s; want an empty blob under a lease", *got.ContentLength, *got.LeaseState)
	}
	have := map[string]string{}
	for k, v := range got.Metadata {
		have[strings.ToLower(k)] = *v
	}
	for k, want := range map[string]string{"name": "db/orders", "holder": "host%20a", "token": fmt.Sprint(g.Token), "ttl_ms": "15000", "renewals": "0", "m__45nv": "prod%20%c3%a9"} {
		if have[k] != want {
			t.Errorf("metadata %s = %q, want %q", k, have[k], want)
		}
	}
}
