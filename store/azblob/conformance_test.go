package azblob_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/azblob"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/storetest"
)

// azblobLacks is what the service's own leases cannot do, and no more than
// stores.md allows.
var azblobLacks = powers.Lacks[storetest.Capability](powers.KindAzblob)

// onAzureAPI is a store on the project's own Azure API.
func onAzureAPI(t testing.TB, api *azureAPI) *azblob.Store {
	t.Helper()
	s, err := azblob.New(containerOf(t, api.transport, "pipe", "leases"), &azblob.Options{Timeout: generous})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func containerOf(t testing.TB, transport http.RoundTripper, host, name string) *container.Client {
	t.Helper()
	c, err := container.NewClientFromConnectionString(testserver.AzuriteConnection(host), name, &container.ClientOptions{
		ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: transport}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func azblobHarness(bubble bool) storetest.Harness {
	return storetest.Harness{
		Bubble: bubble, Parallel: !bubble,
		MinTTL: 15 * time.Second, MaxTTL: 60 * time.Second, MaxResource: azblob.MaxResource,
		Slack:   2 * time.Second, // its times are whole seconds
		Without: azblobLacks,
	}
}

// TestAzblobOnOurAPI runs the contract in bubbles, with the project's own server.
func TestAzblobOnOurAPI(t *testing.T) {
	testserver.Wanted(t)
	runOnOurAPI(t, func(s *azblob.Store) leasehold.Store { return s })
}

// TestAzblobThroughChaos runs it once more, through a wrapper that injects no fault.
func TestAzblobThroughChaos(t *testing.T) {
	if !soak.Long() {
		t.Skip("make soak runs the suite once more, through chaos")
	}
	runOnOurAPI(t, func(s *azblob.Store) leasehold.Store { return chaos.Wrap(s, nil) })
}

func runOnOurAPI(t *testing.T, wrap func(*azblob.Store) leasehold.Store) {
	h := azblobHarness(true)
	apis := map[leasehold.Store]*azureAPI{}
	open := func(t testing.TB, api *azureAPI) leasehold.Store {
		s := wrap(onAzureAPI(t, api))
		apis[s] = api
		return s
	}
	h.Open = func(t testing.TB) leasehold.Store { return open(t, newAzureAPI(t)) }
	h.Reopen = func(t testing.TB, old leasehold.Store) leasehold.Store {
		_ = old.Close()
		return open(t, apis[old])
	}
	storetest.Run(t, h)
}

// onAzurite is a store in a container of its own on azurite.
func onAzurite(t testing.TB, transport *http.Transport, addr, name string) *azblob.Store {
	t.Helper()
	s, err := azblob.New(containerOf(t, transport, addr, name), &azblob.Options{Container: name, Timeout: generous})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newTransport(t testing.TB) *http.Transport {
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// TestAzblobOnAzurite runs the contract in real time on somebody else's server.
func TestAzblobOnAzurite(t *testing.T) {
	server := testserver.Azurite(t)
	transport := newTransport(t)
	h := azblobHarness(false)
	var containers sync.Map // by store
	var count atomic.Int64
	h.Open = func(t testing.TB) leasehold.Store {
		name := fmt.Sprintf("leases%d", count.Add(1))
		s := onAzurite(t, transport, server.Addr, name)
		containers.Store(s, name)
		return s
	}
	h.Reopen = func(t testing.TB, old leasehold.Store) leasehold.Store {
		_ = old.Close()
		name, _ := containers.Load(old)
		s := onAzurite(t, transport, server.Addr, name.(string))
		containers.Store(s, name)
		return s
	}
	h.Queued = func(s leasehold.Store, resource string) int { return s.(*azblob.Store).Waiting(resource) }
	storetest.Run(t, h)
}
