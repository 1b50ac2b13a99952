package azureapi_test

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// raw serves a request on the main port as it was written, without a client that
// would put it right. What is no request at all is answered with status 400, as
// net/http does.
func (d *deployment) raw(method, target string, size int, body string, headers ...string) reply {
	d.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:8105\r\nContent-Length: %d\r\n", method, target, size)
	for i := 0; i+1 < len(headers); i += 2 {
		fmt.Fprintf(&text, "%s: %s\r\n", headers[i], headers[i+1])
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text.String() + "\r\n" + body)))
	if err != nil {
		return reply{status: http.StatusBadRequest, header: http.Header{}}
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r.WithContext(d.Context()))
	return reply{w.Code, w.Header(), w.Body.String()}
}

// contentFiles are the files that hold content.
func (d *deployment) contentFiles() []string {
	d.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Join(d.dir, "blobs"), func(path string, e fs.DirEntry, err error) error {
		if info, bad := e.Info(); err == nil && bad == nil && info.Mode().IsRegular() && info.Size() > 0 {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		d.Fatal(err)
	}
	return files
}

// TestTruncatedUploads: whatever a client was sending when it went away, nothing
// of it stays.
func TestTruncatedUploads(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("block", "before", nil)
	if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.page("page").Create(t.Context(), 1<<20, nil); err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20
	for _, o := range []struct{ name, path, header, value string }{
		{"Put Blob", "block", "x-ms-blob-type", "BlockBlob"},
		{"Put Block", "block?comp=block&blockid=AAAA", "", ""},
		{"Append Block", "append?comp=appendblock", "", ""},
		{"Put Page", "page?comp=page", "x-ms-page-write", "update"},
		{"Put Block List", "block?comp=blocklist", "", ""},
		{"Set Blob Tags", "block?comp=tags", "", ""},
	} {
		for _, sent := range []int{0, 1, 70_000, size - 1} { // small content is kept in memory, large in a file
			r := d.raw("PUT", "/blob"+d.path(o.path), size, strings.Repeat("x", sent), "x-ms-range", fmt.Sprintf("bytes=0-%d", size-1), cmp.Or(o.header, "x-ms-none"), o.value)
			wantReply(t, fmt.Sprintf("%s, cut off after %d bytes", o.name, sent), r, 400, "InvalidInput")
		}
	}
	d.wantContent(d.blob("block"), "before")
	if _, staged := d.blocks("block"); staged != nil {
		t.Errorf("staged: %q", staged)
	}
	if p := d.properties(d.blob("append")); value(p.ContentLength) != 0 {
		t.Errorf("the append blob has %d bytes, want none", value(p.ContentLength))
	}
	if got := d.pageRanges("page", nil); got != nil {
		t.Errorf("the page blob has %q, want nothing", got)
	}
	if files := d.contentFiles(); len(files) != 0 {
		t.Errorf("files are left: %q", files)
	}
}

// TestDamagedUploads: content with another checksum leaves nothing either.
func TestDamagedUploads(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	body := strings.Repeat("x", 100_000)
	for name, r := range map[string]reply{
		"Put Blob":  d.signed("PUT", d.path("b"), body, "x-ms-blob-type", "BlockBlob", "Content-MD5", base64.StdEncoding.EncodeToString(md5Of("y"))),
		"Put Block": d.signed("PUT", d.path("b")+"?comp=block&blockid=AAAA", body, "x-ms-content-crc64", base64.StdEncoding.EncodeToString(crcOf("y"))),
	} {
		if r.status != 400 || r.header.Get("X-Ms-Content-Crc64") != "" || r.header.Get("Content-Md5") != "" {
			t.Errorf("%s = %d, with %v", name, r.status, r.header)
		}
	}
	d.wantGone(d.blob("b"))
	if files := d.contentFiles(); len(files) != 0 {
		t.Errorf("files are left: %q", files)
	}
}

// TestNamesAreNoPaths: names that would leave a directory are names like any
// other, or no names. Nothing is read or written outside of the data.
func TestNamesAreNoPaths(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	home := filepath.Dir(d.dir)
	outside := filepath.Join(home, "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 70_000) // kept in a file
	names := map[string]bool{            // and whether they can be names
		"..": true, ".": true, "../secret": true, "../../secret": true, "%2e%2e": true, "..%2fsecret": true, "a/../../secret": true, "a//b": true,
		"//": true, "/": true, "%2F": true, "..%5csecret": true, "%5C..%5C..%5Csecret": true, "a%00b": true, "C:%5Csecret": true, "~root": true, "CON": true,
		"a%0a": true, "..%252fsecret": true, strings.Repeat("n", 1024): true, strings.Repeat("%C3%BC", 1024): true, strings.Repeat("../", 300) + "secret": true,
		"": false, "%ff": false, "%zz": false, "%": false, strings.Repeat("n", 1025): false,
	}
	for name, fine := range names {
		put := d.raw("PUT", "/blob"+d.path(name), len(name+large), name+large, "x-ms-blob-type", "BlockBlob")
		get := d.raw("GET", "/blob"+d.path(name), 0, "")
		switch {
		case fine && (put.status != 201 || get.body != name+large):
			t.Errorf("%.60q = %d %s, and comes back as %d %.60q", name, put.status, put.code(), get.status, get.body)
		case !fine && (put.status != 400 || get.status != 400):
			t.Errorf("%.60q = %d %s, want 400", name, put.status, put.code())
		}
	}
	for _, box := range []string{"..", "%2e%2e", "a..b", "%2F", "a%2Fb", "a%5cb", "A", "a%00b", "$", "-a-", "...", "aa"} {
		if r := d.raw("PUT", "/blob/"+testAccount+"/"+box+"?restype=container", 0, ""); r.status != 400 {
			t.Errorf("container %q = %d %s, want 400", box, r.status, r.code())
		}
	}
	for _, account := range []string{"..", "%2e%2e", testAccount + "%2f..", testAccount + "/../" + testAccount} {
		if r := d.raw("GET", "/blob/"+account+"/box/secret", 0, ""); r.status < 400 {
			t.Errorf("account %q = %d", account, r.status)
		}
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "secret" {
		t.Errorf("the file outside is %q, %v", got, err)
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(d.dir) && e.Name() != "secret" {
			t.Errorf("%s appeared outside of the data", e.Name())
		}
	}
	for _, path := range d.contentFiles() {
		if strings.Contains(path, "secret") || strings.Contains(path, "CON") {
			t.Errorf("a name became a path: %s", path)
		}
	}
}
