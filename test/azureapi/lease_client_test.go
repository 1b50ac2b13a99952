package azureapi_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leasehold/leasehold/azure/catalog"
)

// leaseOperation is an operation of the tables.
type leaseOperation struct {
	verb, id, proposed string
	duration           int
	period             *int
}

func parseOperation(text string) leaseOperation {
	o := leaseOperation{duration: 60}
	text, noID := strings.CutSuffix(text, ", no id")
	text, _ = strings.CutSuffix(text, ", no period")
	words := strings.Fields(text)
	o.verb = words[0]
	named := func(i int) string {
		if id, ok := leaseIDs[words[i]]; ok {
			return id
		}
		return words[i]
	}
	switch {
	case o.verb == "acquire" && !noID:
		o.proposed = named(1)
		if len(words) > 2 {
			o.duration = -1
			if n, err := strconv.Atoi(words[3]); err == nil {
				o.duration = n
			}
		}
	case o.verb == "change":
		o.id, o.proposed = named(1), named(3)
	case o.verb == "break" && len(words) > 1:
		n, _ := strconv.Atoi(words[1])
		o.period = &n
	case o.verb == "renew" || o.verb == "release":
		o.id = named(1)
	}
	return o
}

// headers are those of the request, as pairs.
func (o leaseOperation) headers() []string {
	h := []string{"x-ms-lease-action", o.verb}
	if o.verb == "acquire" {
		h = append(h, "x-ms-lease-duration", strconv.Itoa(o.duration))
	}
	if o.id != "" {
		h = append(h, "x-ms-lease-id", o.id)
	}
	if o.proposed != "" {
		h = append(h, "x-ms-proposed-lease-id", o.proposed)
	}
	if o.period != nil {
		h = append(h, "x-ms-lease-break-period", strconv.Itoa(*o.period))
	}
	return h
}

// rawLease tries leases with plain requests.
type rawLease struct {
	d    *deployment
	ref  catalog.Ref
	path string
	send func(method, path, body string, headers ...string) reply
}

func plainBlob(d *deployment, name string) leased {
	d.ensure("blobs")
	d.put("blobs", name, "content")
	return &rawLease{d, testRef("blobs", name), "/blob/" + testAccount + "/blobs/" + name + "?comp=lease", d.send}
}

func plainContainer(d *deployment, name string) leased {
	d.ensure(name)
	return &rawLease{d, testRef(name, ""), "/blob/" + testAccount + "/" + name + "?restype=container&comp=lease", d.send}
}

func (l *rawLease) try(operation string) (int, string, string, int) {
	r := l.send("PUT", l.path, "", parseOperation(operation).headers()...)
	seconds, _ := strconv.Atoi(r.header.Get("X-Ms-Lease-Time"))
	return r.status, r.code(), r.header.Get("X-Ms-Lease-Id"), seconds
}

func (l *rawLease) state() string {
	l.d.Helper()
	var view catalog.LeaseView
	if l.ref.Blob == "" {
		found, err := l.d.catalog.Container(l.d.Context(), l.ref, catalog.Access{})
		if err != nil {
			l.d.Fatal(err)
		}
		view = found.Lease
	} else {
		found, err := l.d.catalog.Head(l.d.Context(), l.ref, catalog.Access{})
		if err != nil {
			l.d.Fatal(err)
		}
		view = found.Lease
	}
	if locked := view.State == "leased" || view.State == "breaking"; locked != (view.Status == "locked") {
		l.d.Errorf("status %s, state %s", view.Status, view.State)
	}
	return view.State
}

// sdkLease tries leases with the SDK, except for what it cannot say.
type sdkLease struct {
	raw  rawLease
	with func(id *string) sdkLeaser
}

// sdkLeaser is what the SDK's two lease clients have in common, once their
// answers are.
type sdkLeaser interface {
	acquire(ctx context.Context, seconds int32) (string, error)
	renew(ctx context.Context) (string, error)
	change(ctx context.Context, proposed string) (string, error)
	release(ctx context.Context) error
	breakNow(ctx context.Context, period *int32) (int32, error)
}

