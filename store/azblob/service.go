package azblob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
)

// service is the container: one method for each call that the store makes, with
// the retries that are right for it.
//
// The SDK's own retries are switched off, also in a client that was handed in: it
// would send a write again whose answer was lost. Here a read is repeated; a write
// only if the service said that it did not carry it out. What else to do about a
// lost answer is for the operation to know.
type service struct {
	client    *container.Client
	container string
	prefix    string
	create    bool // a missing container
	clock     *serviceClock
}

const (
	maxTries     = 4
	firstBackoff = 100 * time.Millisecond
)

// repeat makes a call. Safe: it may be repeated whatever happened to it.
func (s *service) repeat(ctx context.Context, safe bool, call func(context.Context) error) *failure {
	created := false
	for try := 0; ; try++ {
		f := failureOf(ctx, call(policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})))
		if f == nil {
			return nil
		}
		s.clock.note(f.date)
		switch {
		case f.kind == noContainer && !created:
			if f = s.createContainer(ctx); f != nil {
				return f
			}
			created = true
			continue
		case try+1 >= maxTries || !repeatable(f, safe):
			return f
		}
		if !sleepWithin(ctx, max(backoff(try), f.retryAfter)) {
			return f
		}
	}
}

func repeatable(f *failure, safe bool) bool {
	switch f.kind {
	case busy, unsent:
		return !isTLS(f.cause)
	case lost:
		return safe
	}
	return false
}

func backoff(try int) time.Duration {
	d := firstBackoff << try
	return d/2 + rand.N(d/2+1)
}

// sleepWithin pauses, and reports false, without a pause, if no time is left after it.
func sleepWithin(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	return sleep.For(ctx, d)
}

// paused lets time pass before something is tried again: after a lost answer, and
// when others were faster several times. It reports false if there is no time left.
func paused(ctx context.Context, err error, try int) bool {
	var f *failure
	waits := errors.As(err, &f) && (f.kind == lost || f.kind == unsent || f.kind == busy)
	return !waits && try < maxTries || sleepWithin(ctx, backoff(min(try, maxTries)))
}

// createContainer creates the container, unless another did or it must not.
func (s *service) createContainer(ctx context.Context) *failure {
	if !s.create {
		return &failure{kind: noContainer, cause: errors.New("the container " + s.container + " does not exist, and creating it is switched off; create it first")}
	}
	_, err := s.client.Create(policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1}), nil)
	if bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
		return nil
	}
	return nothingDone(failureOf(ctx, err))
}

// probe finds out whether the container is there and may be read. It lists:
// signatures of a container do not allow to read its properties.
func (s *service) probe(ctx context.Context) *failure {
	one := int32(1)
	return s.repeat(ctx, true, func(ctx context.Context) error {
		_, err := s.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &s.prefix, MaxResults: &one}).NextPage(ctx)
		return err
	})
}

// errNotAzure is an answer of something that stands before the service.
var errNotAzure = errors.New("the answer is not one of Azure Blob Storage")

func (s *service) blob(resource string) string { return s.prefix + encodeName(resource) }

// view is a blob at one moment.
type view struct {
	record
	exists   bool
	etag     azcore.ETag
	modified time.Time // the service's, whole seconds
	now      time.Time // the service's, whole seconds
	state    lease.StateType
	infinite bool
}

// locked reports whether the blob has a live lease. The service's lease of one that
// was released may still be there.
func (v *view) locked() bool {
	return !v.ended && (v.state == lease.StateTypeLeased || v.state == lease.StateTypeBreaking)
}

// load reads a blob; with an id, only if a lease with that id is live on it. A
// blob that does not exist is no failure.
func (s *service) load(ctx context.Context, resource string, id leasehold.ID) (view, *failure) {
	for {
		v, f := s.loadProperties(ctx, resource, id)
		if f != nil || !v.inContent || !v.locked() {
			return v, f
		}
		if f = s.loadPairs(ctx, &v); f == nil || f.kind != raced {
			return v, f
		}
	}
}

