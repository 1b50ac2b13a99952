//go:build unix

package azuretest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

const loaders = 32

// nameOf is the name of a blob; names sort as their numbers do.
func nameOf(i int) string { return fmt.Sprintf("shelf-%03d/item-%08d", i/1000, i) }

// load puts tiny blobs as fast as it can: pipelined on many connections, at the
// JSON API's port, where nobody signs.
func (s *server) load(name string, count int) {
	s.Helper()
	var all []func(context.Context) error
	for first := range loaders {
		all = append(all, func(context.Context) error { return s.loadPart(name, first, count) })
	}
	if err := parallel(s.Context(), all); err != nil {
		s.Fatal(err)
	}
}

func (s *server) loadPart(name string, first, count int) error {
	c, err := net.Dial("tcp", strings.TrimPrefix(s.address.API, "http://"))
	if err != nil {
		return err
	}
	defer c.Close()
	sent := make(chan error, 1)
	go func() {
		w := bufio.NewWriterSize(c, 64<<10)
		for i := first; i < count; i += loaders {
			fmt.Fprintf(w, "PUT /blob/%s/%s/%s HTTP/1.1\r\nHost: localhost\r\nX-Ms-Blob-Type: BlockBlob\r\nContent-Length: 8\r\n\r\n%08d",
				account, name, nameOf(i), i)
		}
		sent <- w.Flush()
	}()
	answers := bufio.NewReader(c)
	for i := first; i < count; i += loaders {
		a, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(a.Body)
		if err != nil || a.StatusCode != http.StatusCreated {
			return fmt.Errorf("put of %q = %s %s %w, want 201", nameOf(i), a.Status, text, err)
		}
	}
	return <-sent
}
