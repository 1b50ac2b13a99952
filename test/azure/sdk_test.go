//go:build unix

package azuretest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// newTransport is for so many connections at a time.
func (s *server) newTransport(connections int) *http.Transport {
	t := &http.Transport{MaxIdleConns: connections, MaxIdleConnsPerHost: connections, DisableCompression: true}
	s.Cleanup(t.CloseIdleConnections)
	return t
}

// sdk is Azure's client, made of the connection string that the server printed.
// It does not try again: what a request is told counts.
func (s *server) sdk(transport http.RoundTripper) *service.Client {
	s.Helper()
	o := &service.ClientOptions{ClientOptions: policy.ClientOptions{
		Transport: &http.Client{Transport: transport, Timeout: 2 * time.Minute},
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}}
	client, err := service.NewClientFromConnectionString(s.doors.Connection, o)
	if err != nil {
		s.Fatal(err)
	}
	return client
}

// container makes one and returns Azure's client of it.
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

// show is the condition that a lease is held.
func show(id string) *sdk.AccessConditions {
	return &sdk.AccessConditions{LeaseAccessConditions: &sdk.LeaseAccessConditions{LeaseID: &id}}
}
