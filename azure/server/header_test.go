package server

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/catalog/tagquery"
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
