package server_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/store/sqlite"
)

// The official SDK needs nothing but the connection string, which leasehold
// serve prints.
func Example_sdk() {
	url, stop, err := startServer()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	connection := "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;" +
		"AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" +
		"BlobEndpoint=" + url + "/devstoreaccount1;"
	if err := acquireLease(context.Background(), connection); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the report is leased")
	// Output: the report is leased
}

func acquireLease(ctx context.Context, connection string) error {
	client, err := service.NewClientFromConnectionString(connection, nil)
	if err != nil {
		return err
	}
	box := client.NewContainerClient("box")
	if _, err := box.Create(ctx, nil); err != nil {
		return err
	}
	doc := box.NewBlockBlobClient("report.txt")
	if _, err := doc.UploadBuffer(ctx, []byte("first"), nil); err != nil {
		return err
	}
	held, err := lease.NewBlobClient(doc, nil)
	if err != nil {
		return err
	}
	if _, err := held.AcquireLease(ctx, 15, nil); err != nil {
		return err
	}
	return nil
}

// startServer builds a server as a program of its own would.
func startServer() (url string, stop func(), _ error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "blobs")
	if err != nil {
		return "", nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "leases.db"), &sqlite.Options{Modules: []engine.Module{catalog.Module()}})
	if err != nil {
		return "", nil, err
	}
	bytes, err := content.Open(filepath.Join(dir, "blobs"), nil)
	if err != nil {
		return "", nil, err
	}
	rows, err := catalog.Open(ctx, store, bytes, nil)
	if err != nil {
		return "", nil, err
	}
	server := httptest.NewServer(server.New(rows, nil).Handler())
	return server.URL, func() {
		server.Close()
		rows.Close()
		bytes.Close()
		store.Close()
		os.RemoveAll(dir)
	}, nil
}
