package console

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/internal/serve"
)

// A lease of a blob, acquired through the API of blobs, is in the table live, and can be
// broken from its page. Its id is nowhere.
func TestBlobLease(t *testing.T) {
	s := start(t, func(o *serve.Options) { o.BlobListen = "127.0.0.1:0" })
	const box, id = "/blob/devstoreaccount1/box", "5c0d7f4e-21b6-4b6e-9d53-0a9b8c7d6e5f"
	s.put(box+"?restype=container", "")
	s.put(box+"/report.txt", "text", "Content-Type", "text/plain")
	b := s.open("/console/?prefix=blob:")
	b.live()
	b.mark()
	lease := []string{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "60", "x-ms-proposed-lease-id", id}
	s.put(box+"/report.txt?comp=lease", "", lease...)
	name := "blob:devstoreaccount1/box/report.txt"
	b.until(rowOf(name))
	b.shows("#rows .tag", "blob")
	b.checkMark()
	for _, page := range []string{"/console/", "/console/resource?name=" + name} {
		b.visit(page)
		if html := eval[string](b, `document.documentElement.outerHTML`); strings.Contains(strings.ToLower(html), id) || !strings.Contains(html, name) {
			t.Errorf("%s has the id of the blob's lease, or not its name", page)
		}
	}
	b.click("details.danger summary")
	b.fill("#reason", "the writer is gone")
	b.submit("details.danger button")
	b.shows("#now", "broken")
	b.shows("#history q", "the writer is gone")
	s.put(box+"/report.txt", "new text", "Content-Type", "text/plain") // nothing guards it any more
}

// put sends a request of the API of blobs that must succeed.
func (s *site) put(path, body string, headers ...string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPut, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		s.t.Fatalf("PUT %s = %d, want 201", path, answer.StatusCode)
	}
}
