//go:build unix

package azuretest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// limited starts the server from a shell that limits the size of files: to the
// process that is a full disk.
func (s *server) limited(bytes int) {
	s.prefix = []string{"sh", "-c", fmt.Sprintf(`trap '' XFSZ; ulimit -f %d; exec "$@"`, bytes/512), "sh"}
}

// noRoom checks that the error is the server's.
func noRoom(t testing.TB, what string, err error) {
	t.Helper()
	if status := statusOf(err); status != http.StatusInternalServerError && status != http.StatusServiceUnavailable {
		t.Errorf("%s on a full disk = %v, want 500 or 503", what, err)
	}
}

// TestFullForContent: content that does not fit is refused and no file of it
// stays; everything else works.
func TestFullForContent(t *testing.T) {
	t.Parallel()
	s := newServer(t, "--reserve", "0") // the reserve would not fit
	s.limited(16 << 20)
	s.start()
	c := s.container("full")
	kept := c.NewBlockBlobClient("kept")
	if _, err := kept.UploadBuffer(t.Context(), []byte("kept"), nil); err != nil {
		t.Fatalf("UploadBuffer() = %v", err)
	}
	tooMuch := make([]byte, 20<<20)
	for range 3 {
		for _, name := range []string{"kept", "new"} {
			_, err := c.NewBlockBlobClient(name).Upload(t.Context(), bytesBody(tooMuch), nil)
			noRoom(t, "Upload("+name+")", err)
		}
		_, err := c.NewBlockBlobClient("kept").StageBlock(t.Context(), blockID(1, 1), bytesBody(tooMuch), nil)
		noRoom(t, "StageBlock()", err)
	}
	s.alive()
	if got, err := download(t.Context(), kept); string(got) != "kept" || err != nil {
		t.Errorf("after failed writes the blob is %.20q, %v; want what it was", got, err)
	}
	if got := s.names(c); len(got) != 1 {
		t.Errorf("after failed writes there are %q, want only %q", got, "kept")
	}
	eventually(t, "nothing of it is left on the disk", func() bool {
		files, _ := s.files("blobs")
		return files == 0
	})
	large := c.NewBlockBlobClient("fits")
	if _, err := large.Upload(t.Context(), bytesBody(tooMuch[:1<<20]), nil); err != nil {
		t.Errorf("Upload(of what fits) = %v", err)
	}
	s.kill()
	s.wantSound()
}

// rowSize is small enough for the database to hold the content itself.
const rowSize = 60 << 10

// TestFullForRows: when the database cannot grow, writes are refused and reads
// work; after deletes, writes work again. Afterwards exactly what was acknowledged
// exists.
func TestFullForRows(t *testing.T) {
	t.Parallel()
	s := newServer(t, "--reserve", "0")
	s.start()
	s.container("full")
	s.kill()
	_, used := s.files(".")
	s.limited(int(used) + 2<<20)
	s.start()
	c := s.sdk(s.newTransport(4)).NewContainerClient("full")
	acked := s.fill(c)
	t.Logf("%d blobs fit", acked)
	s.wantRows(c, 0, acked)
	const room = 10 // blobs to delete
	for i := range room {
		if _, err := c.NewBlobClient(nameOf(i)).Delete(t.Context(), nil); err != nil {
			t.Fatalf("Delete() on a full disk = %v", err)
		}
	}
	eventually(t, "a small blob can be written when there is room again", func() bool {
		_, err := c.NewBlockBlobClient(nameOf(acked)).Upload(t.Context(), body(piece{seed: uint64(acked), size: rowSize}), nil)
		return err == nil
	})
	s.wantRows(c, room, acked+1)
	s.kill()
	s.prefix = nil
	s.start()
	c = s.sdk(s.newTransport(4)).NewContainerClient("full")
	s.wantRows(c, room, acked+1)
	s.kill()
	s.wantSound()
}

// fill puts blobs until no more fit, and returns how many did.
func (s *server) fill(c *container.Client) int {
	s.Helper()
	for i := range 500 {
		_, err := c.NewBlockBlobClient(nameOf(i)).Upload(s.Context(), body(piece{seed: uint64(i), size: rowSize}), nil)
		if err != nil {
			noRoom(s, "Upload()", err)
			s.alive()
			return i
		}
	}
	s.Fatalf("everything fits on a full disk")
	return 0
}

// wantRows checks that there are exactly the blobs of these numbers, whole.
func (s *server) wantRows(c *container.Client, from, to int) {
	s.Helper()
	if got := s.names(c); len(got) != to-from {
		s.Errorf("there are %d blobs, want the %d that were acknowledged", len(got), to-from)
	}
	for i := from; i < to; i++ {
		got, err := download(s.Context(), c.NewBlockBlobClient(nameOf(i)))
		if err != nil || sumOfBytes(got) != sumOf([]piece{{seed: uint64(i), size: rowSize}}) {
			s.Fatalf("blob %d is not what was acknowledged: %v", i, err)
		}
	}
}

// names lists a container.
func (s *server) names(c *container.Client) (names []string) {
	s.Helper()
	pages := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Include: container.ListBlobsInclude{UncommittedBlobs: true}})
	for pages.More() {
		page, err := pages.NextPage(s.Context())
		if err != nil {
			s.Fatalf("NextPage() = %v", err)
		}
		for _, item := range page.Segment.BlobItems {
			names = append(names, *item.Name)
		}
	}
	return names
}
