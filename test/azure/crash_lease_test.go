//go:build unix

package azuretest

import (
	"cmp"
	"context"
	"strings"

	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

// The states and durations of a lease, in Azure's words.
const (
	available = "available"
	leased    = "leased"
	breaking  = "breaking"
	broken    = "broken"

	infinite = "infinite"
	fixed    = "fixed"
)

// leaseState is what is known of the lease of a blob or a container. The zero
// value is a lease that was never acquired.
type leaseState struct {
	state    string // "" is available
	duration string // where leased
	id       string // where leased, breaking or broken
	former   string // an id that was released, or changed for another
}

// String is what a reader sees of a lease: not the ids.
func (l leaseState) String() string { return strings.TrimSpace(l.name() + " " + l.duration) }

// name is the state in Azure's words.
func (l leaseState) name() string { return cmp.Or(l.state, available) }

// leaseText is String for the headers of an answer.
func leaseText(state *lease.StateType, duration *lease.DurationType) string {
	return leaseState{state: string(deref(state)), duration: string(deref(duration))}.String()
}

// ended is the lease after it was released.
func (l leaseState) ended() leaseState {
	return leaseState{former: cmp.Or(l.id, l.former)}
}

// locked reports whether a write needs the id.
func (l leaseState) locked() bool { return l.state == leased || l.state == breaking }

// requiredID is the id to write with; "" if none is needed.
func (l leaseState) requiredID() string {
	if !l.locked() {
		return ""
	}
	return l.id
}

// condition shows the id of a blob's lease, if one is needed.
func (l leaseState) condition() *sdk.AccessConditions { return leaseCondition(l.requiredID()) }

// leaseCondition shows an id; none if it is "".
func leaseCondition(id string) *sdk.AccessConditions {
	if id == "" {
		return nil
	}
	return &sdk.AccessConditions{LeaseAccessConditions: &sdk.LeaseAccessConditions{LeaseID: &id}}
}

// containerLeaseCondition is leaseCondition for a container.
func containerLeaseCondition(id string) *container.LeaseAccessConditions {
	if id == "" {
		return nil
	}
	return &container.LeaseAccessConditions{LeaseID: &id}
}

// leaseClient sends lease operations with one id. The SDK has two types for it,
// one for blobs and one for containers.
type leaseClient interface {
	acquire(ctx context.Context, seconds int32) error
	renew(context.Context) error
	change(ctx context.Context, id string) error
	release(context.Context) error
	breakIn(ctx context.Context, seconds int32) error // any id will do
}

type blobLease struct{ *lease.BlobClient }

func newBlobLease[T blockblob.Client | sdk.Client](client *T, id string) blobLease {
	c, err := lease.NewBlobClient(client, &lease.BlobClientOptions{LeaseID: &id})
	if err != nil {
		panic(err) // it does nothing that could fail
	}
	return blobLease{c}
}

func (l blobLease) acquire(ctx context.Context, seconds int32) error {
	_, err := l.AcquireLease(ctx, seconds, nil)
	return err
}

func (l blobLease) renew(ctx context.Context) error {
	_, err := l.RenewLease(ctx, nil)
	return err
}

func (l blobLease) change(ctx context.Context, id string) error {
	_, err := l.ChangeLease(ctx, id, nil)
	return err
}

func (l blobLease) release(ctx context.Context) error {
	_, err := l.ReleaseLease(ctx, nil)
	return err
}

func (l blobLease) breakIn(ctx context.Context, seconds int32) error {
	_, err := l.BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: &seconds})
	return err
}

type containerLease struct{ *lease.ContainerClient }

func newContainerLease(client *container.Client, id string) containerLease {
	c, err := lease.NewContainerClient(client, &lease.ContainerClientOptions{LeaseID: &id})
	if err != nil {
		panic(err) // it does nothing that could fail
	}
	return containerLease{c}
}

func (l containerLease) acquire(ctx context.Context, seconds int32) error {
	_, err := l.AcquireLease(ctx, seconds, nil)
	return err
}

func (l containerLease) renew(ctx context.Context) error {
	_, err := l.RenewLease(ctx, nil)
	return err
}

func (l containerLease) change(ctx context.Context, id string) error {
	_, err := l.ChangeLease(ctx, id, nil)
	return err
}

func (l containerLease) release(ctx context.Context) error {
	_, err := l.ReleaseLease(ctx, nil)
	return err
}

func (l containerLease) breakIn(ctx context.Context, seconds int32) error {
	_, err := l.BreakLease(ctx, &lease.ContainerBreakOptions{BreakPeriod: &seconds})
	return err
}
