//go:build unix

package azuretest

import (
	"context"
	"errors"
	"fmt"
	"io"

	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// check compares everything that the worker has with what it was told, after the
// server died and came back. From then on what the server has is what is known.
func (w *worker) check(ctx context.Context) error {
	seen, err := w.look(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	var wrong error
	for name, want := range w.known {
		if err := w.compare(ctx, name, want, seen[name]); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s/%s: %w", w.name, name, err))
		}
	}
	w.doing, w.to = "", ""
	return wrong
}

// compare takes the blob for what was acknowledged, or else for what the one
// operation under way makes of it: that one may have been done or not, but
// nothing in between.
func (w *worker) compare(ctx context.Context, name string, want, seen blob) error {
	candidates := []blob{want}
	if w.to == name && w.doing != "" {
		candidates = append(candidates, w.maybe)
	}
	err := fmt.Errorf("%v", seen)
	for _, c := range candidates {
		if !c.like(seen) {
			continue
		}
		c.snapshots = seen.snapshots
		settled, mistake := w.tryLease(ctx, name, c)
		if mistake == nil {
			w.known[name] = settled
			if c.there {
				w.found[c.state]++
			}
			return nil
		}
		err = errors.Join(err, mistake)
	}
	if len(candidates) == 1 {
		return fmt.Errorf("want %v: %w", want, err)
	}
	return fmt.Errorf("want %v or, by %s, %v: %w", want, w.doing, w.maybe, err)
}

// tryLease checks that the lease is held by its id, and by no other. One that is
// being broken it releases, so that no time passes that would break it.
func (w *worker) tryLease(ctx context.Context, name string, b blob) (blob, error) {
	switch b.state {
	case leased:
		if _, err := w.lease(name, b.id).RenewLease(ctx, nil); err != nil {
			return b, fmt.Errorf("renew of an acknowledged lease: %w", err)
		}
		if _, err := w.lease(name, newID()).AcquireLease(ctx, 60, nil); !bloberror.HasCode(err, bloberror.LeaseAlreadyPresent) {
			return b, fmt.Errorf("acquire of what is leased = %w, want LeaseAlreadyPresent", err)
		}
		if _, err := w.blob(name).SetMetadata(ctx, nil, nil); !bloberror.HasCode(err, bloberror.LeaseIDMissing) {
			return b, fmt.Errorf("write without the id = %w, want LeaseIdMissing", err)
		}
	case breaking:
		if _, err := w.lease(name, b.id).ReleaseLease(ctx, nil); err != nil {
			return b, fmt.Errorf("release of what is being broken: %w", err)
		}
		b.state, b.id = available, ""
	}
	return b, nil
}

// look reads all that is in the container.
func (w *worker) look(ctx context.Context) (map[string]blob, error) {
	all := map[string]blob{}
	for name := range w.known {
		all[name] = nothing
	}
	pages := w.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Include: container.ListBlobsInclude{Snapshots: true, Metadata: true},
	})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Segment.BlobItems {
			b, ok := all[*item.Name]
			if !ok {
				return nil, fmt.Errorf("there is a blob %q", *item.Name)
			}
			if b, err = w.lookAt(ctx, b, item); err != nil {
				return nil, fmt.Errorf("%s, snapshot %q: %w", *item.Name, value(item.Snapshot), err)
			}
			all[*item.Name] = b
		}
	}
	return all, nil
}

// lookAt reads a blob, or one of its snapshots, and compares the content with
// what the list says of it.
func (w *worker) lookAt(ctx context.Context, b blob, item *container.BlobItem) (blob, error) {
	client := w.blob(*item.Name)
	if item.Snapshot != nil {
		var err error
		if client, err = client.WithSnapshot(*item.Snapshot); err != nil {
			return b, err
		}
	}
	_, sum, err := readAll(ctx, client, item)
	if err != nil {
		return b, err
	}
	if item.Snapshot != nil {
		return b.with(*item.Snapshot, sum), nil
	}
	b.there, b.sum, b.version = true, sum, value(item.Metadata["version"])
	b.state = string(value(item.Properties.LeaseState))
	return b, nil
}

// readAll reads the whole of a blob, or of a snapshot, and compares the size
// with what the list says of it.
func readAll(ctx context.Context, client downloader, item *container.BlobItem) (head sdk.DownloadStreamResponse, sum string, err error) {
	if head, err = client.DownloadStream(ctx, nil); err != nil {
		return head, "", err
	}
	defer head.Body.Close()
	sum, got, err := sumOfBody(head.Body)
	if size := value(item.Properties.ContentLength); err == nil && got != size {
		err = fmt.Errorf("has %d bytes, but the list says %d", got, size)
	}
	return head, sum, err
}

// downloader is Azure's client of a blob of any kind.
type downloader interface {
	DownloadStream(context.Context, *sdk.DownloadStreamOptions) (sdk.DownloadStreamResponse, error)
}

func download(ctx context.Context, client *blockblob.Client) ([]byte, error) {
	answer, err := client.DownloadStream(ctx, &sdk.DownloadStreamOptions{})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// value returns what p points to, or nothing.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
