package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"pgregory.net/rapid"

	"github.com/leasehold/leasehold/azure/catalog"
)

// TestOverrides: a grant may prescribe the headers that a blob is served with.
func TestOverrides(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
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

// TestReaderKeepsItsVersion: whoever reads a blob gets the version that was
// there at the beginning, to its end.
func TestReaderKeepsItsVersion(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
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

// TestHTTPTime: our own way to write a time writes what net/http's layout does.
func TestHTTPTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 253402300799).Draw(t, "seconds"), 0).UTC() // to the year 9999
		if got, want := httpTime(catalog.TicksOf(at)), at.Format(http.TimeFormat); got != want {
			t.Errorf("httpTime = %q, want %q", got, want)
		}
	})
}
