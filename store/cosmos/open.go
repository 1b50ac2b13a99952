package cosmos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// newStore makes the store when its container is there.
func newStore(ctx context.Context, client *azcosmos.Client, o Options, seen *account, closeClient func()) (*cas.Store, error) {
	b := &backend{partition: o.Partition, account: seen, closeClient: closeClient}
	if err := b.openWithin(ctx, client, o); err != nil {
		closeClient()
		return nil, openError(err)
	}
	return cas.New(b, &cas.Options{Limit: o.Timeout, TTL: o.DefaultTTL}), nil
}

// openWithin finds the container within the timeout. The SDK's first request does
// not end with its context.
func (b *backend) openWithin(ctx context.Context, client *azcosmos.Client, o Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("no answer within %v: %w", o.Timeout, context.DeadlineExceeded))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- b.open(ctx, client, o) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// open finds the container, or creates it.
func (b *backend) open(ctx context.Context, client *azcosmos.Client, o Options) (err error) {
	if b.container, err = client.NewContainer(o.Database, o.Container); err != nil {
		return err
	}
	err = b.readContainer(ctx)
	if f := failureOf(err); f == nil || f.status != 404 {
		return err
	}
	if o.NoCreate {
		return fmt.Errorf("the database %q or its container %q does not exist; create it, or let the store create it", o.Database, o.Container)
	}
	if err := b.create(ctx, client, o); err != nil {
		return err
	}
	return b.readContainer(ctx)
}

// partitionPath is where documents have their partition key.
const partitionPath = "/partitionKey"

// readContainer checks that the container can keep the documents.
func (b *backend) readContainer(ctx context.Context) error {
	var resp azcosmos.ContainerResponse
	err := b.call(ctx, read, func() (err error) {
		resp, err = b.container.Read(ctx, nil)
		return err
	})
	if err != nil {
		return err
	}
	if p := resp.ContainerProperties; p != nil && !slices.Equal(p.PartitionKeyDefinition.Paths, []string{partitionPath}) {
		return fmt.Errorf("the container %q is partitioned by %q, want %q; give the store a container of its own",
			b.container.ID(), p.PartitionKeyDefinition.Paths, partitionPath)
	}
	return nil
}

// create creates the database and the container. Others may do so at the same
// time.
func (b *backend) create(ctx context.Context, client *azcosmos.Client, o Options) error {
	err := b.call(ctx, write, func() error {
		_, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: o.Database}, nil)
		return err
	})
	if err != nil && !exists(err) {
		return mayNotCreate(err)
	}
	database, err := client.NewDatabase(o.Database)
	if err != nil {
		return err
	}
	err = b.call(ctx, write, func() error {
		_, err := database.CreateContainer(ctx, containerProperties(o.Container), throughput(o.Throughput))
		return err
	})
	if err != nil && !exists(err) {
		return mayNotCreate(err)
	}
	return nil
}

func exists(err error) bool {
	f := failureOf(err)
	return f != nil && f.status == 409
}

// mayNotCreate says what to do where the caller's role does not allow it.
func mayNotCreate(err error) error {
	var e *leasehold.Error
	if errors.As(err, &e) && e.Reason == leasehold.ReasonForbidden {
		full := *e
		full.Cause = fmt.Errorf("the identity may not create databases and containers, so they have to be there already: %w", e.Cause)
		return &full
	}
	return err
}

// containerProperties has documents delete themselves by their ttl, and does not
// index what nobody asks for.
func containerProperties(id string) azcosmos.ContainerProperties {
	onlyByItem := int32(-1)
	return azcosmos.ContainerProperties{
		ID:                id,
		DefaultTimeToLive: &onlyByItem,
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{
			Paths: []string{partitionPath}, Kind: azcosmos.PartitionKeyKindHash, Version: 2,
		},
		IndexingPolicy: &azcosmos.IndexingPolicy{
			Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent,
			IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}},
			ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/marks/*"}, {Path: `/"_etag"/?`}},
		},
	}
}

func throughput(rus int32) *azcosmos.CreateContainerOptions {
	if rus == 0 {
		return nil
	}
	t := azcosmos.NewManualThroughputProperties(rus)
	return &azcosmos.CreateContainerOptions{ThroughputProperties: &t}
}
