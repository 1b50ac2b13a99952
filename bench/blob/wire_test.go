package main

import (
	"bufio"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// TestReadResponse: answers are read as net/http reads them.
func TestReadResponse(t *testing.T) {
	for name, text := range map[string]string{
		"a lease":      "HTTP/1.1 201 Created\r\nContent-Length: 0\r\nx-ms-lease-id: a\r\nEtag: \"0x1\"\r\n\r\n",
		"content":      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello",
		"a refusal":    "HTTP/1.1 409 There is already a lease present.\r\nContent-Length: 5\r\nX-Ms-Error-Code: LeaseAlreadyPresent\r\n\r\n<xml>",
		"twice":        "HTTP/1.1 200 OK\r\nVary: a\r\nVary: b\r\nContent-Length: 0\r\n\r\n",
		"kept":         "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\nkeep-alive: timeout=5\r\ncontent-length: 0\r\n\r\n",
		"the last":     "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
		"in chunks":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"to its end":   "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
		"a long head":  "HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 5000) + "\r\nContent-Length: 2\r\n\r\nhi",
		"not modified": "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
		"of old times": "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	} {
		r, _ := http.NewRequest("GET", "http://a/b", nil)
		theirs, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), r)
		if err != nil {
			t.Fatalf("%s: net/http: %v", name, err)
		}
		ours, err := readResponse(bufio.NewReader(strings.NewReader(text)), r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		theirBody, _ := io.ReadAll(theirs.Body)
		ourBody, _ := io.ReadAll(ours.Body)
		if string(theirBody) != string(ourBody) {
			t.Errorf("%s: body %q, want %q", name, ourBody, theirBody)
		}
		theirs.Body, ours.Body = nil, nil
		if !reflect.DeepEqual(theirs, ours) {
			t.Errorf("%s: %+v, want %+v", name, ours, theirs)
		}
	}
	for _, text := range []string{"", "HTTP/1.1 200 OK\r\nContent-Len", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "nonsense\r\n\r\n",
		"HTTP/1.1 abc\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi", "HTTP/1.1 200 OK\r\nnothing\r\nContent-Length: 0\r\n\r\n"} {
		if a, err := readResponse(bufio.NewReader(strings.NewReader(text)), nil); err == nil {
			t.Errorf("%q was read as %+v", text, a)
		}
	}
}

// TestHalfABody: a server that leaves in the middle of an answer has not answered.
func TestHalfABody(t *testing.T) {
	a, err := readResponse(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")), &http.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(a.Body); err != io.ErrUnexpectedEOF {
		t.Errorf("half a body is read as %q, %v; want %v", text, err, io.ErrUnexpectedEOF)
	}
}

// TestWriteRequest: what is written, net/http reads as the request that it was.
func TestWriteRequest(t *testing.T) {
	for _, body := range []string{"", "hello"} {
		for _, method := range []string{"PUT", "GET"} {
			r, _ := http.NewRequest(method, "http://127.0.0.1:10000/account/box/a%2Fb%20c?comp=lease&x=%2f", strings.NewReader(body))
			r.Header["x-ms-date"] = []string{"now"}
			r.Header.Set("Content-Type", "text/plain")
			var text strings.Builder
			if err := writeRequest(bufio.NewWriter(&text), r); err != nil {
				t.Fatal(err)
			}
			got, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text.String())))
			if err != nil {
				t.Fatalf("%q: %v", text.String(), err)
			}
			sent, _ := io.ReadAll(got.Body)
			if got.Method != method || got.Host != r.URL.Host || got.RequestURI != r.URL.RequestURI() || string(sent) != body ||
				got.ContentLength != int64(len(body)) || got.Header.Get("X-Ms-Date") != "now" || got.Header.Get("Content-Type") != "text/plain" {
				t.Errorf("%q is read as %+v with %q", text.String(), got, sent)
			}
		}
	}
	r, _ := http.NewRequest("PUT", "http://a/b", io.MultiReader())
	if err := writeRequest(bufio.NewWriter(io.Discard), r); err == nil {
		t.Error("a body of unknown length was written")
	}
}
