package sign

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func readRequest(t testing.TB, text string) *http.Request {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readAll(t testing.TB, r *http.Request) string {
	t.Helper()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(all)
}

// signed is a request whose Authorization holds the signature of text.
func signed(t testing.TB, account Account, how, text, request string) *http.Request {
	t.Helper()
	r := readRequest(t, strings.ReplaceAll(request, "\n", "\r\n"))
	r.Header.Set("Authorization", how+" "+account.Name+":"+mac(account.Keys[0], text))
	return r
}

const at = "Sun, 01 Mar 2026 12:00:00 GMT"

// Texts written out by hand, as Microsoft's pages describe them.
func TestTexts(t *testing.T) {
	account, _ := two(t)
	for name, test := range map[string]struct{ how, request, text string }{
		"all headers": {
			"SharedKey",
			"PUT /c/b HTTP/1.1\nHost: x\nContent-Encoding: gzip\nContent-Language: de\nContent-Length: 11\nContent-MD5: bWQ1\nContent-Type: text/plain\nDate: " + at +
				"\nIf-Modified-Since: ims\nIf-Match: im\nIf-None-Match: inm\nIf-Unmodified-Since: ius\nRange: bytes=0-1\nx-ms-version: 2021-01-01\nX-MS-Blob-Type:   BlockBlob  \n\nhello world",
			"PUT\ngzip\nde\n11\nbWQ1\ntext/plain\n" + at + "\nims\nim\ninm\nius\nbytes=0-1\nx-ms-blob-type:BlockBlob\nx-ms-version:2021-01-01\n/leasehold2/c/b",
		},
		"x-ms-date replaces Date": {
			"sharedkey",
			"GET /c/b HTTP/1.1\nHost: x\nDate: Mon, 02 Mar 2020 12:00:00 GMT\nx-ms-date: " + at + "\n\n",
			"GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" + at + "\n/leasehold2/c/b",
		},
		"an empty body has no length": {
			"SharedKey",
			"PUT /c HTTP/1.1\nHost: x\nContent-Length: 0\nx-ms-date: " + at + "\nx-ms-version: 2015-02-21\n\n",
			"PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" + at + "\nx-ms-version:2015-02-21\n/leasehold2/c",
		},
		"before 2015-02-21 it has": {
			"SharedKey",
			"PUT /c HTTP/1.1\nHost: x\nContent-Length: 0\nx-ms-date: " + at + "\nx-ms-version: 2014-02-14\n\n",
			"PUT\n\n\n0\n\n\n\n\n\n\n\n\nx-ms-date:" + at + "\nx-ms-version:2014-02-14\n/leasehold2/c",
		},
		"parameters": {
			"SharedKey",
			"GET /c?restype=container&Comp=list&include=snapshots&include=metadata&prefix=a%2Fb+c;d&bare HTTP/1.1\nHost: x\nx-ms-date: " + at + "\n\n",
			"GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" + at + "\n/leasehold2/c\nbare:\ncomp:list\ninclude:metadata,snapshots\nprefix:a/b c;d\nrestype:container",
		},
		"several values, and a folded one": {
			"SharedKey",
			"GET /c HTTP/1.1\nHost: x\nx-ms-date: " + at + "\nx-ms-meta-b: 1\nx-ms-meta-b: 2\nx-ms-meta-a: one\n   two  three\n\n",
			"GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" + at + "\nx-ms-meta-a:one two  three\nx-ms-meta-b:1,2\n/leasehold2/c",
		},
		"sorted as in a dictionary": {
			"SharedKey",
			"GET /c HTTP/1.1\nHost: x\nx-ms-date: " + at + "\nx-ms-meta-a1: 1\nx-ms-meta-a_b: 2\n\n",
			"GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" + at + "\nx-ms-meta-a_b:2\nx-ms-meta-a1:1\n/leasehold2/c",
		},
		"sorted by bytes": {
			"SharedKey",
			"GET /c HTTP/1.1\nHost: x\nx-ms-date: " + at + "\nx-ms-meta-a1: 1\nx-ms-meta-a_b: 2\n\n",
			"GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" + at + "\nx-ms-meta-a1:1\nx-ms-meta-a_b:2\n/leasehold2/c",
		},
		"lite": {
			"SharedKeyLite",
			"PUT /c/b%2Fd?comp=metadata&timeout=3 HTTP/1.1\nHost: x\nContent-MD5: bWQ1\nContent-Type: text/plain\nContent-Length: 0\nDate: " + at + "\nx-ms-meta-a: 1\n\n",
			"PUT\nbWQ1\ntext/plain\n" + at + "\nx-ms-meta-a:1\n/leasehold2/c/b%2Fd?comp=metadata",
		},
		"lite without comp": {
			"SharedKeyLite",
			"GET /c/b?timeout=3 HTTP/1.1\nHost: x\nx-ms-date: " + at + "\n\n",
			"GET\n\n\n\nx-ms-date:" + at + "\n/leasehold2/c/b",
		},
		"absolute form, bare characters": {
			"SharedKey",
			"GET http://leasehold2.example.test/c/a|b?comp=list HTTP/1.1\nHost: x\nx-ms-date: " + at + "\n\n",
			"GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" + at + "\n/leasehold2/c/a|b\ncomp:list",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := signed(t, account, test.how, test.text, test.request)
			if err := checkKey(r, account, SentPath(r), noon); err != nil {
				t.Errorf("SharedKey() = %v, want success; it signs %q, want %q", err, textsOf(matchFull, r, resource{}), test.text)
			}
		})
	}
}

