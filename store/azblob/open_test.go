package azblob_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/azblob"
)

const (
	account  = testserver.AzuriteAccount
	key      = testserver.AzuriteKey
	wrongKey = "U0VDUkVU" + "d3Jvbmc="
)

// onPipe makes Open use the transport.
func onPipe(rt http.RoundTripper) *container.ClientOptions {
	return &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: rt}}}
}

// refusedToOpen expects a clear error in time, which names the store and no secret.
func refusedToOpen(t *testing.T, o *azblob.Options, want leasehold.Reason, says string, secrets ...string) {
	t.Helper()
	start := time.Now()
	s, err := azblob.Open(t.Context(), o)
	if err == nil {
		s.Close()
	}
	var e *leasehold.Error
	if !errors.As(err, &e) || e.Reason != want || e.Store != "azblob" || !strings.Contains(err.Error(), says) {
		t.Errorf("Open = %v, want %s that says %q", err, want, says)
		return
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Open took %v, want less than 5s", took)
	}
	for _, secret := range append(secrets, key, wrongKey) {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("Open = %v, which shows a secret", err)
		}
	}
}

// token is a credential of a test.
type token struct {
	text string
	ends time.Duration
	err  error
	got  *int
}

func (c token) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if c.got != nil {
		*c.got++
	}
	return azcore.AccessToken{Token: c.text, ExpiresOn: time.Now().Add(c.ends)}, c.err
}

func TestOpenOptions(t *testing.T) {
	connection := testserver.AzuriteConnection("127.0.0.1:1")
	url := "https://acc.blob.core.windows.net"
	for what, test := range map[string]struct {
		o     *azblob.Options
		field string
	}{
		"nothing":             {nil, "credentials"},
		"two credentials":     {&azblob.Options{ConnectionString: connection, Key: key}, "credentials"},
		"two more":            {&azblob.Options{ServiceURL: url, Key: key, Credential: token{}}, "credentials"},
		"URL and connection":  {&azblob.Options{ServiceURL: url, ConnectionString: connection}, "service_url"},
		"no URL":              {&azblob.Options{Key: key}, "service_url"},
		"account without key": {&azblob.Options{ServiceURL: url, Account: "a", Credential: token{}}, "account"},
		"no account":          {&azblob.Options{ServiceURL: "http://127.0.0.1:1/a", Key: key}, "account"},
		"key not base64":      {&azblob.Options{ServiceURL: url, Key: "SECRET!"}, "credentials"},
		"bad connection":      {&azblob.Options{ConnectionString: "AccountKey=SECRET"}, "credentials"},
		"container":           {&azblob.Options{ConnectionString: connection, Container: "No"}, "container"},
		"prefix":              {&azblob.Options{ConnectionString: connection, Prefix: "a b"}, "prefix"},
		"long prefix":         {&azblob.Options{ConnectionString: connection, Prefix: strings.Repeat("p", 119)}, "prefix"},
		"ttl":                 {&azblob.Options{ConnectionString: connection, DefaultTTL: time.Second}, "ttl_seconds"},
		"timeout":             {&azblob.Options{ConnectionString: connection, Timeout: -1}, "timeout"},
	} {
		s, err := azblob.Open(t.Context(), test.o)
		var e *leasehold.Error
		if !errors.As(err, &e) || e.Reason != leasehold.ReasonInvalid || e.Field != test.field || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("Open with %s = %v, %v; want ErrInvalid for %q", what, s, err, test.field)
		}
	}
	if _, err := azblob.New(nil, nil); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("New(nil) = %v, want ErrInvalid", err)
	}
	if _, err := azblob.New(nil, &azblob.Options{Container: "-"}); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("New with a bad name = %v, want ErrInvalid", err)
	}
}

// TestOpen opens stores on our own API in each way.
func TestOpen(t *testing.T) {
	api := newAzureAPI(t)
	for what, o := range map[string]*azblob.Options{
		"connection string": {ConnectionString: testserver.AzuriteConnection("pipe"), Container: "one", Prefix: "deep/er/"},
		"key":               {ServiceURL: "http://pipe/" + account, Account: account, Key: key, Container: "two"},
	} {
		o.Client = onPipe(api.transport)
		s, err := azblob.Open(t.Context(), o)
		if err != nil {
			t.Errorf("Open with a %s = %v, want success", what, err)
			continue
		}
		defer s.Close()
		if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"}); err != nil {
			t.Errorf("Acquire = %v, want a grant", err)
		}
	}
}

