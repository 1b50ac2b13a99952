//go:build unix

package azuretest

import (
	"context"
	"crypto/md5"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"
)

// disk is a page blob.
type disk struct {
	leaves []leaf
	number int64 // the sequence number
}

// leaf is one page. Those that were never written, or were cleared, are zeros
// and no part of the ranges; those written with zeros are.
type leaf struct {
	written bool
	from    piece // what it was cut from; of no size, if that was zeros
	at      int   // and where, in pages
}

func (l leaf) bytes() []byte {
	switch first := l.at * pageSize; {
	case l.from.size == 0:
		return zeros
	case first == 0:
		return piece{seed: l.from.seed, size: pageSize}.bytes()
	default:
		return noise[l.from.seed%maxPiece:][first:][:pageSize]
	}
}

var zeros = make([]byte, pageSize)

const (
	pageSize = 512
	maxPages = 1000 // that a disk has
)

func newPrinter(name string) party {
	return newHand("page blobs", name, 3, craft[disk]{
		describe: describeDisk,
		look:     lookAtDisks,
		leasing:  leasing[disk]{leaseOfBlob[disk], blobWords, seizeDisk, planDiskWrite},
		feats: append(leaseFeats[disk](), []feat[disk]{
			{"create", planDisk}, {"upload", planUpload}, {"upload", planUpload}, {"upload", planUpload}, {"upload", planUpload},
			{"clear", planClear}, {"clear", planClear}, {"resize", planResize}, {"set the number", planNumber}, {"set the number", planNumber},
			{"snapshot", planShot[disk]}, {"delete snapshot", planDropShot[disk]}, {"delete", planRemove[disk]},
			{"refused write", planSeize[disk]},
		}...),
	})
}

func newDisk(pages int, number int64) disk { return disk{make([]leaf, pages), number} }

func (d disk) pages() int { return len(d.leaves) }

func (d disk) size() int64 { return int64(d.pages() * pageSize) }

// cut is the disk with another size. What is added is zeros.
func (d disk) cut(pages int) disk {
	next := newDisk(pages, d.number)
	copy(next.leaves, d.leaves)
	return next
}

// over is the disk with n pages from the first on written anew, or cleared.
func (d disk) over(first, n int, written bool, from piece) disk {
	next := d.cut(d.pages())
	for i := range n {
		next.leaves[first+i] = leaf{written, from, i}
	}
	return next
}

// ranges are the runs of pages that were written.
func (d disk) ranges() string {
	var all []string
	for at := 0; at < d.pages(); at++ {
		first := at
		for at < d.pages() && d.leaves[at].written {
			at++
		}
		if at > first {
			all = append(all, rangeText(int64(first*pageSize), int64(at*pageSize-1)))
		}
	}
	return strings.Join(all, " ")
}

func rangeText(first, last int64) string { return fmt.Sprintf("%d-%d", first, last) }

func describeDisk(d disk) string {
	h := md5.New()
	for _, l := range d.leaves {
		h.Write(l.bytes())
	}
	return diskText(sumText(d.size(), h), d.ranges(), d.number)
}

func diskText(sum, ranges string, number int64) string {
	return fmt.Sprintf("%s, pages %s, number %d", sum, ranges, number)
}

func diskClient(h *hand[disk], name string) *pageblob.Client {
	return h.container().NewPageBlobClient(name)
}

func lookAtDisks(ctx context.Context, h *hand[disk]) (map[string]sight, error) {
	return h.lookAtBlobs(ctx, func(ctx context.Context, item *container.BlobItem) (string, error) {
		head, sum, err := h.fetch(ctx, item)
		if err != nil {
			return "", err
		}
		number := value(head.BlobSequenceNumber)
		if listed := value(item.Properties.BlobSequenceNumber); listed != number {
			return "", fmt.Errorf("has the number %d, but the list says %d", number, listed)
		}
		ranges, err := lookAtRanges(ctx, diskClient(h, *item.Name), item.Snapshot)
		return diskText(sum, ranges, number), err
	})
}

func lookAtRanges(ctx context.Context, client *pageblob.Client, snapshot *string) (string, error) {
	var all []string
	pages := client.NewGetPageRangesPager(&pageblob.GetPageRangesOptions{Snapshot: snapshot})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, r := range page.PageRange {
			all = append(all, rangeText(*r.Start, *r.End))
		}
	}
	return strings.Join(all, " "), nil
}