func (s *service) loadProperties(ctx context.Context, resource string, id leasehold.ID) (view, *failure) {
	var v view
	v.resource = resource
	var got blob.GetPropertiesResponse
	f := s.repeat(ctx, true, func(ctx context.Context) (err error) {
		got, err = s.client.NewBlobClient(s.blob(resource)).GetProperties(ctx, &blob.GetPropertiesOptions{AccessConditions: shown(id, "")})
		return err
	})
	switch {
	case f != nil && f.kind == noBlob && id.IsZero():
		v.state = lease.StateTypeAvailable
		return v, nil
	case f != nil && f.kind == noBlob, f != nil && f.kind == raced && f.code == "":
		f.kind = notLeased
		return v, f
	case f != nil:
		return v, nothingDone(f)
	}
	s.clock.note(got.Date)
	var err error
	if v.record, err = decodeRecord(got.Metadata); err != nil {
		return v, &failure{kind: failed, cause: err}
	}
	if v.resource != resource {
		return v, &failure{kind: failed, cause: errors.New("the blob's metadata names another resource")}
	}
	if v.exists, v.etag = true, deref(got.ETag); v.etag == "" {
		return v, &failure{kind: failed, cause: errNotAzure}
	}
	v.modified, v.now = deref(got.LastModified), deref(got.Date)
	v.state, v.infinite = deref(got.LeaseState), deref(got.LeaseDuration) == lease.DurationTypeInfinite
	if v.ended && !id.IsZero() {
		return v, &failure{kind: notLeased}
	}
	return v, nil
}

// loadPairs reads the pairs that are the blob's content.
func (s *service) loadPairs(ctx context.Context, v *view) *failure {
	return nothingDone(s.repeat(ctx, true, func(ctx context.Context) error {
		got, err := s.client.NewBlobClient(s.blob(v.resource)).DownloadStream(ctx, &blob.DownloadStreamOptions{
			AccessConditions: shown(leasehold.ID{}, v.etag),
		})
		if err != nil {
			return err
		}
		defer got.Body.Close()
		content, err := io.ReadAll(io.LimitReader(got.Body, 1<<20))
		if err != nil {
			return err
		}
		return json.Unmarshal(content, &v.metadata)
	}))
}

// store writes a record over the blob as it was read, under the lease with that id
// if there is one. An empty etag creates the blob. It returns the new etag.
func (s *service) store(ctx context.Context, r *record, id leasehold.ID, was azcore.ETag) (azcore.ETag, time.Time, *failure) {
	metadata, content, err := r.encode()
	if err != nil {
		return "", time.Time{}, &failure{kind: failed, cause: err}
	}
	client := s.client.NewBlockBlobClient(s.blob(r.resource))
	var etag *azcore.ETag
	var modified, date *time.Time
	f := s.repeat(ctx, false, func(ctx context.Context) error {
		if was == "" || content != nil {
			got, err := client.Upload(ctx, streaming.NopCloser(bytes.NewReader(content)), &blockblob.UploadOptions{
				Metadata: metadata, AccessConditions: shownOrNew(id, was),
			})
			etag, modified, date = got.ETag, got.LastModified, got.Date
			return err
		}
		got, err := client.SetMetadata(ctx, metadata, &blob.SetMetadataOptions{AccessConditions: shown(id, was)})
		etag, modified, date = got.ETag, got.LastModified, got.Date
		return err
	})
	switch {
	case f != nil:
		return "", time.Time{}, f
	case deref(etag) == "": // then no later call could be conditional
		return "", time.Time{}, &failure{kind: lost, cause: errNotAzure}
	}
	s.clock.note(date)
	return deref(etag), deref(modified), nil
}

// leaseClient makes the client of lease calls. The id is always given, so it cannot
// fail.
func (s *service) leaseClient(resource string, id leasehold.ID) *lease.BlobClient {
	shown := id.Reveal()
	c, _ := lease.NewBlobClient(s.client.NewBlobClient(s.blob(resource)), &lease.BlobClientOptions{LeaseID: &shown})
	return c
}

