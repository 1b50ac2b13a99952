package azblob

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/leasehold/leasehold"
)

// Break ends the current lease without its id.
func (s *Store) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	l, err := s.breakNow(ctx, r)
	if err == nil {
		s.known.drop(r.Resource)
		s.queues.EndsIn(r.Resource, l.Remaining)
	}
	return l, storeError("break", r.Resource, err)
}

func (s *Store) breakNow(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	if err := first(r.Validate(), s.usable(ctx)); err != nil {
		return leasehold.Lease{}, err
	}
	if len(r.Resource) > MaxResource {
		return leasehold.Lease{}, refusal(leasehold.ReasonNotFound)
	}
	unlock, err := s.locks.acquire(ctx, r.Resource)
	if err != nil {
		return leasehold.Lease{}, &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: err}
	}
	defer unlock()
	ctx, cancel := s.limited(ctx)
	defer cancel()
	var period time.Duration
	if r.Period != nil {
		period = *r.Period
	}
	for inDoubt := false; ; {
		v, f := s.service.load(ctx, r.Resource, leasehold.ID{})
		switch {
		case f != nil && inDoubt:
			f.kind = lost
			return leasehold.Lease{}, f
		case f != nil:
			return leasehold.Lease{}, f
		case !v.locked():
			return leasehold.Lease{}, refusal(leasehold.ReasonNotFound)
		}
		l, f := s.breakOnce(ctx, &v, period)
		switch {
		case f == nil:
			return l, nil
		case f.kind == lost && ctx.Err() == nil:
			if l, done := s.brokeAnyway(ctx, &v, period); done {
				return l, nil
			}
			inDoubt = true
		case f.kind != raced:
			return leasehold.Lease{}, f
		}
	}
}

// breakOnce breaks the lease that was read. The note of it comes first: it says
// when a breaking lease ends, which the service does not, and keeps a renewal from
// bringing a broken lease back.
func (s *Store) breakOnce(ctx context.Context, v *view, period time.Duration) (leasehold.Lease, *failure) {
	note := breakNote{token: v.token, until: v.now.Add(period)}
	if v.state == lease.StateTypeBreaking {
		if before, f := s.service.loadBreak(ctx, v.resource); f == nil && before.token == v.token && before.until.Before(note.until) {
			note.until = before.until
		}
	}
	if f := s.service.storeBreak(ctx, v.resource, note); f != nil {
		return leasehold.Lease{}, nothingDone(f)
	}
	sent := time.Now()
	left, f := s.service.breakLease(ctx, v.resource, period, v.etag)
	if f != nil {
		return leasehold.Lease{}, f
	}
	return brokenLease(v, min(left, period)-time.Since(sent)), nil
}

// brokeAnyway looks whether a break whose answer was lost has happened.
func (s *Store) brokeAnyway(ctx context.Context, v *view, period time.Duration) (leasehold.Lease, bool) {
	now, f := s.service.load(ctx, v.resource, leasehold.ID{})
	switch {
	case f != nil || now.etag != v.etag && now.locked() || now.state == lease.StateTypeLeased:
		return leasehold.Lease{}, false
	case now.state == lease.StateTypeBreaking && period == 0:
		return leasehold.Lease{}, false
	case now.state == lease.StateTypeBreaking:
		return s.shownLease(ctx, &now), true
	}
	return brokenLease(v, 0), true
}

// brokenLease is the answer of a break that leaves so much time.
func brokenLease(v *view, left time.Duration) leasehold.Lease {
	l := v.lease()
	l.State, l.Remaining = leasehold.StateBroken, 0
	if left > 0 {
		l.State, l.Remaining = leasehold.StateBreaking, left
		l.ExpiresAt = v.now.Add(left)
		if l.TTL != leasehold.Infinite {
			l.Remaining = min(left, l.TTL)
		}
	}
	return l
}

// shownLease is the live lease of a blob. When a breaking one ends is noted in
// another blob.
func (s *Store) shownLease(ctx context.Context, v *view) leasehold.Lease {
	l := v.lease()
	if v.state != lease.StateTypeBreaking {
		return l
	}
	l.State = leasehold.StateBreaking
	left := time.Millisecond // it is not known
	if b, f := s.service.loadBreak(ctx, v.resource); f == nil && b.token == v.token {
		left = max(b.until.Sub(v.now.Add(grain)), left)
	}
	if l.Remaining == leasehold.Infinite || left < l.Remaining {
		l.Remaining = left
	}
	l.ExpiresAt = v.now.Add(l.Remaining)
	return l
}

// breakNote says which lease is being broken and until when. It is a blob of its
// own: nobody but its owner can write to a leased one.
type breakNote struct {
	token uint64
	until time.Time
}

const keyUntil = "until"

func (s *service) breakBlob(resource string) string { return s.blob(resource) + breakSuffix }

func (s *service) storeBreak(ctx context.Context, resource string, b breakNote) *failure {
	token, until := strconv.FormatUint(b.token, 10), b.until.UTC().Format(timeFormat)
	name := encodeValue(resource)
	return s.repeat(ctx, true, func(ctx context.Context) error {
		_, err := s.client.NewBlockBlobClient(s.breakBlob(resource)).Upload(ctx, streaming.NopCloser(bytes.NewReader(nil)),
			&blockblob.UploadOptions{Metadata: map[string]*string{keyName: &name, keyToken: &token, keyUntil: &until}})
		return err
	})
}

// loadBreak reads the note; none is no failure.
func (s *service) loadBreak(ctx context.Context, resource string) (breakNote, *failure) {
	var got blob.GetPropertiesResponse
	f := s.repeat(ctx, true, func(ctx context.Context) (err error) {
		got, err = s.client.NewBlobClient(s.breakBlob(resource)).GetProperties(ctx, nil)
		return err
	})
	switch {
	case f != nil && f.kind == noBlob:
		return breakNote{}, nil
	case f != nil:
		return breakNote{}, nothingDone(f)
	}
	d := recordDecoder{pairs: lowered(got.Metadata)}
	b := breakNote{token: uint64(d.number(keyToken, 1, leasehold.MaxToken)), until: d.time(keyUntil)}
	if d.err != nil {
		return breakNote{}, &failure{kind: failed, cause: errors.New("the note of a break cannot be read")}
	}
	return b, nil
}
