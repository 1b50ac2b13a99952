package plainhttp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// answer is an answer as a client sees it.
type answer struct {
	Status    int
	Proto     string
	Header    http.Header
	Encoding  []string
	Body      string
	Truncated bool
	Close     bool // the client is told that the connection ends
	refusal   bool // the server's own: no handler saw the request
	dated     bool
}

// parseAnswers parses all that a server sent on a connection. What is no answer
// counts as an answer with the status 0.
func parseAnswers(out []byte) (answers []answer) {
	in := bufio.NewReaderSize(bytes.NewReader(out), len(out)+16)
	for {
		if _, err := in.Peek(1); err != nil {
			return answers
		}
		rest, _ := in.Peek(in.Buffered())
		a, err := parseAnswer(in, methodOf(rest))
		answers = append(answers, a)
		if err != nil {
			return answers
		}
	}
}

// methodOf finds the request's method, which the handler has put down.
func methodOf(out []byte) string {
	head, _, _ := bytes.Cut(out, []byte("\r\n\r\n"))
	_, after, _ := bytes.Cut(head, []byte("\r\nX-Method: "))
	method, _, _ := bytes.Cut(after, []byte("\r\n"))
	return string(method)
}

func parseAnswer(in *bufio.Reader, method string) (answer, error) {
	r, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		return answer{}, err
	}
	body, err := io.ReadAll(r.Body)
	a := answer{
		Status: r.StatusCode, Proto: r.Proto, Header: r.Header, Encoding: r.TransferEncoding,
		Body: string(body), Truncated: err != nil, Close: r.Close, refusal: method == "", dated: r.Header["Date"] != nil,
	}
	delete(a.Header, "Date")
	return a, err
}

// summary tells in short what a client was told: the statuses, ! after those
// that were cut off, and whether the connection could be used afterwards.
func summary(answers []answer) string {
	var words []string
	for _, a := range answers {
		switch {
		case a.Body == "after":
			words = append(words, "after")
		case a.Truncated:
			words = append(words, fmt.Sprintf("%d!", a.Status))
		default:
			words = append(words, fmt.Sprint(a.Status))
		}
	}
	return strings.Join(words, " ")
}

// inOneVoice leaves out what servers may say in their own words.
func inOneVoice(answers []answer) []answer {
	kept := make([]answer, len(answers))
	for i, a := range answers {
		kept[i] = a
		if a.refusal && a.Status >= 400 {
			kept[i] = answer{Status: a.Status, Proto: a.Proto, Header: a.Header, Close: a.Close, refusal: true}
		}
	}
	return kept
}

func TestDate(t *testing.T) {
	for range 3 {
		for _, at := range []time.Time{time.Unix(0, 5), time.Unix(0, 999_999_999), time.Unix(1, 0), time.Unix(1<<31, 0).In(time.FixedZone("elsewhere", 3600))} {
			if got, want := date(at), at.UTC().Format(http.TimeFormat); got != want {
				t.Errorf("date(%v) = %q, want %q", at, got, want)
			}
		}
	}
}
