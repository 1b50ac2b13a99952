//go:build unix

package azuretest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/leasehold/leasehold/internal/soak"
)

const (
	blockSize = 8 << 20
	maxGrowth = 64 << 20
)

var (
	largeBlocks = soak.Rounds(32, 128) // a gigabyte
	largeSize   = int64(blockSize * largeBlocks)
)

// TestLarge uploads up to a gigabyte in blocks, downloads it, makes snapshots and
// changes a block. The server keeps none of it in memory, and no byte twice on the
// disk.
func TestLarge(t *testing.T) { // alone: it measures
	s := serve(t)
	large := &largeBlob{server: s, client: s.container("large").NewBlockBlobClient("gigabyte")}
	before, _ := s.memory()
	start := time.Now()
	large.upload()
	uploaded := time.Since(start)
	start = time.Now()
	large.verify()
	downloaded := time.Since(start)
	now, peak := s.memory()
	t.Logf("%s uploaded in %v and downloaded in %v; memory %s before, %s at most, %s after",
		mib(largeSize), uploaded.Round(time.Millisecond), downloaded.Round(time.Millisecond), mib(before), mib(peak), mib(now))
	if peak-before > maxGrowth {
		t.Errorf("the server grew from %s to %s, want at most %s more", mib(before), mib(peak), mib(maxGrowth))
	}
	large.snapshot()
	large.changeBlock()
	large.free()
	if _, peak := s.memory(); peak-before > maxGrowth {
		t.Errorf("the server grew from %s to %s in the end, want at most %s more", mib(before), mib(peak), mib(maxGrowth))
	}
}

// largeBlob is a blob whose content is made when it is needed.
type largeBlob struct {
	*server
	client *blockblob.Client
	old    string // the id of a snapshot
}

// block is the content of a block, in a buffer that is used again.
func block(number, version int, buffer []byte) []byte {
	if len(buffer) == 0 {
		buffer = make([]byte, blockSize)
		for at := 0; at < blockSize; at += copy(buffer[at:], noise) {
		}
	}
	for at := 0; at < blockSize; at += 4 << 10 { // no two pages are alike
		binary.BigEndian.PutUint64(buffer[at:], uint64(version)<<48|uint64(number)<<32|uint64(at))
	}
	return buffer
}

func blockID(number, version int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%08d.%08d", number, version))
}

func (l *largeBlob) stage(ctx context.Context, number, version int, buffer []byte) error {
	_, err := l.client.StageBlock(ctx, blockID(number, version), bytesBody(buffer), nil)
	return err
}

// upload stages all blocks, two at a time, and commits them.
func (l *largeBlob) upload() {
	l.Helper()
	half := func(first int) func(context.Context) error {
		return func(ctx context.Context) (err error) {
			var buffer []byte
			for i := first; i < largeBlocks && err == nil; i += 2 {
				buffer = block(i, 1, buffer)
				err = l.stage(ctx, i, 1, buffer)
			}
			return err
		}
	}
	if err := parallel(l.Context(), []func(context.Context) error{half(0), half(1)}); err != nil {
		l.Fatalf("StageBlock() = %v", err)
	}
	l.commit()
}

// commit makes the blob of all blocks, some of them of the second version.
func (l *largeBlob) commit(changed ...int) {
	l.Helper()
	var ids []string
	for i := range largeBlocks {
		version := 1
		if slices.Contains(changed, i) {
			version = 2
		}
		ids = append(ids, blockID(i, version))
	}
	if _, err := l.client.CommitBlockList(l.Context(), ids, nil); err != nil {
		l.Fatalf("CommitBlockList() = %v", err)
	}
}

// verify downloads the blob in one stream and compares every byte.
func (l *largeBlob) verify() {
	l.Helper()
	answer, err := l.client.DownloadStream(l.Context(), nil)
	if err != nil {
		l.Fatalf("DownloadStream() = %v", err)
	}
	defer answer.Body.Close()
	var want []byte
	got := make([]byte, blockSize)
	for i := range largeBlocks {
		want = block(i, 1, want)
		if n, err := io.ReadFull(answer.Body, got); err != nil || !bytes.Equal(got, want) {
			l.Fatalf("block %d of the download has %d bytes, %v; want what was uploaded", i, n, err)
		}
	}
	if n, err := answer.Body.Read(got); err != io.EOF {
		l.Errorf("%d bytes follow the last block, %v", n, err)
	}
}

