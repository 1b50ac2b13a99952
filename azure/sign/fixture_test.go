package sign

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"github.com/leasehold/leasehold/azure/azerr"
)

// two is an account whose second key signs, as it does while people replace the
// first one.
func two(t testing.TB) (Account, *blob.SharedKeyCredential) {
	t.Helper()
	second := []byte("the second key of this account, 32 bytes and more")
	credential, err := blob.NewSharedKeyCredential("leasehold2", base64.StdEncoding.EncodeToString(second))
	if err != nil {
		t.Fatal(err)
	}
	return Account{Name: "leasehold2", Keys: [][]byte{[]byte("the first key"), second}}, credential
}

// codeOf is the code of a refusal, "" for none.
func codeOf(err error) string {
	var refusal *azerr.Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	if err != nil {
		return "no Azure error: " + err.Error()
	}
	return ""
}

// keyServer is a loopback server that does nothing but check signatures.
type keyServer struct {
	*httptest.Server
	account Account

	mu       sync.Mutex
	checked  []error
	requests []*http.Request
}

func newKeyServer(t *testing.T, account Account) *keyServer {
	d := &keyServer{account: account}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

func (d *keyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := checkKey(r, d.account, SentPath(r), time.Now())
	d.mu.Lock()
	d.checked, d.requests = append(d.checked, err), append(d.requests, r)
	d.mu.Unlock()
	w.WriteHeader(http.StatusTeapot) // whatever the SDK makes of it
}

// checkedSince returns what has been checked since the last call.
func (d *keyServer) checkedSince() ([]error, []*http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	checked, requests := d.checked, d.requests
	d.checked, d.requests = nil, nil
	return checked, requests
}

// options connect every host name to the server and try once.
func (d *keyServer) options() azcore.ClientOptions {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, d.Listener.Addr().String())
		},
	}
	return azcore.ClientOptions{
		Transport: &http.Client{Transport: transport},
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}
}

// source makes the same odd names in every run.
type source struct{ *rand.Rand }

func newSource(seed uint64) source { return source{rand.New(rand.NewPCG(seed, seed))} }

// pieces have no backslash: the SDK signs grants for a slash in its place. See
// TestBackslash.
var pieces = []string{
	"a", "B", "7", "ü", "日本", "😀", " ", "+", "//", "/", "%2F", "%", "..", ".", "?", "#", "&", "=",
	";", ":", ",", "'", `"`, "(", ")", "!", "~", "$", "@", "*", "|", "^", "{", "}", "[", "é", "%20",
}

func (s source) name(most int) string {
	var b strings.Builder
	for range 1 + s.IntN(most) {
		b.WriteString(pieces[s.IntN(len(pieces))])
	}
	return b.String()
}

func (s source) word(letters string, most int) string {
	b := make([]byte, 1+s.IntN(most))
	for i := range b {
		b[i] = letters[s.IntN(len(letters))]
	}
	return string(b)
}

func (s source) pick(from ...string) string { return from[s.IntN(len(from))] }

// mac is a signature, made anew: what the package makes is compared with it.
func mac(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// checkKey is SharedKey as a server calls it.
func checkKey(r *http.Request, account Account, path string, now time.Time) error {
	query, err := ParseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	return SharedKey(r, account, path, query, now)
}

// scheme is matchFull or matchLite.
type scheme func(r *http.Request, what resource, signed func(text []byte) bool) bool

// textsOf are the texts of which one must have been signed.
func textsOf(how scheme, r *http.Request, what resource) (texts []string) {
	how(r, what, func(text []byte) bool {
		texts = append(texts, string(text))
		return false
	})
	return texts
}
