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

// What is done to page blobs.

// planDisk makes one without pages, sometimes in place of one that is there.
func planDisk(h *hand[disk], name string, r entry[disk]) (entry[disk], move[disk]) {
	if r.there && rand.IntN(5) > 0 {
		return r, nil
	}
	next := newDisk(rand.IntN(maxPages+1), rand.Int64N(100))
	return r.written(next), func(ctx context.Context, _ *entry[disk]) error {
		_, err := diskClient(h, name).Create(ctx, next.size(), &pageblob.CreateOptions{SequenceNumber: &next.number, AccessConditions: r.hold.access()})
		return err
	}
}

// somePages chooses a run of a disk that has any: small enough for the database
// or large enough for a file.
func (d disk) somePages() (first, n int) {
	first = rand.IntN(d.pages())
	lengths := []int{1 + rand.IntN(4), 1 + rand.IntN(120), 128 + rand.IntN(2), 130 + rand.IntN(600)}
	return first, min(lengths[rand.IntN(len(lengths))], d.pages()-first, maxPiece/pageSize)
}

func span(first, n int) sdk.HTTPRange {
	return sdk.HTTPRange{Offset: int64(first * pageSize), Count: int64(n * pageSize)}
}

// ifNumber is, now and then, the condition that the number is the known one.
func (d disk) ifNumber() *pageblob.SequenceNumberAccessConditions {
	if rand.IntN(2) == 0 {
		return nil
	}
	return &pageblob.SequenceNumberAccessConditions{IfSequenceNumberEqualTo: &d.number}
}

// planUpload writes pages; one in eight times they are zeros, and are written
// all the same.
func planUpload(h *hand[disk], name string, r entry[disk]) (entry[disk], move[disk]) {
	if !r.there || r.is.pages() == 0 {
		return r, nil
	}
	first, n := r.is.somePages()
	from := piece{seed: rand.Uint64(), size: n * pageSize}
	content := from.bytes()
	if rand.IntN(8) == 0 {
		from = piece{}
		clear(content)
	}
	return r.written(r.is.over(first, n, true, from)), func(ctx context.Context, _ *entry[disk]) error {
		o := &pageblob.UploadPagesOptions{SequenceNumberAccessConditions: r.is.ifNumber(), AccessConditions: r.hold.access()}
		_, err := diskClient(h, name).UploadPages(ctx, bytesBody(content), span(first, n), o)
		return err
	}
}

func planClear(h *hand[disk], name string, r entry[disk]) (entry[disk], move[disk]) {
	if !r.there || r.is.ranges() == "" {
		return r, nil
	}
	first, n := r.is.somePages()
	return r.written(r.is.over(first, n, false, piece{})), func(ctx context.Context, _ *entry[disk]) error {
		o := &pageblob.ClearPagesOptions{SequenceNumberAccessConditions: r.is.ifNumber(), AccessConditions: r.hold.access()}
		_, err := diskClient(h, name).ClearPages(ctx, span(first, n), o)
		return err
	}
}

func planResize(h *hand[disk], name string, r entry[disk]) (entry[disk], move[disk]) {
	if !r.there {
		return r, nil
	}
	next := r.is.cut(rand.IntN(maxPages + 1))
	return r.written(next), func(ctx context.Context, _ *entry[disk]) error {
		_, err := diskClient(h, name).Resize(ctx, next.size(), &pageblob.ResizeOptions{AccessConditions: r.hold.access()})
		return err
	}
}

// planNumber sets the sequence number in one of three ways.
func planNumber(h *hand[disk], name string, r entry[disk]) (entry[disk], move[disk]) {
	if !r.there {
		return r, nil
	}
	next, given := r.is, to.Ptr(rand.Int64N(1<<40))
	o := &pageblob.UpdateSequenceNumberOptions{SequenceNumber: given, AccessConditions: r.hold.access()}
	switch rand.IntN(3) {
	case 0:
		o.ActionType, next.number = to.Ptr(pageblob.SequenceNumberActionTypeUpdate), *given
	case 1:
		o.ActionType, next.number = to.Ptr(pageblob.SequenceNumberActionTypeMax), max(next.number, *given)
	case 2:
		o.ActionType, o.SequenceNumber, next.number = to.Ptr(pageblob.SequenceNumberActionTypeIncrement), nil, next.number+1
	}
	return r.written(next), func(ctx context.Context, _ *entry[disk]) error {
		answer, err := diskClient(h, name).UpdateSequenceNumber(ctx, o)
		if got := value(answer.BlobSequenceNumber); err == nil && got != next.number {
			err = fmt.Errorf("the number is %d, want %d: %w", got, next.number, errWrong)
		}
		return err
	}
}

// seizeDisk writes a page, or makes room for one.
func seizeDisk(ctx context.Context, h *hand[disk], name string, r entry[disk], id string) error {
	if r.is.pages() == 0 {
		_, err := diskClient(h, name).Resize(ctx, pageSize, &pageblob.ResizeOptions{AccessConditions: showAny(id)})
		return err
	}
	page := piece{seed: rand.Uint64(), size: pageSize}
	_, err := diskClient(h, name).UploadPages(ctx, body(page), span(0, 1), &pageblob.UploadPagesOptions{AccessConditions: showAny(id)})
	return err
}

// planDiskWrite writes pages, if there are any.
func planDiskWrite(h *hand[disk], name string, r entry[disk]) (entry[disk], move[disk]) {
	if r.is.pages() > 0 {
		return planUpload(h, name, r)
	}
	return planNumber(h, name, r)
}
