package plainhttp

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// testCommon are the headers that the servers of these tests have in common.
var testCommon = []string{"x-ms-date", "Authorization", "X-Ms-Lease-Id", "User-Agent", "Transfer-Encoding", "Pragma"}

// ordinary is a request as the clients of the blob door send it.
var ordinary = raw(
	"PUT /account/container/name%2Fof%20it?comp=lease&timeout=5 HTTP/1.1",
	"Host: 127.0.0.1:10000",
	"User-Agent: azsdk-go-azblob/v1.6.2 (go1.26.8; linux)",
	"Content-Length: 0",
	"authorization: SharedKey account:c2lnbmF0dXJlCg==",
	"x-ms-date: Mon, 02 Nov 2026 15:04:05 GMT",
	"x-ms-lease-id:   b1b2 ",
)

// testQuick is the quick reader of a connection.
func testQuick(tb testing.TB) *quick {
	q := newQuick(&conn{remote: "client", context: tb.Context()})
	return &q
}

func TestQuickReads(t *testing.T) {
	known := spellings(testCommon)
	for name, c := range map[string]struct {
		head string
		want bool
	}{
		"ordinary":             {ordinary, true},
		"get":                  {get("/a"), true},
		"head":                 {request("HEAD", "/a", ""), true},
		"delete":               {request("DELETE", "/a", ""), true},
		"kept alive":           {get("/a", "Connection: keep-alive"), true},
		"an empty value":       {get("/a", "X-Ms-Date:"), true},
		"post":                 {request("POST", "/a", ""), false},
		"a method in small":    {request("get", "/a", ""), false},
		"no method":            {request("", "/a", ""), false},
		"1.0":                  {raw("GET /a HTTP/1.0", "Host: a"), false},
		"a body":               {post("/a", "b"), false},
		"a body by its length": {request("PUT", "/a", "b", "Content-Length: 1"), false},
		"an odd length":        {get("/a", "Content-Length: 00"), false},
		"two lengths":          {get("/a", "Content-Length: 0", "content-length: 0"), false},
		"chunks":               {chunked("/a", end), false},
		"close":                {get("/a", "Connection: close"), false},
		"unknown":              {get("/a", "X-Other: 1"), false},
		"an odd spelling":      {get("/a", "X-MS-Date: 1"), false},
		"a space in a name":    {get("/a", "X-Ms-Date : 1"), false},
		"a name with no value": {get("/a", "X-Ms-Date"), false},
		"a cache's own":        {get("/a", "Pragma: no-cache"), false},
		"twice":                {get("/a", "X-Ms-Date: 1", "X-Ms-Date: 2"), false},
		"folded":               {get("/a", "X-Ms-Date: 1", " 2"), false},
		"a tab":                {get("/a", "X-Ms-Date: 1\t2"), false},
		"beyond ASCII":         {get("/a", "X-Ms-Date: ü"), false},
		"a bare line's end":    {strings.Replace(get("/a", "X-Ms-Date: 1"), "1\r\n", "1\n", 1), false},
		"a bare empty line":    {strings.TrimSuffix(get("/a"), "\r\n") + "\n", false},
		"a bare first line":    {strings.Replace(get("/a"), "\r\n", "\n", 1), false},
		"a carriage return":    {get("/a", "X-Ms-Date: 1\r2"), false},
		"no host":              {raw("GET /a HTTP/1.1"), false},
		"an empty host":        {raw("GET /a HTTP/1.1", "Host:"), false},
		"a bad host":           {raw("GET /a HTTP/1.1", "Host: a b"), false},
		"two hosts":            {get("/a", "Host: a"), false},
		"no target":            {request("GET", "", ""), false},
		"a relative target":    {get("a"), false},
		"an absolute target":   {get("http://a/b"), false},
		"two slashes":          {get("//a/b"), false},
		"a space in a target":  {get("/a b"), false},
		"a bad escape":         {get("/a%zz"), false},
		"too many":             {get("/a", strings.Split(strings.Repeat("X-Ms-Date: 1\n", maxQuick), "\n")[:maxQuick]...), false},
	} {
		t.Run(name, func(t *testing.T) {
			q := testQuick(t)
			r := q.read([]byte(c.head), known)
			if (r != nil) != c.want {
				t.Errorf("%q was read: %v, want %v", c.head, r != nil, c.want)
			}
			if r == nil && len(q.header) != 0 {
				t.Errorf("headers %v are left of what was not read", q.header)
			}
			checkQuick(t, r, c.head)
		})
	}
}

// checkQuick compares a request that was read quickly with what net/http reads.
func checkQuick(t *testing.T, r *http.Request, head string) {
	t.Helper()
	if r == nil {
		return
	}
	want, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
	if err != nil {
		t.Fatalf("%q was read, and net/http answers %v", head, err)
	}
	want.RemoteAddr = "client"
	if diff := cmp.Diff(want, r, cmpopts.IgnoreUnexported(http.Request{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%q (-net/http +ours):\n%s", head, diff)
	}
	if r.Body != http.NoBody || want.Body != http.NoBody {
		t.Errorf("%q has a body", head)
	}
}

// FuzzQuick reads anything. Whatever is read quickly, net/http reads alike, to
// the last byte.
func FuzzQuick(f *testing.F) {
	f.Add(ordinary)
	for _, c := range besideCases() {
		f.Add(c.send)
	}
	known := spellings(testCommon)
	f.Fuzz(func(t *testing.T, send string) {
		end := headEnd([]byte(send), 0)
		if end < 0 {
			return
		}
		head := send[:end]
		checkQuick(t, testQuick(t).read([]byte(head), known), head)
	})
}

// TestQuickForgets: requests of a connection share everything, and must not see
// anything of each other.
func TestQuickForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []http.Header
		h := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, r.Header.Clone())
			r.Header.Set("X-Ms-Date", "changed")
			r.Method, r.Host, r.Pattern = "changed", "changed", "changed"
			w.Header().Set("Content-Length", "0")
		})
		v := h.dial()
		v.ask(get("/", "X-Ms-Date: 1", "Authorization: 2"))
		synctest.Wait()
		h.server.mu.Lock()
		for c := range h.server.conns {
			if len(c.quick.header) != 0 || c.quick.values != [maxQuick]string{} || c.quick.request.Method != "" {
				t.Errorf("an idle connection keeps %v, %q, %q", c.quick.header, c.quick.values, c.quick.request.Method)
			}
		}
		h.server.mu.Unlock()
		v.ask(get("/", "X-Ms-Lease-Id: 3"))
		v.ask(get("/", "X-Other: 4"))
		v.ask(get("/"))
		want := []http.Header{{"X-Ms-Date": {"1"}, "Authorization": {"2"}}, {"X-Ms-Lease-Id": {"3"}}, {"X-Other": {"4"}}, {}}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	})
}

// BenchmarkRead compares the two readers of requests.
func BenchmarkRead(b *testing.B) {
	head, known := []byte(ordinary), spellings(testCommon)
	b.Run("quick", func(b *testing.B) {
		b.ReportAllocs()
		q := testQuick(b)
		for b.Loop() {
			if q.read(head, known) == nil {
				b.Fatal("not read")
			}
			q.forget()
		}
	})
	b.Run("net/http", func(b *testing.B) {
		b.ReportAllocs()
		in, text := bufio.NewReader(nil), strings.NewReader(ordinary)
		for b.Loop() {
			text.Reset(ordinary)
			in.Reset(text)
			if _, err := http.ReadRequest(in); err != nil {
				b.Fatal(err)
			}
		}
	})
}
