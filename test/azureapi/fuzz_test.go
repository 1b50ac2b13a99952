package azureapi_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

// FuzzRequest: no request makes the server fail, and none without a signature
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
	d := newDeployment(f)
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

// within is the deployment for a fuzz target, which must not use the fuzz test itself.
func (d *deployment) within(t testing.TB) *deployment {
	own := *d
	own.TB = t
	return &own
}

// onMainPort sends a request without a network, as the main port would.
func (d *deployment) onMainPort(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.server.PlainHandler().ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Local)))
	return w
}

// FuzzSnapshotQuery: a request whose query has a snapshot never reads or changes
// the blob itself, whatever it is and however the snapshot is written.
func FuzzSnapshotQuery(f *testing.F) {
	for _, query := range []string{
		"snapshot=" + firstSnapshot, "SNAPSHOT=", "snapshot", "a=b&snapshot=%30001-01-01T00:00:00.000000Z&snapshot=",
		"snapshot=9999-12-31T23:59:59.9999999Z&restype=x", "snapshot=0000-01-01T00:00:00.0000000Z", "snapshot=2026-01-02T03:04:05.0000000Z;x",
		"%53napshot=0001-01-01T00%3A00%3A00.0000000Z", "snapshot=+0001-01-01T00:00:00.0000000Z", "Snap%73hot=" + firstSnapshot,
	} {
		for which := range snapshotRequests {
			f.Add(which, query)
		}
	}
	shared := newDeployment(f)
	shared.ensure("box")
	path := "/blob/" + testAccount + "/box/b"
	f.Fuzz(func(t *testing.T, which int, query string) {
		parameters, err := sign.ParseQuery(query)
		if err != nil || !parameters.Has("snapshot") {
			return
		}
		d := shared.within(t)
		request := snapshotRequests[uint(which)%uint(len(snapshotRequests))]
		before, err := d.catalog.Head(t.Context(), testRef("box", "b"), catalog.Access{})
		if err != nil {
			before = d.put("box", "b", "base")
		}
		r, ok := parseFuzzed(request.method+" "+path+"?x", headerText(request.headers), request.body)
		if !ok {
			t.Fatalf("%s cannot be parsed", request.name)
		}
		r.URL.RawQuery = strings.Trim(request.query+"&"+query, "&")
		w := d.onMainPort(r)
		checkFuzzed(t, w)
		after, err := d.catalog.Head(t.Context(), testRef("box", "b"), catalog.Access{})
		switch {
		case w.Code < 400:
			t.Errorf("%s with %q = %d, and there is no snapshot", request.name, query, w.Code)
		case err != nil || after.ETag() != before.ETag() || after.Tier != "" || after.Lease.State != "available":
			t.Errorf("%s with %q changed the blob: %+v, %v", request.name, query, after, err)
		}
	})
}

// headerText writes pairs of names and values as a request has them.
func headerText(pairs []string) string {
	var lines []string
	for pair := range slices.Chunk(pairs, 2) {
		lines = append(lines, pair[0]+": "+pair[1])
	}
	return strings.Join(lines, "\r\n")
}

// FuzzTimeConditions: a date that a request was sent with is honoured or refused,
// never passed over.
func FuzzTimeConditions(f *testing.F) {
	for _, text := range []string{
		firstDate, "", " ", "Mon, 01 Jan 0000 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Wed, 01 Jan 2020 00:00:00 GMT",
		"Monday, 01-Jan-01 00:00:00 GMT", "Mon Jan  1 00:00:00 0001", "Fri, 01 Jan 10000 00:00:00 GMT", "0", "-62135596800",
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	shared := newDeployment(f)
	shared.ensure("box")
	f.Fuzz(func(t *testing.T, text string, unmodified bool) {
		d := shared.within(t)
		name := "If-Modified-Since"
		if unmodified {
			name = "If-Unmodified-Since"
		}
		made := d.put("box", "b", "base")
		r := httptest.NewRequestWithContext(t.Context(), "DELETE", (&url.URL{Path: "/blob/" + testAccount + "/box/b"}).String(), nil)
		r.Header[name] = []string{text}
		got := d.onMainPort(r).Code
		since, err := http.ParseTime(text)
		changed := made.Modified().Truncate(time.Second).After(since)
		want := http.StatusAccepted
		switch {
		case err != nil:
			want = http.StatusBadRequest
		case changed == unmodified:
			want = http.StatusPreconditionFailed
		}
		if got != want || d.has("box", "b") != (want != http.StatusAccepted) {
			t.Errorf("DELETE with %s: %q = %d, want %d; the blob is there: %v", name, text, got, want, d.has("box", "b"))
		}
	})
}