// base is a signed request that the tests below change.
func base(t testing.TB, account Account) *http.Request {
	return signed(t, account, "SharedKey",
		"PUT\n\n\n2\n\ntext/plain\n\n\n\n\n\n\nx-ms-date:"+at+"\nx-ms-meta-a:1\n/leasehold2/leasehold2/c/b\ncomp:metadata",
		"PUT /leasehold2/c/b?comp=metadata HTTP/1.1\nHost: x\nContent-Length: 2\nContent-Type: text/plain\nx-ms-date: "+at+"\nx-ms-meta-a: 1\n\nhi")
}

func TestChangedRequests(t *testing.T) {
	account, _ := two(t)
	if err := checkKey(base(t, account), account, "/leasehold2/c/b", noon); err != nil {
		t.Fatalf("SharedKey() = %v, want success before the changes", err)
	}
	for name, change := range map[string]func(*http.Request){
		"verb":            func(r *http.Request) { r.Method = "DELETE" },
		"length":          func(r *http.Request) { r.ContentLength = 3 },
		"type":            func(r *http.Request) { r.Header.Set("Content-Type", "text/html") },
		"range":           func(r *http.Request) { r.Header.Set("Range", "bytes=0-0") },
		"condition":       func(r *http.Request) { r.Header.Set("If-Match", "*") },
		"date":            func(r *http.Request) { r.Header.Set("X-Ms-Date", "Sun, 01 Mar 2026 12:00:01 GMT") },
		"metadata":        func(r *http.Request) { r.Header.Set("X-Ms-Meta-A", "2") },
		"metadata's name": func(r *http.Request) { r.Header.Del("X-Ms-Meta-A"); r.Header.Set("X-Ms-Meta-B", "1") },
		"new header":      func(r *http.Request) { r.Header.Set("X-Ms-Lease-Id", "x") },
		"new value":       func(r *http.Request) { r.Header.Add("X-Ms-Meta-A", "1") },
		"header gone":     func(r *http.Request) { r.Header.Del("X-Ms-Meta-A") },
		"parameter":       func(r *http.Request) { r.URL.RawQuery = "comp=lease" },
		"new parameter":   func(r *http.Request) { r.URL.RawQuery += "&snapshot=x" },
		"bare parameter":  func(r *http.Request) { r.URL.RawQuery += "&x" },
		"parameters gone": func(r *http.Request) { r.URL.RawQuery = "" },
		"lite": func(r *http.Request) {
			r.Header.Set("Authorization", r.Header.Get("Authorization")[:9]+"Lite"+r.Header.Get("Authorization")[9:])
		},
	} {
		r := base(t, account)
		change(r)
		refused(t, name, checkKey(r, account, "/leasehold2/c/b", noon), azerr.AuthenticationFailed)
	}
	for _, path := range []string{"/c/b", "/leasehold2/c/B", "/leasehold2/c/b/", "/leasehold2/c%2Fb", ""} {
		refused(t, path, checkKey(base(t, account), account, path, noon), azerr.AuthenticationFailed)
	}
}