func (l *sdkLease) try(operation string) (int, string, string, int) {
	if strings.HasSuffix(operation, "no id") {
		return l.raw.try(operation)
	}
	o, ctx := parseOperation(operation), l.raw.d.Context()
	var id string
	var seconds int32
	var err error
	status := http.StatusOK
	switch o.verb {
	case "acquire":
		status = http.StatusCreated
		id, err = l.with(&o.proposed).acquire(ctx, int32(o.duration))
	case "renew":
		id, err = l.with(&o.id).renew(ctx)
	case "change":
		id, err = l.with(&o.id).change(ctx, o.proposed)
	case "release":
		err = l.with(&o.id).release(ctx)
	case "break":
		status = http.StatusAccepted
		var period *int32
		if o.period != nil {
			period = to.Ptr(int32(*o.period))
		}
		seconds, err = l.with(nil).breakNow(ctx, period)
	}
	if err != nil {
		return statusOf(err), codeOf(err), "", 0
	}
	return status, "", id, int(seconds)
}

func (l *sdkLease) state() string { return l.raw.state() }

func sdkBlob(d *deployment, name string) leased {
	d.ensure("blobs")
	d.put("blobs", name, "content")
	client := d.service().NewContainerClient("blobs").NewBlobClient(name)
	return &sdkLease{
		raw: rawLease{d, testRef("blobs", name), "/" + testAccount + "/blobs/" + name + "?comp=lease", d.signed},
		with: func(id *string) sdkLeaser {
			c, err := lease.NewBlobClient(client, &lease.BlobClientOptions{LeaseID: id})
			if err != nil {
				d.Fatal(err)
			}
			return blobLease{c}
		},
	}
}

func sdkContainer(d *deployment, name string) leased {
	client := d.container(name)
	return &sdkLease{
		raw: rawLease{d, testRef(name, ""), "/" + testAccount + "/" + name + "?restype=container&comp=lease", d.signed},
		with: func(id *string) sdkLeaser {
			return containerLease{newContainerLease(d, client, id)}
		},
	}
}

func newContainerLease(d *deployment, client *container.Client, id *string) *lease.ContainerClient {
	c, err := lease.NewContainerClient(client, &lease.ContainerClientOptions{LeaseID: id})
	if err != nil {
		d.Fatal(err)
	}
	return c
}

// blobLease is the SDK's client of a blob's lease.
type blobLease struct{ *lease.BlobClient }

func (l blobLease) acquire(ctx context.Context, seconds int32) (string, error) {
	r, err := l.AcquireLease(ctx, seconds, nil)
	return value(r.LeaseID), err
}

func (l blobLease) renew(ctx context.Context) (string, error) {
	r, err := l.RenewLease(ctx, nil)
	return value(r.LeaseID), err
}

func (l blobLease) change(ctx context.Context, proposed string) (string, error) {
	r, err := l.ChangeLease(ctx, proposed, nil)
	return value(r.LeaseID), err
}

func (l blobLease) release(ctx context.Context) error {
	_, err := l.ReleaseLease(ctx, nil)
	return err
}

func (l blobLease) breakNow(ctx context.Context, period *int32) (int32, error) {
	r, err := l.BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: period})
	return value(r.LeaseTime), err
}

// containerLease is the SDK's client of a container's lease.
type containerLease struct{ *lease.ContainerClient }

func (l containerLease) acquire(ctx context.Context, seconds int32) (string, error) {
	r, err := l.AcquireLease(ctx, seconds, nil)
	return value(r.LeaseID), err
}

func (l containerLease) renew(ctx context.Context) (string, error) {
	r, err := l.RenewLease(ctx, nil)
	return value(r.LeaseID), err
}

func (l containerLease) change(ctx context.Context, proposed string) (string, error) {
	r, err := l.ChangeLease(ctx, proposed, nil)
	return value(r.LeaseID), err
}

func (l containerLease) release(ctx context.Context) error {
	_, err := l.ReleaseLease(ctx, nil)
	return err
}

func (l containerLease) breakNow(ctx context.Context, period *int32) (int32, error) {
	r, err := l.BreakLease(ctx, &lease.ContainerBreakOptions{BreakPeriod: period})
	return value(r.LeaseTime), err
}
