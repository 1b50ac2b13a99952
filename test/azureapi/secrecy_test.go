package azureapi_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/leasehold/leasehold/azure/sign"
)

// exchange is a request and all of its answer.
type exchange struct {
	request *http.Request
	status  int
	answer  string // headers and body
}

// recordingTransport keeps what goes through the transport.
type recordingTransport struct {
	next http.RoundTripper
	mu   sync.Mutex
	seen []exchange
}

func (w *recordingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(body))
	var text strings.Builder
	if err == nil {
		err = answer.Header.Write(&text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, exchange{r, answer.StatusCode, text.String() + string(body)})
	return answer, err
}

// sent is a header of the request, which the SDK spells in lower case.
func (e exchange) sent(name string) string {
	for header, values := range e.request.Header {
		if strings.EqualFold(header, name) {
			return values[0]
		}
	}
	return ""
}

// owns reports whether the sender of the request has shown that it knows the
// id, or is given it by this answer.
func (e exchange) owns(id string) bool {
	action := e.sent("x-ms-lease-action")
	shown := strings.EqualFold(e.sent("x-ms-lease-id"), id) || strings.EqualFold(e.sent("x-ms-proposed-lease-id"), id)
	granted := e.status < 300 && (action == "acquire" || action == "renew" || action == "change")
	return granted && (shown || action == "acquire")
}

// TestSecrets: no answer and no line of the log has a lease id, except for the
// answers to its owner; none has a key or a signature at all.
func TestSecrets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t)
		w := &recordingTransport{next: d.client.Transport}
		d.client.Transport = w
		d.box = d.service().NewContainerClient("box") // over the recording transport
		ids := useLeases(t, d)
		secrets := map[string]string{"the key": base64.StdEncoding.EncodeToString(sign.Development().Keys[0]), "the raw key": string(sign.Development().Keys[0])}
		for _, e := range w.seen {
			if _, signature, ok := strings.Cut(e.sent("Authorization"), ":"); ok {
				secrets["the signature of "+e.request.URL.Path] = signature
			}
			if sig := e.request.URL.Query().Get("sig"); sig != "" {
				secrets["a grant, as text"], secrets["a grant"] = sig, url.QueryEscape(sig)
			}
		}
		log := strings.ToLower(d.log.String())
		if len(w.seen) < 100 || strings.Count(log, "blob request") < 100 {
			t.Fatalf("%d exchanges and %d lines are too few to say anything", len(w.seen), strings.Count(log, "blob request"))
		}
		for what, secret := range secrets {
			if strings.Contains(log, strings.ToLower(secret)) {
				t.Errorf("the log has %s", what)
			}
			for _, e := range w.seen {
				if strings.Contains(e.answer, secret) {
					t.Errorf("the answer to %s %s has %s", e.request.Method, e.request.URL.Path, what)
				}
			}
		}
		answered := 0
		for _, id := range ids {
			if strings.Contains(log, strings.ToLower(id)) {
				t.Errorf("the log has the lease id %s", nameOf(id))
			}
			for _, e := range w.seen {
				switch has := strings.Contains(strings.ToLower(e.answer), strings.ToLower(id)); {
				case has && !e.owns(id):
					t.Errorf("the answer to %s %s (%s) has the lease id %s", e.request.Method, e.request.URL.Path, e.sent("x-ms-lease-action"), nameOf(id))
				case has:
					answered++
				}
			}
		}
		if answered == 0 {
			t.Error("no owner ever got an id: the test looks in the wrong place")
		}
	})
}

// useLeases makes leases of all kinds and reads all about their blobs and
// containers, as owner, as somebody else, and as nobody. It returns the ids.
func useLeases(t *testing.T, d driver) []string {
	t.Helper()
	ids := []string{leaseIDs["A"], leaseIDs["B"], leaseIDs["C"]}
	grant := accountSAS(t, "rwdlactf", "sco", nil)
	guest, err := service.NewClientWithNoCredential(testHost+"/"+testAccount+"/?"+grant, &service.ClientOptions{ClientOptions: d.options()})
	if err != nil {
		t.Fatal(err)
	}
	d.ensure("blobs")
	things := []leased{sdkBlob(d.deployment, "b"), sdkContainer(d.deployment, "held"), plainBlob(d.deployment, "plain"), plainContainer(d.deployment, "other")}
	steps := []string{
		"acquire A for 15", "acquire B for 15", "acquire, no id", "renew A", "renew B", "change A to B", "change C to A", "release C",
		"break 5", "acquire B for 15", "renew B", "break 0", "renew B", "release B", "acquire, no id", "break, no period", "release A", "release B",
	}
	for _, thing := range things {
		for _, step := range steps {
			_, _, id, _ := thing.try(step)
			if id != "" {
				ids = append(ids, id)
			}
			readAbout(d, guest.NewContainerClient("blobs"))
		}
		time.Sleep(2 * time.Minute)
		thing.try("renew A")
		thing.try("renew B")
	}
	// Requests that fail with a secret in them.
	for _, headers := range [][]string{
		{"x-ms-lease-id", leaseIDs["A"] + "0"}, {"x-ms-lease-id", leaseIDs["A"]}, {"x-ms-copy-source", testHost + "/" + testAccount + "/blobs/b?" + grant},
		{"x-ms-copy-source", "http://example.org/?" + grant}, {"x-ms-blob-type", "BlockBlob", "x-ms-lease-id", leaseIDs["B"]},
		{"x-ms-blob-type", "BlockBlob", "x-ms-copy-source", testHost + "/" + testAccount + "/none/b?" + grant}, {"x-ms-client-request-id", "a"},
	} {
		d.signed("PUT", "/"+testAccount+"/blobs/b", "", headers...)
		d.send("PUT", "/"+testAccount+"/blobs/b?"+grant, "", headers...)
		d.send("PUT", "/"+testAccount+"/blobs/b?"+grant+"x", "", headers...)
		d.send("PUT", "/"+testAccount+"/blobs/b?comp="+grant, "", headers...)
		d.send("GET", "/"+testAccount+"/blobs/%ff?"+grant, "", headers...)
	}
	return ids
}

// readAbout reads all that can be read about a blob without an id.
func readAbout(d driver, box *container.Client) {
	ctx := d.Context()
	b := box.NewBlobClient("b")
	_, _ = b.GetProperties(ctx, nil)
	if r, err := b.DownloadStream(ctx, &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 1000}}); err == nil {
		r.Body.Close()
	}
	_, _ = b.CreateSnapshot(ctx, nil)
	_, _ = box.NewBlockBlobClient("b").GetBlockList(ctx, blockblob.BlockListTypeAll, nil)
	_, _ = box.NewBlockBlobClient("b").Upload(ctx, bodyOf("x"), nil)
	_, _ = box.GetProperties(ctx, nil)
	_, _ = box.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Include: container.ListBlobsInclude{Snapshots: true, Metadata: true, Copy: true, Tags: true}}).NextPage(ctx)
	for _, path := range []string{"/blobs/b?comp=lineage", "?comp=list&include=metadata", "/blobs/b?comp=metadata"} {
		d.signed("GET", "/"+testAccount+path, "")
		d.send("GET", fmt.Sprint("/blob/", testAccount, path), "")
	}
}
