package server

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/leasehold/leasehold/azure/sign"
)

var developmentAccount = sign.Development()

func TestRanges(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.upload("ten", "0123456789", nil)
	d.upload("none", "", nil)
	tests := []struct {
		blob, own, plain string // x-ms-range and Range
		status           int
		body, content    string // Content-Range
	}{
		{"ten", "bytes=0-3", "", 206, "0123", "bytes 0-3/10"},
		{"ten", "", "bytes=0-3", 206, "0123", "bytes 0-3/10"},
		{"ten", "bytes=2-3", "bytes=0-9", 206, "23", "bytes 2-3/10"},
		{"ten", "bytes=7-", "", 206, "789", "bytes 7-9/10"},
		{"ten", "bytes=0-", "", 206, "0123456789", "bytes 0-9/10"},
		{"ten", "bytes=9-9", "", 206, "9", "bytes 9-9/10"},
		{"ten", "bytes=5-999", "", 206, "56789", "bytes 5-9/10"},
		{"ten", "bytes=5-99999999999999999999", "", 206, "56789", "bytes 5-9/10"},
		{"ten", "bytes=10-", "", 416, "InvalidRange", "bytes */10"},
		{"ten", "bytes=10-12", "", 416, "InvalidRange", "bytes */10"},
		{"ten", "bytes=99999999999999999999-", "", 416, "InvalidRange", "bytes */10"},
		{"none", "bytes=0-", "", 416, "InvalidRange", "bytes */0"},
		{"none", "bytes=0-0", "", 416, "InvalidRange", "bytes */0"},
		{"none", "", "", 200, "", ""},
		// What this protocol does not have is ignored.
		{"ten", "bytes=-3", "", 200, "0123456789", ""},
		{"ten", "bytes=0-1,3-4", "", 200, "0123456789", ""},
		{"ten", "bytes=4-2", "", 200, "0123456789", ""},
		{"ten", "bytes=+1-2", "", 200, "0123456789", ""},
		{"ten", "lines=1-2", "", 200, "0123456789", ""},
	}
	for _, tt := range tests {
		r := d.signed("GET", d.path(tt.blob), "", "x-ms-range", tt.own, "Range", tt.plain)
		got := r.body
		if r.status == 416 {
			got = r.code()
		}
		if r.status != tt.status || got != tt.body || r.header.Get("Content-Range") != tt.content {
			t.Errorf("GET %s with %q, %q = %d %q %q, want %d %q %q", tt.blob, tt.own, tt.plain, r.status, got, r.header.Get("Content-Range"), tt.status, tt.body, tt.content)
		}
		if want := fmt.Sprint(len(r.body)); r.header.Get("Content-Length") != want {
			t.Errorf("GET %s with %q: Content-Length %s, want %s", tt.blob, tt.own, r.header.Get("Content-Length"), want)
		}
		head := d.signed("HEAD", d.path(tt.blob), "", "x-ms-range", tt.own)
		if head.status != 200 || head.body != "" {
			t.Errorf("HEAD %s with %q = %d %q, want 200 without a body", tt.blob, tt.own, head.status, head.body)
		}
	}
}

// TestRangeChecksums: the checksum that is asked for is that of the range; the
// blob's own goes along under its name.
func TestRangeChecksums(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.upload("b", "0123456789", nil)
	part := blob.HTTPRange{Offset: 2, Count: 3}
	r, err := d.blob("b").DownloadStream(t.Context(), &blob.DownloadStreamOptions{Range: part, RangeGetContentMD5: to.Ptr(true)})
	if err != nil {
		t.Fatalf("DownloadStream = %v", err)
	}
	if got := d.readAll(r.Body); got != "234" || !bytes.Equal(r.ContentMD5, md5Of("234")) || !bytes.Equal(r.BlobContentMD5, md5Of("0123456789")) {
		t.Errorf("DownloadStream = %q, MD5 %x, of the blob %x", got, r.ContentMD5, r.BlobContentMD5)
	}
	sum := d.signed("GET", d.path("b"), "", "x-ms-range", "bytes=2-4", "x-ms-range-get-content-crc64", "true")
	if sum.body != "234" || sum.header.Get("X-Ms-Content-Crc64") != base64Of(crcOf("234")) || sum.header.Get("Content-Md5") != "" {
		t.Errorf("with a CRC: %q %v", sum.body, sum.header)
	}
	both := []string{"x-ms-range-get-content-crc64", "true", "x-ms-range-get-content-md5", "true", "x-ms-range", "bytes=0-1"}
	wantReply(t, "both checksums", d.signed("GET", d.path("b"), "", both...), 400, "InvalidHeaderValue")
	wantReply(t, "a checksum without a range", d.signed("GET", d.path("b"), "", "x-ms-range-get-content-md5", "true"), 400, "MissingRequiredHeader")

	d.upload("large", strings.Repeat("x", maxSummed+1), nil)
	wantReply(t, "a checksum of too much", d.signed("GET", d.path("large"), "", "x-ms-range-get-content-md5", "true", "x-ms-range", "bytes=0-"), 400, "OutOfRangeInput")
}

// TestParallelTransfer sends and fetches a blob the way the SDK does with large
// ones: in blocks and ranges, several at a time.
func TestParallelTransfer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	data := make([]byte, 3<<20+77)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	if _, err := d.block("large").UploadBuffer(t.Context(), data, &blockblob.UploadBufferOptions{BlockSize: 256 << 10, Concurrency: 4}); err != nil {
		t.Fatalf("UploadBuffer = %v", err)
	}
	got := make([]byte, len(data))
	if _, err := d.blob("large").DownloadBuffer(t.Context(), got, &blob.DownloadBufferOptions{BlockSize: 300 << 10, Concurrency: 4}); err != nil {
		t.Fatalf("DownloadBuffer = %v", err)
	}
	if !bytes.Equal(got, data) {
		t.Error("the content came back changed")
	}
	d.wantContent(d.blob("large"), string(data))
}

// FuzzRange: whatever is read as a range has bytes, and stays within the blob.
func FuzzRange(f *testing.F) {
	for _, seed := range []string{"bytes=0-", "bytes=1-2", "bytes=-1", "bytes=9223372036854775807-", "bytes=0-9223372036854775807", "bytes=18446744073709551616-", "x"} {
		f.Add(seed, int64(100))
	}
	f.Fuzz(func(t *testing.T, text string, size int64) {
		size &= 1<<62 - 1
		first, last, found := parseRange(text)
		if !found {
			return
		}
		if first < 0 || last != openEnd && (last < first || last-first+1 <= 0) {
			t.Errorf("parseRange(%q) = %d, %d", text, first, last)
		}
		at, err := within(first, last, size)
		if err == nil && (at.offset < 0 || at.n <= 0 || at.offset+at.n > size) {
			t.Errorf("within(%d, %d, %d) = %+v", first, last, size, at)
		}
	})
}
