package azblob

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
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
	b := &breakUnderWay{Store: s, mark: newMark(), period: period}
	for try := 0; ; try++ {
		l, again, err := b.attempt(ctx, r.Resource)
		if !again {
			return l, err
		}
		if !paused(ctx, err, try) {
			var f *failure
			errors.As(err, &f)
			return l, b.undecided(f)
		}
	}
}

// breakUnderWay is one break under way.
type breakUnderWay struct {
	*Store
	mark   string
	period time.Duration

	noted bool // our note is there, or may be, so another may carry the break out
	last  view // the lease that the note is about
}

// attempt breaks the lease that is there. Again: something changed, or an answer
// was lost.
func (b *breakUnderWay) attempt(ctx context.Context, resource string) (l leasehold.Lease, again bool, err error) {
	v, f := b.service.load(ctx, resource, leasehold.ID{})
	switch {
	case f != nil:
		return l, false, b.undecided(f)
	case b.noted && (v.token != b.last.token || !v.locked() && !v.ended):
		l, err = b.carriedOut(ctx, &v)
		return l, false, err
	case !v.locked():
		return l, false, refusal(leasehold.ReasonNotFound)
	}
	mine, f := b.announce(ctx, &v)
	if f != nil {
		return l, f.kind == raced || f.kind == lost, b.undecided(f)
	}
	sent := time.Now()
	left, f := b.service.breakLease(ctx, resource, b.period, v.etag)
	switch {
	case f != nil && (f.kind == lost || f.kind == raced):
		return l, true, f
	case f != nil:
		return l, false, b.undecided(f)
	case !mine: // another had announced it, and it is that one's
		return l, false, refusal(leasehold.ReasonNotFound)
	}
	return brokenLease(&v, min(left, b.period)-time.Since(sent)), false, nil
}

// undecided is the failure of a break that another may still carry out.
func (b *breakUnderWay) undecided(f *failure) *failure {
	if b.noted && (f.kind == unsent || f.kind == busy || f.kind == raced) {
		f.kind = lost
	}
	return f
}

// announce writes the note that the lease is being broken. The note comes first:
// it says when a breaking lease ends, which the service does not; it keeps a
// renewal from bringing a broken lease back; and of several who break a lease at
// once it makes one the first, because the service tells each that he did it. Mine
// is false for those who come later: they only make sure that it is done.
func (b *breakUnderWay) announce(ctx context.Context, v *view) (mine bool, _ *failure) {
	before, f := b.service.loadBreak(ctx, v.resource)
	switch {
	case f != nil:
		return false, f
	case before.mark == b.mark && before.token == v.token:
		return true, nil
	case before.token == v.token && before.until.IsZero():
		return false, nil
	}
	note := breakNote{token: v.token, mark: b.mark, etag: before.etag}
	if b.period > 0 {
		note.until = v.now.Add(b.period)
		if before.token == v.token && v.state == lease.StateTypeBreaking && before.until.Before(note.until) {
			note.until = before.until
		}
	}
	f = b.service.storeBreak(ctx, v.resource, note)
	if f == nil || f.kind == lost {
		b.noted, b.last = true, *v
	}
	return true, f
}

// carriedOut answers a break of a lease that is gone, be it by a call of ours whose
// answer was lost or by somebody who came later and found our note.
func (b *breakUnderWay) carriedOut(ctx context.Context, v *view) (leasehold.Lease, error) {
	note, f := b.service.loadBreak(ctx, v.resource)
	switch {
	case f != nil:
		f.kind = lost
		return leasehold.Lease{}, f
	case v.token != b.last.token:
		return leasehold.Lease{}, &failure{kind: lost, cause: errLeasedAgain}
	case note.mark != b.mark:
		return leasehold.Lease{}, refusal(leasehold.ReasonNotFound)
	}
	return brokenLease(&b.last, 0), nil
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
	until time.Time // zero: at once
	mark  string    // of who broke it
	etag  azcore.ETag
}

const keyUntil = "until"

func (s *service) breakBlob(resource string) string { return s.blob(resource) + breakSuffix }

// storeBreak writes the note over the one that was read.
func (s *service) storeBreak(ctx context.Context, resource string, b breakNote) *failure {
	name, token := encodeValue(resource), strconv.FormatUint(b.token, 10)
	metadata := map[string]*string{keyName: &name, keyToken: &token, keyMark: &b.mark}
	if !b.until.IsZero() {
		until := b.until.UTC().Format(timeFormat)
		metadata[keyUntil] = &until
	}
	return s.repeat(ctx, false, func(ctx context.Context) error {
		_, err := s.client.NewBlockBlobClient(s.breakBlob(resource)).Upload(ctx, streaming.NopCloser(bytes.NewReader(nil)),
			&blockblob.UploadOptions{Metadata: metadata, AccessConditions: shownOrNew(leasehold.ID{}, b.etag)})
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
	b := breakNote{token: uint64(d.number(keyToken, 1, leasehold.MaxToken)), mark: d.pairs[keyMark], etag: deref(got.ETag)}
	if d.pairs[keyUntil] != "" {
		b.until = d.time(keyUntil)
	}
	if d.err != nil {
		return breakNote{}, &failure{kind: failed, cause: errors.New("the note of a break cannot be read")}
	}
	return b, nil
}