func refused(t *testing.T, what string, err error, code string) {
	t.Helper()
	if got := codeOf(err); got != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

// Every other byte in every place of the signature, and every shorter and longer
// one.
func TestChangedSignature(t *testing.T) {
	account, _ := two(t)
	r := base(t, account)
	whole := r.Header.Get("Authorization")
	_, signature, _ := strings.Cut(whole, ":")
	prefix := strings.TrimSuffix(whole, signature)
	for _, changed := range changes(signature) {
		r.Header.Set("Authorization", prefix+changed)
		err := checkKey(r, account, "/leasehold2/c/b", noon)
		refused(t, changed, err, azerr.AuthenticationFailed)
		if strings.Contains(fmt.Sprint(err), signature[:8]) {
			t.Fatalf("the refusal shows the signature: %v", err)
		}
	}
}

// changes are texts one byte away from text.
func changes(text string) (all []string) {
	const others = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_"
	for i := range len(text) {
		for _, other := range others {
			if byte(other) != text[i] {
				all = append(all, text[:i]+string(other)+text[i+1:])
			}
		}
		if i > 0 {
			all = append(all, text[:i])
		}
	}
	return append(all, text+"=", text+"A", strings.ToLower(text))
}

func TestEitherKey(t *testing.T) {
	account, _ := two(t)
	swapped := Account{Name: account.Name, Keys: [][]byte{account.Keys[1], account.Keys[0]}}
	for name, test := range map[string]struct {
		keys [][]byte
		code string
	}{
		"first":   {account.Keys[:1], ""},
		"second":  {swapped.Keys, ""},
		"other":   {swapped.Keys[:1], azerr.AuthenticationFailed},
		"none":    {nil, azerr.AuthenticationFailed},
		"no text": {[][]byte{{}}, azerr.AuthenticationFailed},
	} {
		got := checkKey(base(t, account), Account{Name: account.Name, Keys: test.keys}, "/leasehold2/c/b", noon)
		refused(t, name, got, test.code)
	}
	anybody := Account{Name: account.Name, Keys: [][]byte{{}}}
	refused(t, "signed with the empty key", checkKey(base(t, anybody), anybody, "/leasehold2/c/b", noon), azerr.AuthenticationFailed)
}

func TestDates(t *testing.T) {
	account, _ := two(t)
	for _, test := range []struct {
		now  time.Time
		code string
		says string
	}{
		{noon, "", ""},
		{noon.Add(15 * time.Minute), "", ""},
		{noon.Add(-15 * time.Minute), "", ""},
		{noon.Add(15*time.Minute + time.Second), azerr.AuthenticationFailed, "15m1s behind"},
		{noon.Add(-16 * time.Minute), azerr.AuthenticationFailed, "16m0s ahead"},
		{noon.Add(100 * time.Hour), azerr.AuthenticationFailed, "100h0m0s behind"},
	} {
		err := checkKey(base(t, account), account, "/leasehold2/c/b", test.now)
		refused(t, test.now.String(), err, test.code)
		if err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("SharedKey at %v = %v, want it to say %q", test.now, err, test.says)
		}
	}
	for _, date := range []string{"", "yesterday", "2026-03-01T12:00:00Z"} {
		r := base(t, account)
		r.Header.Set("X-Ms-Date", date)
		refused(t, date, checkKey(r, account, "/leasehold2/c/b", noon), azerr.AuthenticationFailed)
	}
}

