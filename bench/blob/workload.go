package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

// small is the size of the blobs that are written and read.
const small = 1 << 10 // bytes

// workload is what workers do again and again, each on a blob of its own.
type workload struct {
	what    string
	workers int
	least   float64 // the ratio that is aimed for; 0 is none
	prepare func(*blockblob.Client) (func(context.Context) error, error)
}

var workloads = []workload{
	{"acquire+release pairs/s, 1 worker", 1, 0, leasePairs},
	{"acquire+release pairs/s, 32 workers", 32, 8, leasePairs},
	{"puts of 1 KiB/s, 1 worker", 1, 0, puts},
	{"puts of 1 KiB/s, 32 workers", 32, 5, puts},
	{"gets of 1 KiB/s, 1 worker", 1, 0, gets},
	{"gets of 1 KiB/s, 32 workers", 32, 5, gets},
}

func leasePairs(blob *blockblob.Client) (func(context.Context) error, error) {
	l, err := lease.NewBlobClient(blob, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if _, err := l.AcquireLease(ctx, 60, nil); err != nil {
			return err
		}
		_, err := l.ReleaseLease(ctx, nil)
		return err
	}, nil
}

func puts(blob *blockblob.Client) (func(context.Context) error, error) {
	content := make([]byte, small)
	rand.Read(content)
	return func(ctx context.Context) error { return put(ctx, blob, content) }, nil
}

func put(ctx context.Context, blob *blockblob.Client, content []byte) error {
	_, err := blob.Upload(ctx, streaming.NopCloser(bytes.NewReader(content)), nil)
	return err
}

func gets(blob *blockblob.Client) (func(context.Context) error, error) {
	return func(ctx context.Context) error {
		answer, err := blob.DownloadStream(ctx, nil)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, answer.Body)
		if err == nil && n != small {
			err = fmt.Errorf("got %d bytes, want %d", n, small)
		}
		answer.Body.Close()
		return err
	}, nil
}
