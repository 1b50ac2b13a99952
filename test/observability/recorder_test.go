//go:build unix

package observability

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/leasehold/leasehold/wire"
)

// recorder sends requests and counts the answers: what the server ought to count. A
// batch counts as its operations do, and once for itself.
type recorder struct {
	next *http.Transport

	mu     sync.Mutex
	counts map[answer]float64
}

// answer is a request's route and what came back.
type answer struct {
	route, status, code string // of the problem, if any
}

func newRecorder() *recorder {
	return &recorder{next: &http.Transport{}, counts: map[answer]float64{}}
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	route := request.Method + " " + request.URL.Path
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return response, nil // counted when it ends, which is after the test
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	r.count(route, response.StatusCode, body)
	var batch wire.BatchAnswer
	if strings.HasSuffix(route, "/batch") && json.Unmarshal(body, &batch) == nil {
		for _, a := range batch.Answers {
			r.count("batch", a.Status, a.Body)
		}
	}
	return response, nil
}

func (r *recorder) count(route string, status int, body []byte) {
	var problem struct{ Code string }
	_ = json.Unmarshal(body, &problem)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[answer{route, strconv.Itoa(status), problem.Code}]++
}
