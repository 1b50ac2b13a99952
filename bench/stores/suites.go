package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/open"
)

const ttl = 30 * time.Second

// suites start a server and return the contenders on it, the bare client first.
var suites = map[string]func(context.Context, *scope) ([]contender, error){
	"redis": redisSuite, "azblob": azblobSuite, "cosmos": cosmosSuite,
}

// onStore is the contender that is the store at the URL.
func onStore(ctx context.Context, s *scope, name, url string, o *open.Options) (contender, error) {
	store, err := open.Store(ctx, url, o)
	if err != nil {
		return contender{}, err
	}
	s.Cleanup(func() { _ = store.Close() })
	return contender{name, func(ctx context.Context, worker int) error {
		grant, err := store.Acquire(ctx, leasehold.AcquireRequest{Resource: resource(worker), Holder: "bench", TTL: ttl})
		if err != nil {
			return err
		}
		_, err = store.Release(ctx, leasehold.ReleaseRequest{ID: grant.ID, Resource: grant.Resource})
		return err
	}}, nil
}

func resource(worker int) string { return fmt.Sprintf("bench:%d", worker) }

// deleteIfMine is what everybody writes for a lock in Redis.
var deleteIfMine = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`)

func redisSuite(ctx context.Context, s *scope) ([]contender, error) {
	addr := testserver.Redis(s).Addr
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 64})
	s.Cleanup(func() { _ = client.Close() })
	bare := contender{"SET NX PX and a script", func(ctx context.Context, worker int) error {
		key, id := "bare:"+resource(worker), uuid.NewString()
		if ok, err := client.SetNX(ctx, key, id, ttl).Result(); err != nil || !ok {
			return errors.Join(errors.New("not set"), err)
		}
		return deleteIfMine.Run(ctx, client, []string{key}, id).Err()
	}}
	without, err := onStore(ctx, s, "store without history", "redis://"+addr+"/1?history=false", nil)
	if err != nil {
		return nil, err
	}
	with, err := onStore(ctx, s, "store with history", "redis://"+addr+"/2", nil)
	return []contender{bare, without, with}, err
}

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
