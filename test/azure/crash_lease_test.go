//go:build unix

package azuretest

import (
	"cmp"
	"context"
	"strings"

	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
)

// hold is what is known of the lease of a blob or of a container. The zero value
// is a lease that nobody ever had.
type hold struct {
	state    string // "" is available
	duration string // where leased
	id       string // where leased, breaking or broken
	former   string // an id that was let go, or changed for another
}

// The durations of a lease, in Azure's words.
const (
	infinite = "infinite"
	fixed    = "fixed"
)

// String is all that everybody can see of a lease: not the ids.
func (l hold) String() string { return strings.TrimSpace(l.now() + " " + l.duration) }

// now is the state in Azure's words.
func (l hold) now() string { return cmp.Or(l.state, available) }

// holdSeen is the same, as an answer has it.
func holdSeen(state *lease.StateType, duration *lease.DurationType) string {
	return hold{state: string(value(state)), duration: string(value(duration))}.String()
}

// letGo is the lease when nobody has it any more.
func (l hold) letGo() hold {
	if l.id != "" {
		return hold{former: l.id}
	}
	return hold{former: l.former}
}

// locked reports whether only those may write who show the id.
func (l hold) locked() bool { return l.state == leased || l.state == breaking }

// shown is the id to write with; "" if none is needed.
func (l hold) shown() string {
	if !l.locked() {
		return ""
	}
	return l.id
}

// access is the condition that the lease of a blob is held, if it is.
func (l hold) access() *sdk.AccessConditions { return showAny(l.shown()) }

// showAny shows an id, if there is one.
func showAny(id string) *sdk.AccessConditions {
	if id == "" {
		return nil
	}
	return show(id)
}

// showBox does the same for a container.
func showBox(id string) *container.LeaseAccessConditions {
	if id == "" {
		return nil
	}
	return &container.LeaseAccessConditions{LeaseID: &id}
}

// tenure is what can be done about a lease by one id. The SDK has two kinds of
// clients for it, which differ in their types only.
type tenure interface {
	acquire(ctx context.Context, seconds int32) error
	renew(context.Context) error
	change(ctx context.Context, id string) error
	release(context.Context) error
	end(ctx context.Context, seconds int32) error // breaks it; any id will do
}

type blobTenure struct{ *lease.BlobClient }

func (t blobTenure) acquire(ctx context.Context, seconds int32) error {
	_, err := t.AcquireLease(ctx, seconds, nil)
	return err
}

func (t blobTenure) renew(ctx context.Context) error {
	_, err := t.RenewLease(ctx, nil)
	return err
}

func (t blobTenure) change(ctx context.Context, id string) error {
	_, err := t.ChangeLease(ctx, id, nil)
	return err
}

func (t blobTenure) release(ctx context.Context) error {
	_, err := t.ReleaseLease(ctx, nil)
	return err
}

func (t blobTenure) end(ctx context.Context, seconds int32) error {
	_, err := t.BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: &seconds})
	return err
}

type boxTenure struct{ *lease.ContainerClient }

func (t boxTenure) acquire(ctx context.Context, seconds int32) error {
	_, err := t.AcquireLease(ctx, seconds, nil)
	return err
}

func (t boxTenure) renew(ctx context.Context) error {
	_, err := t.RenewLease(ctx, nil)
	return err
}

func (t boxTenure) change(ctx context.Context, id string) error {
	_, err := t.ChangeLease(ctx, id, nil)
	return err
}

func (t boxTenure) release(ctx context.Context) error {
	_, err := t.ReleaseLease(ctx, nil)
	return err
}

func (t boxTenure) end(ctx context.Context, seconds int32) error {
	_, err := t.BreakLease(ctx, &lease.ContainerBreakOptions{BreakPeriod: &seconds})
	return err
}
