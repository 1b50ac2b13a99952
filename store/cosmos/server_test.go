package cosmos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/azurecred"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/cosmos"
	"github.com/leasehold/leasehold/storetest"
)

// Metadata can be queried by anybody with Cosmos' own SQL.
func TestMetadataInSQL(t *testing.T) {
	server := testserver.Cosmos(t)
	options := cosmos.Options{ConnectionString: testserver.CosmosConnection(server.Addr), Container: "queried"}
	s := open(t, options)
	for resource, env := range map[string]string{"a": "prod", "b": "test", "c": "prod"} {
		r := leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Minute, Metadata: map[string]string{"env": env, "a.b-c": "it's"}}
		if _, err := s.Acquire(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client, err := azcosmos.NewClientFromConnectionString(options.ConnectionString,
		&azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: transport}}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	container, err := client.NewContainer("leasehold", "queried")
	if err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string][]string{
		`SELECT c.leaseName FROM c WHERE c.metadata.env = "prod" AND c.status = "active"`:                                         {"a", "c"},
		`SELECT c.leaseName FROM c WHERE c.metadata["a.b-c"] = "it's"`:                                                            {"a", "b", "c"},
		`SELECT c.leaseName FROM c WHERE c.holder = "h" AND c.expiresAt > "2020-01-01T00:00:00.000Z" AND c.metadata.env = "test"`: {"b"},
	} {
		var got []string
		pager := container.NewQueryItemsPager(sql, azcosmos.NewPartitionKey(), nil)
		for pager.More() {
			page, err := pager.NextPage(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			for _, b := range page.Items {
				var d struct{ LeaseName string }
				if err := json.Unmarshal(b, &d); err != nil {
					t.Fatal(err)
				}
				got = append(got, d.LeaseName)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s = %q, want %q", sql, got, want)
		}
	}
}

// through has all connections go to a proxy: the emulator tells clients its own
// address, and they go there.
func through(t *testing.T, addr string) *azcosmos.ClientOptions {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: transport}}}
}

// A proxy sets the Date header: hours pass for the leases, none for the client.
func TestProxySetsTheDate(t *testing.T) {
	server := testserver.Cosmos(t)
	var ahead atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server.Addr})
	transport := &http.Transport{}
	proxy.Transport = transport
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(time.Duration(ahead.Load())).UTC().Format(http.TimeFormat))
		return nil
	}
	front := httptest.NewServer(proxy)
	defer func() { front.Close(); transport.CloseIdleConnections() }()
	s := open(t, cosmos.Options{ConnectionString: testserver.CosmosConnection(server.Addr), Client: through(t, front.Listener.Addr().String())})
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(time.Hour - time.Minute))
	if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "i"}); !errors.Is(err, leasehold.ErrHeld) {
		t.Errorf("Acquire a minute before the end = %v, want ErrHeld", err)
	}
	ahead.Store(int64(time.Hour + 3*time.Second))
	_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
	wantReason(t, "Renew after the end", err, leasehold.ReasonExpired)
	if next, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "i"}); err != nil || next.Token <= g.Token {
		t.Errorf("Acquire after the end = token %d, %v; want a grant", next.Token, err)
	}
}

// Calls through a network that is cut, slow and reset have the right errors, and
// happen once or not at all.
func TestBadNetwork(t *testing.T) {
	server := testserver.Cosmos(t)
	network := testserver.Proxy(t, server.Addr)
	options := cosmos.Options{
		ConnectionString: testserver.CosmosConnection(server.Addr), Container: "bad-network", Timeout: 2 * time.Second,
		Client: through(t, network.Addr),
	}
	s := open(t, options)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var faults sync.WaitGroup
	faults.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			switch i % 3 {
			case 0:
				network.Reset()
			case 1:
				network.ResetRequests()
			default:
				network.Delay(20*time.Millisecond, 20*time.Millisecond)
			}
			sleep.For(ctx, 150*time.Millisecond)
			network.Heal()
			sleep.For(ctx, 300*time.Millisecond)
		}
	})
	recording := storetest.Hammer(t, s, &storetest.LoadOptions{Workers: 16, Calls: soak.Rounds(25, 60), Resources: 4})
	stop()
	faults.Wait()
	network.Heal()
	storetest.CheckHistory(t, recording)

	g, err := s.Acquire(t.Context(), request("h"))
	if err != nil {
		t.Fatalf("Acquire after it is healed = %v", err)
	}
	time.Sleep(time.Second) // so that nothing is in hand, and the renewal reads first
	network.Cut()
	start := time.Now()
	_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
	wantReason(t, "Renew", err, leasehold.ReasonUnavailable)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Renew of an unreachable host took %v", took)
	}
	network.Heal()
	network.Swallow()
	_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
	if err == nil || !errors.Is(err, leasehold.ErrUnavailable) && !errors.Is(err, leasehold.ErrUnknown) {
		t.Errorf("Renew without an answer = %v, want unavailable or unknown", err)
	}
}

