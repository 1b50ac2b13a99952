package main

import (
	"context"
	"encoding/json"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/google/uuid"

	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/open"
)

func azblobSuite(ctx context.Context, s *scope) ([]contender, error) {
	addr := testserver.Azurite(s).Addr
	client, err := container.NewClientFromConnectionString(testserver.AzuriteConnection(addr), "bare", nil)
	if err != nil {
		return nil, err
	}
	if _, err := client.Create(ctx, nil); err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
		return nil, err
	}
	blobs := map[int]*blockblob.Client{}
	for worker := range 1024 { // as the store does, only at the first use
		blobs[worker] = client.NewBlockBlobClient(resource(worker))
	}
	bare := contender{"lease on a blob", func(ctx context.Context, worker int) error {
		holder, err := lease.NewBlobClient(blobs[worker], nil)
		if err != nil {
			return err
		}
		_, err = holder.AcquireLease(ctx, int32(ttl.Seconds()), nil)
		if bloberror.HasCode(err, bloberror.BlobNotFound) {
			if _, err = blobs[worker].UploadBuffer(ctx, nil, nil); err == nil {
				_, err = holder.AcquireLease(ctx, int32(ttl.Seconds()), nil)
			}
		}
		if err != nil {
			return err
		}
		_, err = holder.ReleaseLease(ctx, nil)
		return err
	}}
	ours, err := onStore(ctx, s, "store", "azblob:///leases", &open.Options{Secret: testserver.AzuriteConnection(addr)})
	return []contender{bare, ours}, err
}

func cosmosSuite(ctx context.Context, s *scope) ([]contender, error) {
	addr := testserver.Cosmos(s).Addr
	items, err := newCosmosContainer(ctx, addr)
	if err != nil {
		return nil, err
	}
	bare := contender{"item created and deleted", func(ctx context.Context, worker int) error {
		id := resource(worker)
		key := azcosmos.NewPartitionKeyString(id)
		item, err := json.Marshal(map[string]any{"id": id, "partitionKey": id, "leaseId": uuid.NewString()})
		if err != nil {
			return err
		}
		if _, err := items.CreateItem(ctx, key, item, nil); err != nil {
			return err
		}
		_, err = items.DeleteItem(ctx, key, id, nil)
		return err
	}}
	ours, err := onStore(ctx, s, "store", "cosmos:///leasehold/leases", &open.Options{Secret: testserver.CosmosConnection(addr)})
	return []contender{bare, ours}, err
}

func newCosmosContainer(ctx context.Context, addr string) (*azcosmos.ContainerClient, error) {
	client, err := azcosmos.NewClientFromConnectionString(testserver.CosmosConnection(addr), nil)
	if err != nil {
		return nil, err
	}
	if _, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "bare"}, nil); err != nil {
		return nil, err
	}
	database, err := client.NewDatabase("bare")
	if err != nil {
		return nil, err
	}
	properties := azcosmos.ContainerProperties{
		ID: "items", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/partitionKey"}},
	}
	if _, err := database.CreateContainer(ctx, properties, nil); err != nil {
		return nil, err
	}
	return database.NewContainer("items")
}