func TestHeaders(t *testing.T) {
	account, _ := two(t)
	for header, code := range map[string]string{
		"":                              azerr.NoAuthenticationInformation,
		"SharedKey":                     azerr.InvalidAuthenticationInfo,
		"SharedKey leasehold2":          azerr.InvalidAuthenticationInfo,
		"SharedKey leasehold2:":         azerr.InvalidAuthenticationInfo,
		"SharedKey :c2ln":               azerr.InvalidAuthenticationInfo,
		"Basic leasehold2:c2ln":         azerr.InvalidAuthenticationInfo,
		"Bearer abc.def.ghi":            azerr.InvalidAuthenticationInfo,
		"c2VjcmV0":                      azerr.InvalidAuthenticationInfo,
		"SharedKey other:c2ln":          azerr.AuthenticationFailed,
		"SharedKey leasehold2:c2lnb24=": azerr.AuthenticationFailed,
	} {
		r := base(t, account)
		r.Header.Set("Authorization", header)
		err := checkKey(r, account, "/leasehold2/c/b", noon)
		refused(t, header, err, code)
		if strings.Contains(err.Error(), "c2") || strings.Contains(err.Error(), "abc") {
			t.Errorf("SharedKey(%q) = %v, which repeats the secret", header, err)
		}
		if bearer := strings.HasPrefix(header, "Bearer"); bearer != strings.Contains(err.Error(), "Entra") {
			t.Errorf("SharedKey(%q) = %v, want Entra ID to be named for bearer tokens", header, err)
		}
	}
}

func TestUnreadableQuery(t *testing.T) {
	account, _ := two(t)
	for _, query := range []string{"comp=%zz", "%zz=1", "a=%"} {
		r := base(t, account)
		r.URL.RawQuery = query
		refused(t, query, checkKey(r, account, "/leasehold2/c/b", noon), azerr.InvalidQueryParameterValue)
	}
}

// The order of the official SDK, whose own requests TestSDKSharedKey checks.
func TestDictionary(t *testing.T) {
	want := []string{
		"x-ms-meta-", "x-ms-meta-!", "x-ms-meta-_", "x-ms-meta-_a", "x-ms-meta-+", "x-ms-meta-1", "x-ms-meta-a", "x-ms-meta-a_",
		"x-ms-meta-a1", "x-ms-metaab", "x-ms-meta-ab", "x-ms-meta-a'b", "x-ms-meta-a-b", "x-ms-meta-ac",
	}
	got := slices.Clone(want)
	s := newSource(5)
	s.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, compareNames)
	if !slices.Equal(got, want) {
		t.Errorf("sorted %q, want %q", got, want)
	}
}

// A header that did not come through net/http may still be folded; a line break
// in it must not become a line of the signed text.
func TestJoined(t *testing.T) {
	for _, test := range []struct {
		values []string
		want   string
	}{
		{[]string{"  one  two "}, "one  two"},
		{[]string{"one", "two"}, "one,two"},
		{[]string{"one\r\n   two\r\n\tthree "}, "one two three"},
		{[]string{"\n\n"}, ""},
		{nil, ""},
	} {
		if got := joined(test.values); got != test.want {
			t.Errorf("joined(%q) = %q, want %q", test.values, got, test.want)
		}
	}
}

func TestAsSent(t *testing.T) {
	client, err := http.NewRequest("GET", "http://x/c/a%2Fb?comp=list", nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, r := range map[string]*http.Request{
		"/c/a%2Fb":      client,
		"/c/http://x/y": readRequest(t, "GET /c/http://x/y?a=b://c HTTP/1.1\r\nHost: x\r\n\r\n"),
		"/":             readRequest(t, "GET http://x HTTP/1.1\r\nHost: x\r\n\r\n"),
		"//c//é|":       readRequest(t, "GET http://x//c//é| HTTP/1.1\r\nHost: x\r\n\r\n"),
	} {
		if got := SentPath(r); got != want {
			t.Errorf("SentPath(%s) = %q, want %q", r.RequestURI, got, want)
		}
	}
}