// A service principal's tokens come from the authority, are sent to the account
// and replaced before they end; when there are none any more, the error says so.
func TestEntraID(t *testing.T) {
	server := testserver.Cosmos(t)
	certificate := testserver.NewCertificate(t)
	authority := testserver.NewAuthority(t, certificate)
	front := testserver.TLS(t, server.Addr, certificate)
	transport := &http.Transport{TLSClientConfig: certificate.Client()}
	t.Cleanup(transport.CloseIdleConnections)
	const secret = "the-application's-secret"
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	cred, err := azurecred.New(azurecred.Config{
		Method: azurecred.ServicePrincipal, Tenant: testserver.AuthorityTenant, Client: testserver.AuthorityClient,
		SecretFile: file, DisableInstanceDiscovery: true,
		ClientOptions: azcore.ClientOptions{
			Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: authority.URL},
			Transport: &http.Client{Transport: transport},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	authority.SetLifetime(3 * time.Second) // less than the SDK's margin: it asks again early
	client := through(t, front)
	client.Transport.(*http.Client).Transport.(*http.Transport).TLSClientConfig = certificate.Client()
	s := open(t, cosmos.Options{Endpoint: "https://" + front, Credential: cred, Client: client})
	g, err := s.Acquire(t.Context(), request("h"))
	if err != nil {
		t.Fatal(err)
	}
	asked := len(authority.Requests())
	if asked < 2 {
		t.Errorf("the authority was asked %d times, want a new token before the old one ends", asked)
	}
	authority.Refuse(true)
	time.Sleep(4 * time.Second) // until the last token has ended
	_, err = s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
	if e := wantReason(t, "Renew", err, leasehold.ReasonUnauthenticated); strings.Contains(e.Error(), secret) {
		t.Errorf("Renew = %v, which has the secret", e)
	}
	authority.Refuse(false)
	if _, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"}); err != nil {
		t.Errorf("Renew with tokens again = %v", err)
	}
}

// What cannot work says so soon, names the store and keeps the secret.
func TestOpenAgainstRealNetworks(t *testing.T) {
	for name, endpoint := range map[string]string{
		"nobody listens": fmt.Sprintf("http://127.0.0.1:%d", testserver.FreePort(t)),
		"no TLS there":   strings.Replace(plainServer(t), "http:", "https:", 1),
		"wrong TLS":      tlsServer(t),
	} {
		start := time.Now()
		_, err := cosmos.Open(t.Context(), &cosmos.Options{Endpoint: endpoint, Key: testserver.CosmosKey})
		wantReason(t, "Open where "+name, err, leasehold.ReasonUnavailable)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("Open where %s took %v, want at most 5 s", name, took)
		}
	}
}

func plainServer(t *testing.T) string {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	return s.URL
}

func tlsServer(t *testing.T) string {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that fails
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// Two servers on one container: a waiter on one gets the lease that another one
// released, at its next look at the latest.
func TestTwoServers(t *testing.T) {
	server := testserver.Cosmos(t)
	options := cosmos.Options{ConnectionString: testserver.CosmosConnection(server.Addr), Container: "shared"}
	a, b := open(t, options), open(t, options)
	g, err := a.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "a", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	granted := make(chan leasehold.Grant)
	go func() {
		next, err := b.Wait(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "b", TTL: time.Hour})
		if err != nil {
			t.Errorf("Wait = %v, want a grant", err)
		}
		granted <- next
	}()
	time.Sleep(500 * time.Millisecond) // it waits by then; if not, the test proves less and passes
	if _, err := a.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"}); err != nil {
		t.Fatal(err)
	}
	if next := <-granted; next.Token <= g.Token || next.Waited > 10*time.Second {
		t.Errorf("token %d after %d, waited %v; want the next look", next.Token, g.Token, next.Waited)
	}
}

// A lease is held and renewed for minutes.
func TestHeldForMinutes(t *testing.T) {
	server := testserver.Cosmos(t)
	o := cosmos.Options{ConnectionString: testserver.CosmosConnection(server.Addr), Container: "held"}
	storetest.Hold(t, open(t, o), open(t, o), 5*time.Second, time.Duration(soak.Rounds(8, 300))*time.Second)
}