// snapshot makes snapshots of the large blob and of a kilobyte: both cost next to
// nothing.
func (l *largeBlob) snapshot() {
	l.Helper()
	small := l.sdk(l.newTransport(1)).NewContainerClient("large").NewBlockBlobClient("kilobyte")
	if _, err := small.UploadBuffer(l.Context(), noise[:1<<10], nil); err != nil {
		l.Fatalf("UploadBuffer() = %v", err)
	}
	files, before := l.files(".")
	_, _ = l.snapshots(small) // the first ones warm up
	ofSmall, _ := l.snapshots(small)
	ofLarge, ids := l.snapshots(l.client)
	nowFiles, after := l.files(".")
	l.Logf("a snapshot of 1 KiB takes %v, of %s %v; %d snapshots took %s on the disk", ofSmall, mib(largeSize), ofLarge, 3*len(ids), mib(after-before))
	if after-before > 1<<20 || nowFiles > files {
		l.Errorf("snapshots made %d files of %s out of %d of %s", nowFiles, mib(after), files, mib(before))
	}
	l.old = ids[0]
}

// snapshots makes a few and returns their median time.
func (l *largeBlob) snapshots(client *blockblob.Client) (time.Duration, []string) {
	l.Helper()
	var times []time.Duration
	var ids []string
	for range 5 {
		start := time.Now()
		answer, err := client.CreateSnapshot(l.Context(), nil)
		if err != nil {
			l.Fatalf("CreateSnapshot() = %v", err)
		}
		times, ids = append(times, time.Since(start)), append(ids, *answer.Snapshot)
	}
	return median(times), ids
}

// changeBlock changes one block: that costs the space of one block, and the
// snapshots keep the old one.
func (l *largeBlob) changeBlock() {
	l.Helper()
	const changed = 17
	_, before := l.files("blobs")
	if err := l.stage(l.Context(), changed, 2, block(changed, 2, nil)); err != nil {
		l.Fatalf("StageBlock() = %v", err)
	}
	l.commit(changed)
	if _, after := l.files("blobs"); after-before > blockSize+blockSize/10 {
		l.Errorf("a changed block of %s took %s on the disk", mib(blockSize), mib(after-before))
	}
	for version, client := range map[int]*blockblob.Client{1: l.atSnapshot(), 2: l.client} {
		o := &sdk.DownloadStreamOptions{Range: sdk.HTTPRange{Offset: changed * blockSize, Count: blockSize}}
		answer, err := client.DownloadStream(l.Context(), o)
		if err != nil {
			l.Fatalf("DownloadStream() = %v", err)
		}
		got, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !bytes.Equal(got, block(changed, version, nil)) {
			l.Errorf("block %d is not version %d; %v", changed, version, err)
		}
	}
}

func (l *largeBlob) atSnapshot() *blockblob.Client {
	l.Helper()
	client, err := l.client.WithSnapshot(l.old)
	if err != nil {
		l.Fatal(err)
	}
	return client
}

// free deletes the snapshots and then the blob: space is freed when nothing refers
// to it.
func (l *largeBlob) free() {
	l.Helper()
	only := &sdk.DeleteOptions{DeleteSnapshots: to.Ptr(sdk.DeleteSnapshotsOptionTypeOnly)}
	if _, err := l.client.Delete(l.Context(), only); err != nil {
		l.Fatalf("Delete(snapshots) = %v", err)
	}
	eventually(l, "the space of the old block is freed", func() bool {
		_, size := l.files("blobs")
		return size == largeSize
	})
	if _, err := l.client.Delete(l.Context(), nil); err != nil {
		l.Fatalf("Delete() = %v", err)
	}
	eventually(l, "the space is freed", func() bool {
		files, _ := l.files("blobs")
		return files == 0
	})
}
