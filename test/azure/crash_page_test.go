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

// pageBlob is the content of a page blob.
type pageBlob struct {
	pages  []page
	number int64 // the sequence number
}

// page is one page. A page that was never written, or was cleared, is zeros and
// in no range; a page written with zeros is in one.
type page struct {
	written bool
	from    piece // what it is a part of; of size 0 if zeros
	at      int   // the offset in from, in pages
}

func (p page) bytes() []byte {
	switch first := p.at * pageSize; {
	case p.from.size == 0:
		return zeros
	case first == 0:
		return piece{seed: p.from.seed, size: pageSize}.bytes()
	default:
		return noise[p.from.seed%maxPiece:][first:][:pageSize]
	}
}

var zeros = make([]byte, pageSize)

const (
	pageSize = 512
	maxPages = 1000 // of a blob
)

func newPageDriver(name string) crashClient {
	return newDriver("page blobs", name, 3, kind[pageBlob]{
		describe:   describePages,
		read:       readPageBlobs,
		leaseRules: leaseRules[pageBlob]{leaseOfBlob[pageBlob], blobCodes, writePageAsHolder, planPageWrite},
		operations: append(leaseOperations[pageBlob](), []operation[pageBlob]{
			{"create", planCreatePages}, {"upload", planUpload}, {"upload", planUpload}, {"upload", planUpload}, {"upload", planUpload},
			{"clear", planClear}, {"clear", planClear}, {"resize", planResize}, {"set the number", planNumber}, {"set the number", planNumber},
			{"snapshot", planSnapshot[pageBlob]}, {"delete snapshot", planDeleteSnapshot[pageBlob]}, {"delete", planDelete[pageBlob]},
			{"refused write", planRefusedWrite[pageBlob]},
		}...),
	})
}

func newPageBlob(pages int, number int64) pageBlob { return pageBlob{make([]page, pages), number} }

func (b pageBlob) count() int { return len(b.pages) }

func (b pageBlob) size() int64 { return int64(b.count() * pageSize) }

// resized is the blob with another size. What is added is zeros.
func (b pageBlob) resized(pages int) pageBlob {
	next := newPageBlob(pages, b.number)
	copy(next.pages, b.pages)
	return next
}

// with is the blob with n pages written, or cleared, from the first on.
func (b pageBlob) with(first, n int, written bool, from piece) pageBlob {
	next := b.resized(b.count())
	for i := range n {
		next.pages[first+i] = page{written, from, i}
	}
	return next
}

// ranges are the runs of pages that were written.
func (b pageBlob) ranges() string {
	var all []string
	for at := 0; at < b.count(); at++ {
		first := at
		for at < b.count() && b.pages[at].written {
			at++
		}
		if at > first {
			all = append(all, rangeText(int64(first*pageSize), int64(at*pageSize-1)))
		}
	}
	return strings.Join(all, " ")
}

func rangeText(first, last int64) string { return fmt.Sprintf("%d-%d", first, last) }

func describePages(b pageBlob) string {
	h := md5.New()
	for _, p := range b.pages {
		h.Write(p.bytes())
	}
	return pagesText(sumText(b.size(), h), b.ranges(), b.number)
}

func pagesText(sum, ranges string, number int64) string {
	return fmt.Sprintf("%s, pages %s, number %d", sum, ranges, number)
}

func pageClient(d *driver[pageBlob], name string) *pageblob.Client {
	return d.container().NewPageBlobClient(name)
}

func readPageBlobs(ctx context.Context, d *driver[pageBlob]) (map[string]view, error) {
	return d.readBlobs(ctx, func(ctx context.Context, item *container.BlobItem) (string, error) {
		head, sum, err := d.readBlob(ctx, item)
		if err != nil {
			return "", err
		}
		number := deref(head.BlobSequenceNumber)
		if listed := deref(item.Properties.BlobSequenceNumber); listed != number {
			return "", fmt.Errorf("has the number %d, but the list says %d", number, listed)
		}
		ranges, err := readRanges(ctx, pageClient(d, *item.Name), item.Snapshot)
		return pagesText(sum, ranges, number), err
	})
}

func readRanges(ctx context.Context, client *pageblob.Client, snapshot *string) (string, error) {
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
