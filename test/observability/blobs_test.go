//go:build unix

package observability

import (
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/leasehold/leasehold/internal/testserver"
)

// blobs uses the Blob API through Azure's SDK.
type blobs struct {
	t         *testing.T
	container *container.Client
}

func newBlobs(t *testing.T, url string) *blobs {
	t.Helper()
	credential, err := service.NewSharedKeyCredential(testserver.AzuriteAccount, testserver.AzuriteKey)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	client, err := service.NewClientWithSharedKeyCredential(url+"/"+testserver.AzuriteAccount, credential, &service.ClientOptions{
		ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}, Transport: &http.Client{Transport: transport}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &blobs{t: t, container: client.NewContainerClient("observed")}
	if _, err := b.container.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return b
}

// What run does, by operation and status.
var blobCounts = map[string]float64{
	"code=201,operation=PutBlockBlob": 5, "code=200,operation=GetBlob": 3, "code=404,operation=GetBlob": 2,
	"code=201,operation=LeaseBlobAcquire": 1, "code=409,operation=LeaseBlobAcquire": 2, "code=200,operation=LeaseBlobRelease": 1,
}

func (b *blobs) run() {
	b.t.Helper()
	ctx, blob := b.t.Context(), b.container.NewBlockBlobClient("blob")
	try := func(what string, n int, call func() error) {
		b.t.Helper()
		for range n {
			if err := call(); err != nil {
				b.t.Fatalf("%s = %v", what, err)
			}
		}
	}
	refused := func(err error, code bloberror.Code) error {
		if bloberror.HasCode(err, code) {
			return nil
		}
		return err
	}
	try("PutBlob", 5, func() error { _, err := blob.UploadBuffer(ctx, []byte("content"), nil); return err })
	try("GetBlob", 3, func() error {
		r, err := blob.DownloadStream(ctx, nil)
		if err == nil {
			err = r.Body.Close()
		}
		return err
	})
	try("GetBlob of nothing", 2, func() error {
		_, err := b.container.NewBlobClient("nothing").DownloadStream(ctx, nil)
		return refused(err, bloberror.BlobNotFound)
	})
	first, err := lease.NewBlobClient(blob, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	second, err := lease.NewBlobClient(blob, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	try("AcquireLease", 1, func() error { _, err := first.AcquireLease(ctx, 60, nil); return err })
	try("AcquireLease of a leased blob", 2, func() error {
		_, err := second.AcquireLease(ctx, 60, nil)
		return refused(err, bloberror.LeaseAlreadyPresent)
	})
	try("ReleaseLease", 1, func() error { _, err := first.ReleaseLease(ctx, nil); return err })
}
