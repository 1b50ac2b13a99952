//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"
)

// planCreatePages creates a blob without written pages, sometimes over an
// existing one.
func planCreatePages(d *driver[pageBlob], name string, s state[pageBlob]) (state[pageBlob], call[pageBlob]) {
	if s.exists && rand.IntN(5) > 0 {
		return s, nil
	}
	next := newPageBlob(rand.IntN(maxPages+1), rand.Int64N(100))
	return s.written(next), func(ctx context.Context, _ *state[pageBlob]) error {
		_, err := pageClient(d, name).Create(ctx, next.size(), &pageblob.CreateOptions{SequenceNumber: &next.number, AccessConditions: s.lease.condition()})
		return err
	}
}

// somePages chooses a run of pages, small enough for the database or large enough
// for a file. The blob must have pages.
func (b pageBlob) somePages() (first, n int) {
	first = rand.IntN(b.count())
	lengths := []int{1 + rand.IntN(4), 1 + rand.IntN(120), 128 + rand.IntN(2), 130 + rand.IntN(600)}
	return first, min(lengths[rand.IntN(len(lengths))], b.count()-first, maxPiece/pageSize)
}

func pageRange(first, n int) sdk.HTTPRange {
	return sdk.HTTPRange{Offset: int64(first * pageSize), Count: int64(n * pageSize)}
}

// ifNumber is, every second time, the condition that the number is the known one.
func (b pageBlob) ifNumber() *pageblob.SequenceNumberAccessConditions {
	if rand.IntN(2) == 0 {
		return nil
	}
	return &pageblob.SequenceNumberAccessConditions{IfSequenceNumberEqualTo: &b.number}
}

// planUpload writes pages, every eighth time zeros, which count as written.
func planUpload(d *driver[pageBlob], name string, s state[pageBlob]) (state[pageBlob], call[pageBlob]) {
	if !s.exists || s.content.count() == 0 {
		return s, nil
	}
	first, n := s.content.somePages()
	from := piece{seed: rand.Uint64(), size: n * pageSize}
	content := from.bytes()
	if rand.IntN(8) == 0 {
		from = piece{}
		clear(content)
	}
	return s.written(s.content.with(first, n, true, from)), func(ctx context.Context, _ *state[pageBlob]) error {
		o := &pageblob.UploadPagesOptions{SequenceNumberAccessConditions: s.content.ifNumber(), AccessConditions: s.lease.condition()}
		_, err := pageClient(d, name).UploadPages(ctx, bytesBody(content), pageRange(first, n), o)
		return err
	}
}

func planClear(d *driver[pageBlob], name string, s state[pageBlob]) (state[pageBlob], call[pageBlob]) {
	if !s.exists || s.content.ranges() == "" {
		return s, nil
	}
	first, n := s.content.somePages()
	return s.written(s.content.with(first, n, false, piece{})), func(ctx context.Context, _ *state[pageBlob]) error {
		o := &pageblob.ClearPagesOptions{SequenceNumberAccessConditions: s.content.ifNumber(), AccessConditions: s.lease.condition()}
		_, err := pageClient(d, name).ClearPages(ctx, pageRange(first, n), o)
		return err
	}
}

func planResize(d *driver[pageBlob], name string, s state[pageBlob]) (state[pageBlob], call[pageBlob]) {
	if !s.exists {
		return s, nil
	}
	next := s.content.resized(rand.IntN(maxPages + 1))
	return s.written(next), func(ctx context.Context, _ *state[pageBlob]) error {
		_, err := pageClient(d, name).Resize(ctx, next.size(), &pageblob.ResizeOptions{AccessConditions: s.lease.condition()})
		return err
	}
}

// planNumber sets the sequence number in one of three ways.
func planNumber(d *driver[pageBlob], name string, s state[pageBlob]) (state[pageBlob], call[pageBlob]) {
	if !s.exists {
		return s, nil
	}
	next, given := s.content, to.Ptr(rand.Int64N(1<<40))
	o := &pageblob.UpdateSequenceNumberOptions{SequenceNumber: given, AccessConditions: s.lease.condition()}
	switch rand.IntN(3) {
	case 0:
		o.ActionType, next.number = to.Ptr(pageblob.SequenceNumberActionTypeUpdate), *given
	case 1:
		o.ActionType, next.number = to.Ptr(pageblob.SequenceNumberActionTypeMax), max(next.number, *given)
	case 2:
		o.ActionType, o.SequenceNumber, next.number = to.Ptr(pageblob.SequenceNumberActionTypeIncrement), nil, next.number+1
	}
	return s.written(next), func(ctx context.Context, _ *state[pageBlob]) error {
		answer, err := pageClient(d, name).UpdateSequenceNumber(ctx, o)
		if got := deref(answer.BlobSequenceNumber); err == nil && got != next.number {
			err = fmt.Errorf("the number is %d, want %d: %w", got, next.number, errViolation)
		}
		return err
	}
}

// writePageAsHolder writes a page, or resizes a blob without pages.
func writePageAsHolder(ctx context.Context, d *driver[pageBlob], name string, s state[pageBlob], id string) error {
	if s.content.count() == 0 {
		_, err := pageClient(d, name).Resize(ctx, pageSize, &pageblob.ResizeOptions{AccessConditions: leaseCondition(id)})
		return err
	}
	page := piece{seed: rand.Uint64(), size: pageSize}
	_, err := pageClient(d, name).UploadPages(ctx, body(page), pageRange(0, 1), &pageblob.UploadPagesOptions{AccessConditions: leaseCondition(id)})
	return err
}

// planPageWrite writes pages, or sets the number of a blob without pages.
func planPageWrite(d *driver[pageBlob], name string, s state[pageBlob]) (state[pageBlob], call[pageBlob]) {
	if s.content.count() > 0 {
		return planUpload(d, name, s)
	}
	return planNumber(d, name, s)
}
