package server

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/server/auth"
)

// FuzzRequest: no request makes the door fail, and none without a signature
// changes anything.
func FuzzRequest(f *testing.F) {
	for _, seed := range []struct{ line, headers, body string }{
		{"GET /devstoreaccount1?comp=list&maxresults=3&marker=x&include=metadata", "", ""},
		{"PUT /devstoreaccount1/box?restype=container", "x-ms-meta-a: b\r\nx-ms-blob-public-access: blob", ""},
		{"PUT /devstoreaccount1/box/a%2Fb?comp=lease", "x-ms-lease-action: acquire\r\nx-ms-lease-duration: 15\r\nx-ms-proposed-lease-id: {aaaaaaaa-0000-4000-8000-00000000000a}", ""},
		{"PUT /devstoreaccount1/box/a?comp=lease", "x-ms-lease-action: break\r\nx-ms-lease-break-period: 5", ""},
		{"PUT /devstoreaccount1/box?restype=container&comp=acl", "", "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2026-01-02</Start></AccessPolicy></SignedIdentifier></SignedIdentifiers>"},
		{"PUT /devstoreaccount1?restype=service&comp=properties", "Origin: https://a", "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods></CorsRule></Cors></StorageServiceProperties>"},
		{"OPTIONS /devstoreaccount1/box/a", "Origin: https://a\r\nAccess-Control-Request-Method: GET", ""},
		{"POST /devstoreaccount1?comp=batch", "Content-Type: " + batchType, parts("DELETE /devstoreaccount1/box/a HTTP/1.1\r\nx-ms-date: x\r\n\r\n")},
		{"GET /devstoreaccount1/box/a?snapshot=2026-01-02T03:04:05.0000000Z", "Range: bytes=0-5\r\nIf-Match: *\r\nx-ms-if-tags: a='b'", ""},
		{"PUT /devstoreaccount1/box/a", "x-ms-blob-type: BlockBlob\r\nContent-MD5: AAAA\r\nx-ms-tags: a=b&c=d\r\nx-ms-lease-id: 1", "content"},
		{"PUT /devstoreaccount1/box/a?comp=block&blockid=QUFB", "", "content"},
		{"PUT /devstoreaccount1/box/a?comp=blocklist", "", "<BlockList><Latest>QUFB</Latest></BlockList>"},
		{"PUT /devstoreaccount1/box/a", "x-ms-copy-source: http://127.0.0.1/devstoreaccount1/box/b?snapshot=x", ""},
		{"PUT /devstoreaccount1/box/p", "x-ms-blob-type: PageBlob\r\nx-ms-blob-content-length: 1024", ""},
		{"PUT /devstoreaccount1/box/p?comp=page", "x-ms-page-write: clear\r\nx-ms-range: bytes=0-511", ""},
		{"PUT /devstoreaccount1/box/a?comp=tags", "", "<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>"},
		{"GET /devstoreaccount1?comp=blobs&where=%22a%22%3D%27b%27", "", ""},
		{"GET /devstoreaccount1/box?restype=container&comp=list&delimiter=/&prefix=%01", "If-Modified-Since: Mon, 02 Jan 2006 15:04:05 GMT", ""},
		{"GET /devstoreaccount1/?sv=2020-12-06&ss=b&srt=s&sp=l&se=2099-01-01&sig=AAAA&comp=list", "", ""},
		{"DELETE /devstoreaccount1/box/a", "x-ms-delete-snapshots: include\r\nAuthorization: SharedKey devstoreaccount1:AAAA", ""},
	} {
		f.Add(seed.line, seed.headers, seed.body)
	}
	d := newDoor(f)
	f.Fuzz(func(t *testing.T, line, headers, body string) {
		r, ok := parseFuzzed(line, headers, body)
		if !ok {
			return
		}
		_, _ = d.catalog.CreateContainer(t.Context(), testRef("box", ""), catalog.ContainerDetails{}) // unless it is there
		w := httptest.NewRecorder()
		d.server.Handler().ServeHTTP(w, r.Clone(t.Context()))
		checkFuzzed(t, w)
		if w.Code < 300 && r.Method != "GET" && r.Method != "HEAD" && r.Method != "OPTIONS" {
			t.Errorf("%s without a signature = %d", r.Method, w.Code)
		}
		again, ok := parseFuzzed(strings.Replace(line, " /", " /blob/", 1), headers, body)
		if !ok {
			return
		}
		w = httptest.NewRecorder()
		d.server.PlainHandler().ServeHTTP(w, again.WithContext(auth.With(t.Context(), auth.Local)))
		checkFuzzed(t, w)
	})
}

// parseFuzzed reads a request as net/http would.
func parseFuzzed(line, headers, body string) (*http.Request, bool) {
	if headers != "" {
		headers += "\r\n"
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n")))
	if err != nil {
		return nil, false
	}
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	r.RemoteAddr = "127.0.0.1:1"
	return r, true
}

func checkFuzzed(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code >= 500 && w.Code != http.StatusNotImplemented {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w.Code >= 400 && w.Header().Get("X-Ms-Error-Code") == "" {
		t.Errorf("%d without a code", w.Code)
	}
}

// FuzzXML: no document makes a reader fail, or is refused without a code.
func FuzzXML(f *testing.F) {
	for _, seed := range []string{
		"<SignedIdentifiers/>", "<StorageServiceProperties><Cors/></StorageServiceProperties>", "<a>&b;</a>", "<!DOCTYPE a><a/>",
		"\xef\xbb\xbf" + xmlHead + "<SignedIdentifiers><SignedIdentifier><Id>&#65;</Id></SignedIdentifier></SignedIdentifiers>",
		strings.Repeat("<a>", 100), "<?xml version='1.0' encoding='latin-1'?><a/>", "<a></b>", "<a/><b/>",
		"<StorageServiceProperties><Logging><Read>maybe</Read></Logging></StorageServiceProperties>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		policies, err := parsePolicies(data)
		checkXMLRefusal(t, err)
		if len(policies) > maxPolicies {
			t.Errorf("%d policies", len(policies))
		}
		var p properties
		if err := parseXML(data, &p); err != nil {
			checkXMLRefusal(t, err)
			return
		}
		checkXMLRefusal(t, p.validate())
	})
}

func checkXMLRefusal(t *testing.T, err error) {
	t.Helper()
	var f *azerr.Error
	if err != nil && (!errors.As(err, &f) || f.Status >= 500 && f.Code != azerr.NotImplemented) {
		t.Errorf("%v is no refusal", err)
	}
}

// FuzzBatch: no body makes the reader of batches fail.
func FuzzBatch(f *testing.F) {
	f.Add(batchType, []byte(parts("DELETE /devstoreaccount1/box/a HTTP/1.1\r\n\r\n", "PUT /a?comp=tier HTTP/1.1\r\nx-ms-access-tier: Cool\r\n\r\n")))
	f.Add("multipart/mixed; boundary=\"a b\"", []byte("--a b\r\n\r\n--a b--"))
	f.Add(batchType, []byte("--edge\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nGET / HTTP/1.1\r\n\r\n--edge--"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		found, err := parseBatch(contentType, body)
		var refusal *azerr.Error
		switch {
		case err != nil && (!errors.As(err, &refusal) || refusal.Code != azerr.InvalidInput):
			t.Errorf("%v, want InvalidInput", err)
		case err == nil && (len(found) == 0 || len(found) > maxBatch):
			t.Errorf("a batch of %d", len(found))
		}
	})
}
