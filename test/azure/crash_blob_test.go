//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// What hands of all kinds do to their blobs.

func (h *hand[T]) blob(name string) *sdk.Client { return h.container().NewBlobClient(name) }

func planShot[T any](h *hand[T], name string, r entry[T]) (entry[T], move[T]) {
	if !r.there || len(r.shots) == snapshotsEach {
		return r, nil
	}
	with := func(id string) entry[T] {
		next := r
		next.shots = maps.Clone(r.shots)
		if next.shots == nil {
			next.shots = map[string]string{}
		}
		next.shots[id] = h.sight(r).text
		return next
	}
	return with(unheard), func(ctx context.Context, next *entry[T]) error {
		answer, err := h.blob(name).CreateSnapshot(ctx, nil)
		if err == nil {
			*next = with(*answer.Snapshot)
		}
		return err
	}
}

func planDropShot[T any](h *hand[T], name string, r entry[T]) (entry[T], move[T]) {
	for id := range r.shots {
		next := r
		next.shots = maps.Clone(r.shots)
		delete(next.shots, id)
		return next, func(ctx context.Context, _ *entry[T]) error {
			client, err := h.blob(name).WithSnapshot(id)
			if err == nil {
				_, err = client.Delete(ctx, nil)
			}
			return err
		}
	}
	return r, nil
}

// planRemove deletes it; whose lease it was is remembered.
func planRemove[T any](h *hand[T], name string, r entry[T]) (entry[T], move[T]) {
	if !r.there || rand.IntN(3) > 0 {
		return r, nil
	}
	return entry[T]{hold: r.hold.letGo()}, func(ctx context.Context, _ *entry[T]) error {
		o := &sdk.DeleteOptions{DeleteSnapshots: to.Ptr(sdk.DeleteSnapshotsOptionTypeInclude), AccessConditions: r.hold.access()}
		_, err := h.blob(name).Delete(ctx, o)
		return err
	}
}

// lookAtBlobs lists all that is in the container, with snapshots, and reads
// each. It fails if there is anything that the hand does not know.
func (h *hand[T]) lookAtBlobs(ctx context.Context, read func(context.Context, *container.BlobItem) (string, error)) (map[string]sight, error) {
	seen := map[string]sight{}
	pages := h.container().NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Include: container.ListBlobsInclude{Snapshots: true, Tags: true},
	})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Segment.BlobItems {
			if _, ok := h.known[*item.Name]; !ok {
				return nil, fmt.Errorf("there is a blob %q", *item.Name)
			}
			text, err := read(ctx, item)
			if err != nil {
				return nil, fmt.Errorf("%s, snapshot %q: %w", *item.Name, value(item.Snapshot), err)
			}
			seen[*item.Name] = seen[*item.Name].and(item, text)
		}
	}
	return seen, nil
}

// and is the sight with a blob, or a snapshot, from the list.
func (s sight) and(item *container.BlobItem, text string) sight {
	if item.Snapshot == nil {
		s.there, s.text, s.lease = true, text, holdSeen(item.Properties.LeaseState, item.Properties.LeaseDuration)
		return s
	}
	if s.shots == nil {
		s.shots = map[string]string{}
	}
	s.shots[*item.Snapshot] = text
	return s
}

// fetch reads the whole of a blob, or of a snapshot, from the list, and compares
// its lease with what the list says of that.
func (h *hand[T]) fetch(ctx context.Context, item *container.BlobItem) (head sdk.DownloadStreamResponse, sum string, err error) {
	client := h.blob(*item.Name)
	if item.Snapshot != nil {
		if client, err = client.WithSnapshot(*item.Snapshot); err != nil {
			return head, "", err
		}
	}
	if head, sum, err = readAll(ctx, client, item); err != nil {
		return head, "", err
	}
	got, listed := holdSeen(head.LeaseState, head.LeaseDuration), holdSeen(item.Properties.LeaseState, item.Properties.LeaseDuration)
	if got != listed {
		err = fmt.Errorf("has a lease that is %s, but the list says %s", got, listed)
	}
	return head, sum, err
}
