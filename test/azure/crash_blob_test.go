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

// What drivers of all kinds of blobs have in common.

const (
	snapshotsEach = 2   // that a blob has at most
	unknownID     = "?" // of a snapshot whose answer was lost
)

func (d *driver[T]) blob(name string) *sdk.Client { return d.container().NewBlobClient(name) }

// written is the state of a blob after a write, which forgets a broken lease.
func (s state[T]) written(content T) state[T] {
	if s.lease.state == broken {
		s.lease = s.lease.ended()
	}
	return s.with(content)
}

func (s state[T]) withSnapshot(id, text string) state[T] {
	s.snapshots = maps.Clone(s.snapshots)
	if s.snapshots == nil {
		s.snapshots = map[string]string{}
	}
	s.snapshots[id] = text
	return s
}

func (s state[T]) withoutSnapshot(id string) state[T] {
	s.snapshots = maps.Clone(s.snapshots)
	delete(s.snapshots, id)
	return s
}

// anySnapshot returns the id of one; "" if there is none.
func (s state[T]) anySnapshot() string {
	for id := range s.snapshots {
		return id
	}
	return ""
}

// sameSnapshots compares them. One whose id is unknown matches any that is not
// known otherwise.
func sameSnapshots(want, seen map[string]string) bool {
	if len(want) != len(seen) {
		return false
	}
	for id, text := range seen {
		known, ok := want[id]
		if !ok {
			known = want[unknownID]
		}
		if known != text {
			return false
		}
	}
	return true
}

func planSnapshot[T any](d *driver[T], name string, s state[T]) (state[T], call[T]) {
	if !s.exists || len(s.snapshots) == snapshotsEach {
		return s, nil
	}
	text := d.view(s).text
	return s.withSnapshot(unknownID, text), func(ctx context.Context, next *state[T]) error {
		answer, err := d.blob(name).CreateSnapshot(ctx, nil)
		if err == nil {
			*next = s.withSnapshot(*answer.Snapshot, text)
		}
		return err
	}
}

func planDeleteSnapshot[T any](d *driver[T], name string, s state[T]) (state[T], call[T]) {
	id := s.anySnapshot()
	if id == "" {
		return s, nil
	}
	return s.withoutSnapshot(id), func(ctx context.Context, _ *state[T]) error {
		client, err := d.blob(name).WithSnapshot(id)
		if err == nil {
			_, err = client.Delete(ctx, nil)
		}
		return err
	}
}

// planDelete remembers the id of the lease, to check that it stays ended.
func planDelete[T any](d *driver[T], name string, s state[T]) (state[T], call[T]) {
	if !s.exists || rand.IntN(3) > 0 {
		return s, nil
	}
	return state[T]{lease: s.lease.ended()}, func(ctx context.Context, _ *state[T]) error {
		o := &sdk.DeleteOptions{DeleteSnapshots: to.Ptr(sdk.DeleteSnapshotsOptionTypeInclude), AccessConditions: s.lease.condition()}
		_, err := d.blob(name).Delete(ctx, o)
		return err
	}
}

// readBlobs lists the container with snapshots and describes each entry by read.
// A blob that is no target is an error.
func (d *driver[T]) readBlobs(ctx context.Context, read func(context.Context, *container.BlobItem) (string, error)) (map[string]view, error) {
	seen := map[string]view{}
	pages := d.container().NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Include: container.ListBlobsInclude{Snapshots: true, Tags: true, Metadata: true},
	})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Segment.BlobItems {
			if _, ok := d.known[*item.Name]; !ok {
				return nil, fmt.Errorf("there is a blob %q", *item.Name)
			}
			text, err := read(ctx, item)
			if err != nil {
				return nil, fmt.Errorf("%s, snapshot %q: %w", *item.Name, deref(item.Snapshot), err)
			}
			seen[*item.Name] = seen[*item.Name].withItem(item, text)
		}
	}
	return seen, nil
}

// withItem is the view with a blob, or a snapshot of it, from the list.
func (v view) withItem(item *container.BlobItem, text string) view {
	if item.Snapshot == nil {
		v.exists, v.text, v.lease = true, text, leaseText(item.Properties.LeaseState, item.Properties.LeaseDuration)
		return v
	}
	if v.snapshots == nil {
		v.snapshots = map[string]string{}
	}
	v.snapshots[*item.Snapshot] = text
	return v
}

// readBlob downloads a blob or a snapshot, and compares its size and its lease
// with the list's.
func (d *driver[T]) readBlob(ctx context.Context, item *container.BlobItem) (head sdk.DownloadStreamResponse, sum string, err error) {
	client := d.blob(*item.Name)
	if item.Snapshot != nil {
		if client, err = client.WithSnapshot(*item.Snapshot); err != nil {
			return head, "", err
		}
	}
	if head, err = client.DownloadStream(ctx, nil); err != nil {
		return head, "", err
	}
	defer head.Body.Close()
	sum, size, err := sumOfBody(head.Body)
	if err != nil {
		return head, "", err
	}
	if listed := deref(item.Properties.ContentLength); size != listed {
		return head, "", fmt.Errorf("has %d bytes, but the list says %d", size, listed)
	}
	got, listed := leaseText(head.LeaseState, head.LeaseDuration), leaseText(item.Properties.LeaseState, item.Properties.LeaseDuration)
	if got != listed {
		err = fmt.Errorf("has a lease that is %s, but the list says %s", got, listed)
	}
	return head, sum, err
}

// setMetadata writes to a blob of any kind, beside its content.
func (d *driver[T]) setMetadata(ctx context.Context, name, id string) error {
	_, err := d.blob(name).SetMetadata(ctx, metadata(newVersion()), &sdk.SetMetadataOptions{AccessConditions: leaseCondition(id)})
	return err
}
