package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/server/auth"
)

// The limits of a batch.
const (
	maxBatch     = 256
	maxBatchBody = 4 << 20 // bytes
	batchWorkers = 16      // parts that run at a time
)

// part is one request of a batch.
type part struct {
	id      string // the client's, repeated in the answer
	request *http.Request
	call    *call
	answer  recorder
}

// batch runs many requests that came as one. It reads them all first, so that a
// batch with a mistake changes nothing. Each is authorized on its own.
func (s *Server) batch(c *call) error {
	body, err := c.readAll(maxBatchBody)
	if err != nil {
		return err
	}
	parts, err := parseBatch(c.r.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := s.prepare(c, p); err != nil {
			return err
		}
	}
	s.runAll(parts)
	return c.answerBatch(parts)
}

func badBatch(why string, args ...any) error {
	return azerr.New(azerr.InvalidInput).With("The batch cannot be read: "+why+".", args...)
}

// parseBatch splits the body into requests.
func parseBatch(contentType string, body []byte) ([]*part, error) {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/mixed" || parameters["boundary"] == "" {
		return nil, badBatch("the content type must be multipart/mixed with a boundary")
	}
	reader := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	var parts []*part
	for {
		next, err := reader.NextRawPart()
		switch {
		case errors.Is(err, io.EOF) && len(parts) > 0:
			return parts, nil
		case err != nil:
			return nil, badBatch("it must have at least one part, and end with its boundary")
		case len(parts) == maxBatch:
			return nil, badBatch("it has more than %d parts", maxBatch)
		}
		p, err := parsePart(next)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
}

// parsePart reads one request. Clients differ in whether an empty line ends it.
func parsePart(in *multipart.Part) (*part, error) {
	if media, _, _ := mime.ParseMediaType(in.Header.Get("Content-Type")); media != "application/http" {
		return nil, badBatch("the content type of its parts must be application/http")
	}
	id := in.Header.Get("Content-ID")
	if !printable(id) || len(id) > 256 {
		return nil, badBatch("a Content-ID is not plain text")
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, badBatch("a part has no end")
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(append(bytes.TrimLeft(text, "\r\n"), "\r\n\r\n"...))))
	switch {
	case err != nil:
		return nil, badBatch("a part is no HTTP request")
	case r.ContentLength > 0 || len(r.TransferEncoding) > 0:
		return nil, badBatch("its requests must have no bodies")
	case !strings.HasPrefix(r.RequestURI, "/"):
		return nil, badBatch("the address of a part must be a path")
	}
	r.Body = http.NoBody
	return &part{id: id, request: r}, nil
}

// prepare finds the operation of a part, without running it.
func (s *Server) prepare(c *call, p *part) error {
	r := p.request.WithContext(c.r.Context())
	r.RemoteAddr, r.TLS = c.r.RemoteAddr, c.r.TLS
	r.Host = c.r.Host
	if r.Header.Get("X-Ms-Version") == "" && r.Header.Get("Authorization") == "" { // what is signed must stay as it is
		r.Header.Set("X-Ms-Version", version(c.r))
	}
	p.answer.headers = http.Header{}
	p.call = &call{w: &p.answer, r: r, api: c.api, id: newRequestID(), started: c.started, batch: c}
	if err := s.parseAddress(p.call); err != nil {
		return badBatch("the address of a part names nothing")
	}
	if err := s.findOperation(p.call); err != nil {
		return badBatch("a part asks for what is no operation, or none on this resource")
	}
	ours := p.call.ref.Account == c.ref.Account && (c.level == atService || p.call.ref.Container == c.ref.Container)
	switch {
	case !p.call.op.Batch:
		return badBatch("%s cannot be part of a batch", p.call.op.Name)
	case !ours:
		return badBatch("a part is about another %s than the batch", c.level)
	}
	return nil
}

// runAll runs the parts, several at a time: each waits for the disk. The batch
// itself was counted against the caller's rate in place of the first part.
func (s *Server) runAll(parts []*part) {
	var group sync.WaitGroup
	turns := make(chan struct{}, batchWorkers)
	for i, p := range parts {
		if i > 0 && !s.spendRate(p.call) {
			continue
		}
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			s.runPart(p.call)
		})
	}
	group.Wait()
}

// spendRate counts a part against the caller's rate and refuses it if that is
// used up.
func (s *Server) spendRate(c *call) bool {
	wait, ok := auth.AllowOperation(c.r.Context())
	if !ok {
		c.started = time.Now()
		defer s.finish(c)
		s.start(c)
		s.setHeaders(c)
		busy := azerr.New(azerr.ServerBusy).With("The token makes too many requests, of which each part of a batch is one.")
		busy.Header = http.Header{"Retry-After": {wholeSeconds(max(wait, time.Millisecond))}}
		s.answerError(c, busy)
	}
	return ok
}

func (s *Server) runPart(c *call) {
	c.started = time.Now()
	defer s.finish(c)
	s.start(c)
	s.setHeaders(c)
	if err := s.run(c); err != nil {
		s.answerError(c, err)
	}
}

// answerBatch sends the answers of all parts as one.
func (c *call) answerBatch(parts []*part) error {
	boundary := "batchresponse_" + newRequestID()
	var b bytes.Buffer
	for _, p := range parts {
		fmt.Fprintf(&b, "--%s\r\nContent-Type: application/http\r\n", boundary)
		if p.id != "" {
			fmt.Fprintf(&b, "Content-ID: %s\r\n", p.id)
		}
		fmt.Fprintf(&b, "\r\nHTTP/1.1 %d %s\r\n", p.call.status, http.StatusText(p.call.status))
		writeLower(&b, p.answer.headers)
		fmt.Fprintf(&b, "\r\n%s\r\n", p.answer.body.Bytes())
	}
	fmt.Fprintf(&b, "--%s--\r\n", boundary)
	return c.answerBytes(http.StatusAccepted, "multipart/mixed; boundary="+boundary, b.Bytes())
}

// writeLower writes headers with names in lower case: the JavaScript SDK knows
// those of a part no other way.
func writeLower(b *bytes.Buffer, h http.Header) {
	lower := http.Header{}
	for name, values := range h {
		if strings.HasPrefix(name, "X-Ms-") {
			name = strings.ToLower(name)
		}
		lower[name] = values
	}
	_ = lower.Write(b) // to memory
}

// recorder keeps the answer of a part.
type recorder struct {
	headers http.Header
	body    bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.headers }
func (r *recorder) WriteHeader(int)             {}
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