// acquireLease acquires the service's lease if the blob is as it was read.
func (s *service) acquireLease(ctx context.Context, resource string, id leasehold.ID, ttl time.Duration, was azcore.ETag) (time.Time, *failure) {
	var got lease.BlobAcquireResponse
	f := s.repeat(ctx, false, func(ctx context.Context) (err error) {
		got, err = s.leaseClient(resource, id).AcquireLease(ctx, seconds(ttl), &lease.BlobAcquireOptions{ModifiedAccessConditions: same(was)})
		return err
	})
	s.clock.note(got.Date)
	return deref(got.Date), f
}

// renewLease restarts the service's lease. To do it twice does no harm.
func (s *service) renewLease(ctx context.Context, resource string, id leasehold.ID, was azcore.ETag) (time.Time, *failure) {
	var got lease.BlobRenewResponse
	f := s.repeat(ctx, true, func(ctx context.Context) (err error) {
		got, err = s.leaseClient(resource, id).RenewLease(ctx, &lease.BlobRenewOptions{ModifiedAccessConditions: same(was)})
		return err
	})
	s.clock.note(got.Date)
	return deref(got.Date), f
}

func (s *service) releaseLease(ctx context.Context, resource string, id leasehold.ID, was azcore.ETag) (time.Time, *failure) {
	var got lease.BlobReleaseResponse
	f := s.repeat(ctx, false, func(ctx context.Context) (err error) {
		got, err = s.leaseClient(resource, id).ReleaseLease(ctx, &lease.BlobReleaseOptions{ModifiedAccessConditions: same(was)})
		return err
	})
	s.clock.note(got.Date)
	return deref(got.Date), f
}

// breakLease breaks the lease of the blob as it was read, and returns how long it
// still has.
func (s *service) breakLease(ctx context.Context, resource string, period time.Duration, was azcore.ETag) (time.Duration, *failure) {
	whole := int32((period + time.Second - 1) / time.Second)
	var got lease.BlobBreakResponse
	f := s.repeat(ctx, false, func(ctx context.Context) (err error) {
		got, err = s.leaseClient(resource, leasehold.NewID()).BreakLease(ctx, &lease.BlobBreakOptions{
			BreakPeriod: &whole, ModifiedAccessConditions: same(was),
		})
		return err
	})
	s.clock.note(got.Date)
	return time.Duration(deref(got.LeaseTime)) * time.Second, f
}

// finishRelease ends the service's lease of a blob whose lease was released: who
// released it may have died in between.
func (s *service) finishRelease(ctx context.Context, v *view) *failure {
	if v.state != lease.StateTypeLeased && v.state != lease.StateTypeBreaking {
		return nil
	}
	_, f := s.breakLease(ctx, v.resource, 0, v.etag)
	if f != nil && f.kind == notLeased {
		return nil // it has ended meanwhile
	}
	return f
}

func (s *service) changeLease(ctx context.Context, resource string, from, to leasehold.ID, was azcore.ETag) *failure {
	return s.repeat(ctx, false, func(ctx context.Context) error {
		_, err := s.leaseClient(resource, from).ChangeLease(ctx, to.Reveal(), &lease.BlobChangeOptions{ModifiedAccessConditions: same(was)})
		return err
	})
}

// seconds is a ttl as the service counts it: whole, and never shorter.
func seconds(ttl time.Duration) int32 {
	if ttl == leasehold.Infinite {
		return -1
	}
	return int32((ttl + time.Second - 1) / time.Second)
}

func same(was azcore.ETag) *blob.ModifiedAccessConditions {
	if was == "" {
		return nil
	}
	return &blob.ModifiedAccessConditions{IfMatch: &was}
}

func shown(id leasehold.ID, was azcore.ETag) *blob.AccessConditions {
	c := &blob.AccessConditions{ModifiedAccessConditions: same(was)}
	if !id.IsZero() {
		text := id.Reveal()
		c.LeaseAccessConditions = &blob.LeaseAccessConditions{LeaseID: &text}
	}
	return c
}

// shownOrNew is for a write that creates the blob, or replaces what was read.
func shownOrNew(id leasehold.ID, was azcore.ETag) *blob.AccessConditions {
	c := shown(id, was)
	if was == "" {
		absent := azcore.ETagAny
		c.ModifiedAccessConditions = &blob.ModifiedAccessConditions{IfNoneMatch: &absent}
	}
	return c
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
