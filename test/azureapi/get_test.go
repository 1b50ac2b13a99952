package azureapi_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"bytes"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/leasehold/leasehold/azure/sign"
)

// TestOverrides: a grant may prescribe the headers that a blob is served with.
func TestOverrides(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "x", nil)
	v := sas.BlobSignatureValues{
		ContainerName: "box", BlobName: "b", Permissions: "r", ExpiryTime: time.Now().Add(time.Hour).UTC(), ContentType: "text/x",
		ContentDisposition: `attachment; filename="a b"`, CacheControl: "no-store", ContentLanguage: "de", ContentEncoding: "br",
	}
	signed, err := v.SignWithSharedKey(credential(t))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Content-Type": "text/x", "Content-Disposition": `attachment; filename="a b"`, "Cache-Control": "no-store", "Content-Language": "de", "Content-Encoding": "br"}
	for _, method := range []string{"GET", "HEAD"} {
		r := d.send(method, d.path("b")+"?"+signed.Encode(), "")
		wantSame(t, method, only(r.header, "Content-Type", "Content-Disposition", "Cache-Control", "Content-Language", "Content-Encoding"), want)
	}
	if r := d.send("GET", d.path("b")+"?"+signed.Encode(), "", "x-ms-range", "bytes=9-"); r.header.Get("Content-Encoding") != "" || r.header.Get("Content-Type") != "application/xml" {
		t.Errorf("a refusal is served as the blob would be: %v", r.header)
	}
	tampered := strings.Replace(signed.Encode(), "no-store", "public", 1)
	wantReply(t, "another header than the signed one", d.send("GET", d.path("b")+"?"+tampered, ""), 403, "AuthenticationFailed")
}

// TestReaderKeepsItsVersion: a reader of a blob gets to its end the
// version that was there at its start.
func TestReaderKeepsItsVersion(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	big := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	d.upload("b", big, nil)
	r := d.request("GET", d.path("b"), "")
	signRequest(r, developmentAccount)
	answer, err := d.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	start := make([]byte, 1000)
	if _, err := io.ReadFull(answer.Body, start); err != nil {
		t.Fatal(err)
	}
	d.upload("b", "another", nil)
	if _, err := d.blob("b").Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(answer.Body)
	if err != nil || string(start)+string(rest) != big {
		t.Errorf("the rest has %d bytes, %v, and is not what was there", len(rest), err)
	}
	if answer.StatusCode != http.StatusOK {
		t.Errorf("status %d", answer.StatusCode)
	}
}

var developmentAccount = sign.Development()

func TestRanges(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
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
	d := newDriver(t)
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
	if sum.body != "234" || sum.header.Get("X-Ms-Content-Crc64") != base64.StdEncoding.EncodeToString(crcOf("234")) || sum.header.Get("Content-Md5") != "" {
		t.Errorf("with a CRC: %q %v", sum.body, sum.header)
	}
	both := []string{"x-ms-range-get-content-crc64", "true", "x-ms-range-get-content-md5", "true", "x-ms-range", "bytes=0-1"}
	wantReply(t, "both checksums", d.signed("GET", d.path("b"), "", both...), 400, "InvalidHeaderValue")
	wantReply(t, "a checksum without a range", d.signed("GET", d.path("b"), "", "x-ms-range-get-content-md5", "true"), 400, "MissingRequiredHeader")

	d.upload("large", strings.Repeat("x", 4<<20+1), nil)
	wantReply(t, "a checksum of too much", d.signed("GET", d.path("large"), "", "x-ms-range-get-content-md5", "true", "x-ms-range", "bytes=0-"), 400, "OutOfRangeInput")
}

// TestParallelTransfer sends and fetches a blob the way the SDK does with large
// ones: in blocks and ranges, several at a time.
func TestParallelTransfer(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
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