// TestOpenWithSignature opens a store with a shared access signature of the
// container, which does not allow to read the container's own properties.
func TestOpenWithSignature(t *testing.T) {
	t.Run("our API", func(t *testing.T) { openWithSignature(t, "127.0.0.1:10000", newAzureAPI(t).transport) })
	t.Run("azurite", func(t *testing.T) { openWithSignature(t, testserver.Azurite(t).Addr, newTransport(t)) })
}

func openWithSignature(t *testing.T, host string, transport *http.Transport) {
	client := containerOf(t, transport, host, "leases")
	if _, err := client.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	signed := func(p sas.ContainerPermissions) *azblob.Options {
		url, err := client.GetSASURL(p, time.Now().Add(time.Hour), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, query, _ := strings.Cut(url, "?")
		return &azblob.Options{Client: onPipe(transport), ConnectionString: "BlobEndpoint=http://" + host + "/" + account + ";SharedAccessSignature=" + query + ";"}
	}
	s, err := azblob.Open(t.Context(), signed(sas.ContainerPermissions{Read: true, Write: true, Create: true, List: true}))
	if err != nil {
		t.Fatalf("Open = %v, want success", err)
	}
	defer s.Close()
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"})
	if err != nil {
		t.Fatalf("Acquire = %v, want a grant", err)
	}
	looker, err := azblob.Open(t.Context(), signed(sas.ContainerPermissions{Read: true, List: true}))
	if err != nil {
		t.Fatalf("Open = %v, want success", err)
	}
	defer looker.Close()
	if st, err := looker.Status(t.Context(), "r"); err != nil || !st.Check(g.Token) {
		t.Errorf("Status = %+v, %v; want the lease", st.Lease, err)
	}
	if _, err := looker.Renew(t.Context(), leasehold.RenewRequest{Resource: "r", ID: g.ID}); !errors.Is(err, leasehold.ErrForbidden) {
		t.Errorf("Renew = %v, want ErrForbidden", err)
	}
	if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{Resource: "r", ID: g.ID}); err != nil {
		t.Errorf("Release = %v, want success", err)
	}
}

func TestOpenRefused(t *testing.T) {
	api := newAzureAPI(t)
	on := onPipe(api.transport)
	refusedToOpen(t, &azblob.Options{ServiceURL: "http://pipe/" + account, Account: account, Key: wrongKey, Client: on},
		leasehold.ReasonUnauthenticated, "azblob: the service answered 403 AuthenticationFailed")
	refusedToOpen(t, &azblob.Options{ConnectionString: testserver.AzuriteConnection("pipe"), NoCreate: true, Client: on},
		leasehold.ReasonUnavailable, "azblob: the container leases does not exist")
	refusedToOpen(t, &azblob.Options{ServiceURL: "https://pipe/" + account, Credential: token{err: errors.New("no identity here")}, Client: on},
		leasehold.ReasonUnauthenticated, "no identity here")

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := closed.Addr().String()
	closed.Close()
	refusedToOpen(t, &azblob.Options{ConnectionString: testserver.AzuriteConnection(addr)}, leasehold.ReasonUnavailable, "azblob: dial tcp")

	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	refusedToOpen(t, &azblob.Options{ConnectionString: testserver.AzuriteConnection(silent.Addr().String())},
		leasehold.ReasonUnavailable, "azblob: no answer within 4s")
}

// TestReadOnly is a client with a signature that allows reading only.
func TestReadOnly(t *testing.T) {
	api := newAzureAPI(t)
	writer := onAzureAPI(t, api)
	g, err := writer.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"})
	if err != nil {
		t.Fatal(err)
	}
	url, err := containerOf(t, api.transport, "127.0.0.1:10000", "leases").GetSASURL(sas.ContainerPermissions{Read: true, List: true}, time.Now().Add(time.Hour), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, signature, _ := strings.Cut(url, "sig=")
	client, err := container.NewClientWithNoCredential(url, onPipe(api.transport))
	if err != nil {
		t.Fatal(err)
	}
	s, err := azblob.New(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if st, err := s.Status(t.Context(), "r"); err != nil || !st.Check(g.Token) {
		t.Errorf("Status = %+v, %v; want the lease", st.Lease, err)
	}
	_, acquire := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "free", Holder: "h"})
	_, renew := s.Renew(t.Context(), leasehold.RenewRequest{Resource: "r", ID: g.ID})
	_, breaks := s.Break(t.Context(), leasehold.BreakRequest{Resource: "r"})
	for call, err := range map[string]error{"Acquire": acquire, "Renew": renew, "Break": breaks} {
		if !errors.Is(err, leasehold.ErrForbidden) || strings.Contains(err.Error(), signature) || strings.Contains(err.Error(), g.ID.Reveal()) {
			t.Errorf("%s = %v, want ErrForbidden without a secret", call, err)
		}
	}
}
