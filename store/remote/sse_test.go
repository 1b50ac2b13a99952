package remote

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// allEvents reads a stream to its end.
func allEvents(r io.Reader) (all []event, err error) {
	stream := newEvents(r, nil)
	for {
		e, err := stream.next()
		if err != nil {
			return all, err
		}
		e.data = append([]byte(nil), e.data...)
		all = append(all, e)
	}
}

func TestEvents(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   []event
	}{
		"one":                        {"event: a\nid: 1\ndata: x\n\n", []event{{"a", []byte("x"), "1"}}},
		"no space after the colon":   {"event:a\nid:1\ndata:x\n\n", []event{{"a", []byte("x"), "1"}}},
		"only one space is dropped":  {"data:  x\n\n", []event{{"", []byte(" x"), ""}}},
		"CRLF":                       {"event: a\r\ndata: x\r\n\r\n", []event{{"a", []byte("x"), ""}}},
		"CR":                         {"event: a\rdata: x\r\r", []event{{"a", []byte("x"), ""}}},
		"mixed line ends":            {"event: a\r\ndata: x\r\n\ndata: y\r\r\n", []event{{"a", []byte("x"), ""}, {"", []byte("y"), ""}}},
		"a byte order mark":          {"\xef\xbb\xbfdata: x\n\n", []event{{"", []byte("x"), ""}}},
		"comments":                   {": hello\n\ndata: x\n: still here\n\n", []event{{"", []byte("x"), ""}}},
		"several lines of data":      {"data: x\ndata\ndata: y\n\n", []event{{"", []byte("x\n\ny"), ""}}},
		"an event without data":      {"event: a\nid: 5\n\ndata: x\n\n", []event{{"", []byte("x"), "5"}}},
		"the id stays":               {"id: 1\ndata: x\n\ndata: y\n\n", []event{{"", []byte("x"), "1"}, {"", []byte("y"), "1"}}},
		"an id with a NUL is none":   {"id: 1\x00\ndata: x\n\n", []event{{"", []byte("x"), ""}}},
		"unknown fields":             {"retry: 5\nsmell: rose\ndata: x\n\n", []event{{"", []byte("x"), ""}}},
		"an event that breaks off":   {"data: x\n\nevent: a\ndata: y\n", []event{{"", []byte("x"), ""}}},
		"a line that breaks off":     {"data: x\n\ndata: y", []event{{"", []byte("x"), ""}}},
		"nothing":                    {"", nil},
		"empty data is data":         {"data:\n\n", []event{{"", []byte{}, ""}}},
		"a colon in the value stays": {"data: {\"a\":1}\n\n", []event{{"", []byte(`{"a":1}`), ""}}},
	} {
		for kind, r := range map[string]io.Reader{"whole": strings.NewReader(c.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(c.stream))} {
			got, err := allEvents(r)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(event{}), cmpopts.EquateEmpty()); diff != "" || err != io.EOF {
				t.Errorf("%s, %s: %v (-want +got):\n%s", name, kind, err, diff)
			}
		}
	}
}

func TestEventsHaveLimits(t *testing.T) {
	for name, stream := range map[string]io.Reader{
		"a line":   endless("data: x"),
		"an event": endless("data: x\n"),
	} {
		if _, err := allEvents(stream); !errors.Is(err, errLongLine) {
			t.Errorf("%s without an end = %v, want %v", name, err, errLongLine)
		}
	}
}

// endless repeats a text for ever.
func endless(text string) io.Reader {
	return bufio.NewReader(readerFunc(func(p []byte) (int, error) { return copy(p, strings.Repeat(text, 600)), nil }))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// FuzzEvents reads any stream, whole and in pieces: both must come out alike,
// and no event holds more than was sent.
func FuzzEvents(f *testing.F) {
	f.Add("event: acquired\nid: 5\ndata: {}\n\n: still here\n\n")
	f.Add("\xef\xbb\xbfdata\r\rdata: \r\n\r\nid\n\n")
	f.Add("event: reset\nid: 9\ndata: {\"seq\":9}\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		whole, err := allEvents(strings.NewReader(stream))
		pieces, _ := allEvents(iotest.HalfReader(strings.NewReader(stream)))
		if err != io.EOF && !errors.Is(err, errLongLine) {
			t.Fatalf("events of %q = %v", stream, err)
		}
		if diff := cmp.Diff(whole, pieces, cmp.AllowUnexported(event{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("events of %q differ (-whole +pieces):\n%s", stream, diff)
		}
		for _, e := range whole {
			if len(e.data) > len(stream) || len(e.name) > len(stream) || strings.ContainsAny(e.name, "\r\n") || strings.ContainsAny(e.id, "\r\n\x00") {
				t.Fatalf("events of %q hold %+v", stream, e)
			}
			_, _, _ = notice(e)
		}
	})
}
