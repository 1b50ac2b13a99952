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

// containerContent is what can be read of a container.
type containerContent struct {
	version string // kept in the metadata
	access  string // public access and stored access policies
	blobs   []string
}

// containerDriver has containers as its targets, and none of its own.
type containerDriver struct{ *driver[containerContent] }

func newContainerDriver(name string) crashClient {
	return containerDriver{newDriver("containers", name, 3, kind[containerContent]{
		describe:   describeContainer,
		read:       readContainers,
		leaseRules: leaseRules[containerContent]{leaseOfContainer, containerCodes, deleteAsHolder, planContainerWrite},
		operations: append(leaseOperations[containerContent](), []operation[containerContent]{
			{"create", planCreateContainer}, {"put a blob in", planPutInside}, {"delete", planDeleteContainer},
			{"set metadata", planContainerMetadata}, {"set metadata", planContainerMetadata}, {"set access policy", planAccessPolicy}, {"set access policy", planAccessPolicy},
			{"refused delete", planRefusedWrite[containerContent]},
		}...),
	})}
}

// open creates nothing: creating containers is part of the work.
func (containerDriver) open(context.Context) error { return nil }

func (d containerDriver) close(ctx context.Context) error {
	var wrong error
	for name, s := range d.known {
		if s.exists {
			wrong = errors.Join(wrong, deleteAsHolder(ctx, d.driver, name, s, s.lease.requiredID()))
		}
	}
	return wrong
}

func containerClient(d *driver[containerContent], name string) *container.Client {
	return d.endpoint.client.NewContainerClient(name)
}

func describeContainer(c containerContent) string {
	return fmt.Sprintf("version %s, %s, with %v inside", c.version, c.access, c.blobs)
}

func readContainers(ctx context.Context, d *driver[containerContent]) (map[string]view, error) {
	seen := map[string]view{}
	for _, name := range d.targets {
		v, err := readContainer(ctx, containerClient(d, name))
		if bloberror.HasCode(err, bloberror.ContainerNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		seen[name] = v
	}
	return seen, nil
}

func readContainer(ctx context.Context, client *container.Client) (view, error) {
	p, err := client.GetProperties(ctx, nil)
	if err != nil {
		return view{}, err
	}
	var c containerContent
	for name, v := range p.Metadata {
		if strings.EqualFold(name, "version") { // the case of a header's name does not count
			c.version = deref(v)
		}
	}
	acl, err := client.GetAccessPolicy(ctx, nil)
	if err != nil {
		return view{}, err
	}
	c.access = accessText(acl.BlobPublicAccess, acl.SignedIdentifiers)
	pages := client.NewListBlobsFlatPager(nil)
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return view{}, err
		}
		for _, item := range page.Segment.BlobItems {
			c.blobs = append(c.blobs, *item.Name)
		}
	}
	return view{exists: true, text: describeContainer(c), lease: leaseText(p.LeaseState, p.LeaseDuration)}, nil
}

// accessText describes public access and stored access policies.
func accessText(public *container.PublicAccessType, policies []*container.SignedIdentifier) string {
	all := []string{"public: " + string(deref(public))}
	for _, p := range policies {
		a := deref(p.AccessPolicy)
		all = append(all, fmt.Sprintf("policy %s: %s from %s to %s", *p.ID, deref(a.Permission), second(a.Start), second(a.Expiry)))
	}
	return strings.Join(all, "; ")
}

func second(t *time.Time) string { return deref(t).UTC().Format(time.DateTime) }
