//go:build unix

package azureapi_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold/internal/soak"
)

// chunksOnDisk is how many bytes of the disk the content of all blobs takes up.
func (d driver) chunksOnDisk() (n int64) {
	d.Helper()
	err := filepath.WalkDir(filepath.Join(d.dir, "blobs"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil {
		d.Fatal(err)
	}
	return n
}

// TestSparseSources: what takes a range of a page blob without pages writes
// nothing for it, although the caller reads as many zeros as it asked for.
func TestSparseSources(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	size := int64(soak.Rounds(40, 200)) << 20
	if _, err := d.page("sparse").Create(t.Context(), size, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.writePages("sparse", size/2/512, pages("x", 1), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.page("page").Create(t.Context(), 4<<20, nil); err != nil {
		t.Fatal(err)
	}
	before := d.chunksOnDisk()
	for _, o := range []struct {
		name, path string
		headers    []string
	}{
		{"Put Block From URL", "block?comp=block&blockid=AAAA", nil},
		{"Append Block From URL", "append?comp=appendblock", []string{"x-ms-source-range", fmt.Sprintf("bytes=0-%d", size/2-1)}},
		{"Put Page From URL", "page?comp=page", []string{"x-ms-page-write", "update", "x-ms-range", "bytes=0-4194303", "x-ms-source-range", "bytes=0-4194303"}},
		{"Put Blob From URL", "copied", []string{"x-ms-blob-type", "BlockBlob"}},
		{"Copy Blob", "copy", nil},
	} {
		r := d.signed("PUT", d.path(o.path), "", append([]string{"x-ms-copy-source", d.readable("sparse")}, o.headers...)...)
		if r.status >= 300 {
			t.Fatalf("%s = %d %s", o.name, r.status, r.body)
		}
		if grown := d.chunksOnDisk() - before; grown > 256<<10 {
			t.Errorf("%s of %d MiB of gaps and one page: %d bytes more on the disk, want next to none", o.name, size>>20, grown)
		}
	}
	if r := d.signed("PUT", d.path("block?comp=blocklist"), `<BlockList><Latest>AAAA</Latest></BlockList>`); r.status != 201 {
		t.Fatalf("Put Block List = %d %s", r.status, r.body)
	}
	want := strings.Repeat("\x00", 1000) + pages("x", 1) + strings.Repeat("\x00", 1000)
	for _, name := range []string{"block", "copied", "copy"} {
		r := d.signed("GET", d.path(name), "", "x-ms-range", fmt.Sprintf("bytes=%d-%d", size/2-1000, size/2+512+1000-1))
		if r.body != want {
			t.Errorf("around the one page of %s are %d other bytes (status %d)", name, len(r.body), r.status)
		}
	}
}
