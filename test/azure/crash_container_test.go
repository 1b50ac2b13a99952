//go:build unix

package azuretest

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
	version string // kept in the metadata
	access  string // who may read it: what it says, and its stored policies
	inside  []string
}

// keeper has containers, and does not work in any other.
type keeper struct{ *hand[box] }

func newKeeper(name string) party {
	return keeper{newHand("containers", name, 3, craft[box]{
		describe: describeBox,
		look:     lookAtBoxes,
		leasing:  leasing[box]{leaseOfBox, boxWords, seizeBox, planBoxWrite},
		feats: append(leaseFeats[box](), []feat[box]{
			{"create", planBox}, {"put a blob in", planInside}, {"delete", planBoxDelete},
			{"set metadata", planBoxMetadata}, {"set metadata", planBoxMetadata}, {"set access policy", planBoxAccess}, {"set access policy", planBoxAccess},
			{"refused delete", planSeize[box]},
		}...),
	})}
}

// open makes nothing: to make containers is part of the work.
func (keeper) open(context.Context) error { return nil }

func (k keeper) close(ctx context.Context) error {
	var wrong error
	for name, r := range k.known {
		if r.there {
			wrong = errors.Join(wrong, seizeBox(ctx, k.hand, name, r, r.hold.shown()))
		}
	}
	return wrong
}

func (h *hand[T]) box(name string) *container.Client { return h.face.client.NewContainerClient(name) }

func describeBox(b box) string {
	return fmt.Sprintf("version %s, %s, with %v inside", b.version, b.access, b.inside)
}

func lookAtBoxes(ctx context.Context, h *hand[box]) (map[string]sight, error) {
	seen := map[string]sight{}
	for _, name := range h.names {
		s, err := lookAtBox(ctx, h.box(name))
		if bloberror.HasCode(err, bloberror.ContainerNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		seen[name] = s
	}
	return seen, nil
}

func lookAtBox(ctx context.Context, client *container.Client) (sight, error) {
	p, err := client.GetProperties(ctx, nil)
	if err != nil {
		return sight{}, err
	}
	var b box
	for name, v := range p.Metadata {
		if strings.EqualFold(name, "version") { // as any header
			b.version = value(v)
		}
	}
	acl, err := client.GetAccessPolicy(ctx, nil)
	if err != nil {
		return sight{}, err
	}
	b.access = accessText(acl.BlobPublicAccess, acl.SignedIdentifiers)
	pages := client.NewListBlobsFlatPager(nil)
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return sight{}, err
		}
		for _, item := range page.Segment.BlobItems {
			b.inside = append(b.inside, *item.Name)
		}
	}
	return sight{there: true, text: describeBox(b), lease: holdSeen(p.LeaseState, p.LeaseDuration)}, nil
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
