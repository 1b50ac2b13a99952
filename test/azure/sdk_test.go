//go:build unix

package azuretest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// newTransport keeps so many connections open.
func (s *server) newTransport(connections int) *http.Transport {
	t := &http.Transport{MaxIdleConns: connections, MaxIdleConnsPerHost: connections, DisableCompression: true}
	s.Cleanup(t.CloseIdleConnections)
	return t
}

// clientOptions make a client that sends each request once, so that a test sees
// every answer.
func clientOptions(transport http.RoundTripper) *service.ClientOptions {
	return &service.ClientOptions{ClientOptions: policy.ClientOptions{
		Transport: &http.Client{Transport: transport, Timeout: 2 * time.Minute},
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}}
}

// sdk is Azure's client, made of the connection string that the server printed.
func (s *server) sdk(transport http.RoundTripper) *service.Client {
	s.Helper()
	client, err := service.NewClientFromConnectionString(s.address.Connection, clientOptions(transport))
	if err != nil {
		s.Fatal(err)
	}
	return client
}

// plainSDK is Azure's client of the plain API, where nobody signs.
func (s *server) plainSDK(transport http.RoundTripper) *service.Client {
	s.Helper()
	client, err := service.NewClientWithNoCredential(s.address.API+"/blob/"+account+"/", clientOptions(transport))
	if err != nil {
		s.Fatal(err)
	}
	return client
}

// container creates one and returns Azure's client of it.
func (s *server) container(name string) *container.Client {
	s.Helper()
	c := s.sdk(s.newTransport(64)).NewContainerClient(name)
	if _, err := c.Create(s.Context(), nil); err != nil {
		s.Fatalf("Create(%q) = %v", name, err)
	}
	return c
}

// statusOf returns the status of an answer; 0 if there was none.
func statusOf(err error) int {
	var refused *azcore.ResponseError
	if errors.As(err, &refused) {
		return refused.StatusCode
	}
	return 0
}

// newID makes a GUID for a lease.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// bytesBody is the body of a request.
func bytesBody(b []byte) io.ReadSeekCloser { return streaming.NopCloser(bytes.NewReader(b)) }

func download(ctx context.Context, client *blockblob.Client) ([]byte, error) {
	answer, err := client.DownloadStream(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// deref returns what p points to, or the zero value.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
