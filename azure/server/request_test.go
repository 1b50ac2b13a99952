package server

import (
	"encoding/xml"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/catalog/tagquery"
	"pgregory.net/rapid"
)

// exact are the functions that look for a header, or set one, by its canonical
// name.
var exact = map[string]bool{"first": true, "number": true, "sequence": true, "time": true, "leaseID": true, "requiredID": true, "set": true}

// TestHeaderNames: a header that is looked for under another spelling than
// net/http's is never found, and the condition that it states never kept.
func TestHeaderNames(t *testing.T) {
	names := namesInCalls(t)
	for _, u := range unsupportedHeaders {
		names = append(names, u.name)
	}
	for _, n := range []conditionNames{plainConditions, sourceConditions, blobConditions} {
		names = append(names, n.match, n.noneMatch, n.modified, n.unmodified, n.tags)
	}
	for _, name := range names {
		if want := http.CanonicalHeaderKey(name); name != want {
			t.Errorf("a header is looked for as %q, want %q", name, want)
		}
	}
}

// namesInCalls are the names in the arguments of all calls of exact functions,
// as they stand there or as constants of the same function.
func namesInCalls(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && exact[calledName(call)] {
				for _, argument := range call.Args {
					names = append(names, literals(argument)...)
				}
			}
			return true
		})
	}
	if len(names) < 25 {
		t.Errorf("found only %d names: %q", len(names), names)
	}
	return names
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// literals are the values of a literal or of a constant.
func literals(e ast.Expr) (found []string) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			found = append(found, text)
		}
	case *ast.Ident:
		if e.Obj == nil {
			return nil
		}
		if spec, ok := e.Obj.Decl.(*ast.ValueSpec); ok {
			for _, value := range spec.Values {
				found = append(found, literals(value)...)
			}
		}
	}
	return found
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

// FuzzTagsHeader: tags are read or refused by name, within the limits.
func FuzzTagsHeader(f *testing.F) {
	for _, seed := range []string{"a=b", "a=b&c=d", "=", "&", "a=%41", "a=%zz", "+=+", "a=1&a=2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := &call{r: &http.Request{Header: http.Header{"X-Ms-Tags": {text}}}}
		tags, err := c.tags()
		var known *azerr.Error
		if err != nil && !errors.As(err, &known) {
			t.Errorf("tags of %q = %v, want an Azure error", text, err)
		}
		if err != nil || text == "" {
			return
		}
		again := url.Values{}
		for key, value := range tags {
			if key == "" || len(key) > tagquery.MaxKey || len(value) > tagquery.MaxValue {
				t.Errorf("tags of %q has %q = %q", text, key, value)
			}
			again.Set(key, value)
		}
		if len(tags) == 0 || len(tags) > tagquery.MaxTags {
			t.Errorf("tags of %q has %d tags", text, len(tags))
		}
		c.r.Header.Set("X-Ms-Tags", again.Encode())
		second, err := c.tags()
		if err != nil {
			t.Fatalf("tags of %q = %v", again.Encode(), err)
		}
		if !maps.Equal(second, tags) {
			t.Errorf("%v read again is %v", tags, second)
		}
	})
}

// FuzzCopySource: an address names a blob of this server, or is refused by name.
func FuzzCopySource(f *testing.F) {
	for _, seed := range []string{
		"http://127.0.0.1:10000/devstoreaccount1/box/from?snapshot=2020-01-01T00:00:00.0000000Z&sig=x", "http://devstoreaccount1.x/box/a", "http://x", "file:///x", "http://127.0.0.1:10000/blob/devstoreaccount1/a/b",
		"http://127.0.0.1:10000/devstoreaccount1/%2e%2e/%00", "http://[::1]/", "//", "http://a:b@127.0.0.1:10000/devstoreaccount1/box/b",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	s := New(nil, nil)
	f.Fuzz(func(t *testing.T, text string, onMainPort bool) {
		c := &call{r: &http.Request{Host: "127.0.0.1:10000"}, api: azureAPI}
		if onMainPort {
			c.api = plainAPI
		}
		var known *azerr.Error
		u, err := parseSource(text)
		if err != nil {
			if !errors.As(err, &known) {
				t.Errorf("parseSource(%q) = %v, want an Azure error", text, err)
			}
			return
		}
		from, _, err := s.findSource(c, u)
		if err != nil {
			if !errors.As(err, &known) {
				t.Errorf("findSource(%q) = %v, want an Azure error", text, err)
			}
			return
		}
		if from.ref.Account != "devstoreaccount1" || catalog.CheckContainer(from.ref.Container) != nil || catalog.CheckBlob(from.ref.Blob) != nil {
			t.Errorf("findSource(%q) = %+v", text, from)
		}
		shown, err := url.Parse(from.url)
		if err != nil || shown.User != nil || shown.Query().Get("sig") != "" {
			t.Errorf("findSource(%q) shows %q, %v", text, from.url, err)
		}
	})
}

// TestHTTPTime: httpTime writes what net/http's layout does.
func TestHTTPTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(0, 253402300799).Draw(t, "seconds"), 0).UTC() // to the year 9999
		if got, want := httpTime(catalog.TicksOf(at)), at.Format(http.TimeFormat); got != want {
			t.Errorf("httpTime = %q, want %q", got, want)
		}
	})
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

// FuzzBlockList: a list is read or refused by name, and read again the same.
func FuzzBlockList(f *testing.F) {
	f.Add(`<BlockList><Latest>AAAA</Latest><Committed>BBBB</Committed><Uncommitted>CCCC</Uncommitted></BlockList>`)
	f.Add(`<?xml version="1.0" encoding="utf-8"?><BlockList> <Latest/> </BlockList>`)
	f.Add(`<BlockList><Latest>A<x>B</x></Latest>`)
	f.Add("\xef\xbb\xbf<BlockList/>")
	f.Fuzz(func(t *testing.T, text string) {
		var list blockList
		if err := parseXML([]byte(text), &list); err != nil {
			var known *azerr.Error
			if !errors.As(err, &known) {
				t.Errorf("parseXML(%q) = %v, want an Azure error", text, err)
			}
			return
		}
		names := map[catalog.BlockSource]string{catalog.Latest: "Latest", catalog.Committed: "Committed", catalog.Uncommitted: "Uncommitted"}
		var again strings.Builder
		again.WriteString("<BlockList>")
		for _, b := range list.blocks {
			again.WriteString("<" + names[b.From] + ">")
			if err := xml.EscapeText(&again, []byte(b.ID)); err != nil {
				t.Fatal(err)
			}
			again.WriteString("</" + names[b.From] + ">")
		}
		again.WriteString("</BlockList>")
		var second blockList
		if err := parseXML([]byte(again.String()), &second); err != nil {
			t.Fatalf("parseXML(%q) = %v", again.String(), err)
		}
		if !slices.Equal(second.blocks, list.blocks) {
			t.Errorf("%v read again is %v", list.blocks, second.blocks)
		}
	})
}

const batchType = "multipart/mixed; boundary=edge"

// parts is a batch of these requests.
func parts(requests ...string) string {
	var b strings.Builder
	for i, r := range requests {
		fmt.Fprintf(&b, "--edge\r\nContent-Type: application/http\r\nContent-ID: %d\r\n\r\n%s\r\n", i, r)
	}
	return b.String() + "--edge--\r\n"
}
