//go:build unix

package blobtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// box is a container.
type box struct {
	version  string // kept in the metadata
	access   string // who may read it: what it says, and its stored policies
	state    string // of the lease
	duration string // of the lease, where leased
	id       string // of the lease, where leased, breaking or broken
	former   string // an id that was let go, or changed for another
	inside   []string
}

// keeper has containers, and does not work in any other.
type keeper struct{ *hand[box] }

func newKeeper(name string) party {
	return keeper{newHand("containers", name, 3, craft[box]{
		describe: describeBox,
		look:     lookAtBoxes,
		probe:    tryBox,
		feats: []feat[box]{
			{"create", planBox}, {"put a blob in", planInside}, {"delete", planBoxDelete},
			{"set metadata", planBoxMetadata}, {"set metadata", planBoxMetadata}, {"set access policy", planBoxAccess}, {"set access policy", planBoxAccess},
			{"acquire", planBoxAcquire}, {"acquire", planBoxAcquire}, {"renew", planBoxRenew}, {"change", planBoxChange},
			{"release", planBoxRelease}, {"break", planBoxBreak}, {"refused delete", planBoxTheft},
		},
	})}
}

// open makes nothing: to make containers is part of the work.
func (keeper) open(context.Context) error { return nil }

func (k keeper) close(ctx context.Context) error {
	var wrong error
	for name, r := range k.known {
		if r.there {
			_, err := k.box(name).Delete(ctx, r.is.deleteOptions())
			wrong = errors.Join(wrong, err)
		}
	}
	return wrong
}

func (h *hand[T]) box(name string) *container.Client { return h.service.NewContainerClient(name) }

// describeBox leaves the ids of the lease out.
func describeBox(b box) string {
	return fmt.Sprintf("version %s, %s, %s %s, with %v inside", b.version, b.access, b.state, b.duration, b.inside)
}

func lookAtBoxes(ctx context.Context, h *hand[box]) (map[string]sight, error) {
	seen := map[string]sight{}
	for _, name := range h.names {
		b, err := lookAtBox(ctx, h.box(name))
		if bloberror.HasCode(err, bloberror.ContainerNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		seen[name] = sight{there: true, text: describeBox(b)}
	}
	return seen, nil
}

func lookAtBox(ctx context.Context, client *container.Client) (box, error) {
	p, err := client.GetProperties(ctx, nil)
	if err != nil {
		return box{}, err
	}
	b := box{state: string(value(p.LeaseState)), duration: string(value(p.LeaseDuration))}
	for name, v := range p.Metadata {
		if strings.EqualFold(name, "version") { // as any header
			b.version = value(v)
		}
	}
	acl, err := client.GetAccessPolicy(ctx, nil)
	if err != nil {
		return box{}, err
	}
	b.access = accessText(acl.BlobPublicAccess, acl.SignedIdentifiers)
	pages := client.NewListBlobsFlatPager(nil)
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return box{}, err
		}
		for _, item := range page.Segment.BlobItems {
			b.inside = append(b.inside, *item.Name)
		}
	}
	return b, nil
}

// accessText is who may read a container, as far as it can be seen.
func accessText(public *container.PublicAccessType, policies []*container.SignedIdentifier) string {
	all := []string{"public: " + string(value(public))}
	for _, p := range policies {
		a := value(p.AccessPolicy)
		all = append(all, fmt.Sprintf("policy %s: %s from %s to %s", *p.ID, value(a.Permission), second(a.Start), second(a.Expiry)))
	}
	return strings.Join(all, "; ")
}

func second(t *time.Time) string { return value(t).UTC().Format(time.DateTime) }

// locked reports whether the container cannot be deleted without the id.
func (b box) locked() bool { return b.state == leased || b.state == breaking }

// shown is the condition that the lease is held, if it is.
func (b box) shown() *container.LeaseAccessConditions {
	if !b.locked() {
		return nil
	}
	return &container.LeaseAccessConditions{LeaseID: &b.id}
}

func (b box) deleteOptions() *container.DeleteOptions {
	return &container.DeleteOptions{AccessConditions: &container.AccessConditions{LeaseAccessConditions: b.shown()}}
}
