package plainhttp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// besideCase is what a client sends on one connection, and what comes of it.
type besideCase struct {
	name    string
	send    string
	cut     bool   // the client ends there; otherwise it asks for /after, too
	want    string // the summary of our answers
	differs string // why http.Server answers otherwise; empty: it does not
	theirs  string // the summary of its answers; empty: the same
}

// get is a request without a body.
func get(target string, lines ...string) string { return request("GET", target, "", lines...) }

// post is a request with a body of known length.
func post(target, body string, lines ...string) string {
	return request("POST", target, body, append(lines, fmt.Sprintf("Content-Length: %d", len(body)))...)
}

// chunked is a request with a body in chunks, which are given as they are sent.
func chunked(target, chunks string, lines ...string) string {
	return request("POST", target, chunks, append(lines, "Transfer-Encoding: chunked")...)
}

func request(method, target, body string, lines ...string) string {
	return raw(append([]string{method + " " + target + " HTTP/1.1", "Host: a"}, lines...)...) + body
}

// raw is a head, line by line.
func raw(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

// lines of a head that has n bytes altogether.
func headOf(n int) string {
	head := get("/echo", "X-Fill: ")
	return strings.Replace(head, "X-Fill: ", "X-Fill: "+strings.Repeat("f", n-len(head)), 1)
}

const (
	strict    = "only a bug or an attack looks like that, and to refuse it is safe"
	silent    = "who leaves in the middle of a head gets no answer, and hears none"
	old       = "HTTP/1.0 connections are not kept"
	sized     = "an answer names its length, or ends the connection"
	wording   = "the answers differ only in headers that mean the same"
	frank     = "the connection ends with the client's half body, and here the answer says so"
	upgrade   = "there is no upgrade"
	codingWas = "an unknown transfer encoding is a bad request like others"
)

func besideCases() []besideCase {
	var all []besideCase
	for _, some := range [][]besideCase{
		plainCases, lineCases, versionCases, hostCases, targetCases, lengthCases, codingCases, chunkCases,
		expectCases, headerCases, limitCases, bodyCases, answerCases,
	} {
		all = append(all, some...)
	}
	return all
}

func TestBesideNetHTTP(t *testing.T) {
	theirs, ours := newRigs(t)
	for _, c := range besideCases() {
		t.Run(c.name+"/at once", func(t *testing.T) { c.check(t, theirs, ours, 1<<20) })
		t.Run(c.name+"/in pieces", func(t *testing.T) { c.check(t, theirs, ours, 1+len(c.send)/5000) }) // short ones byte by byte
	}
}

func (c besideCase) check(t *testing.T, theirs, ours *rig, step int) {
	send := c.send
	if !c.cut {
		send += get("/after")
	}
	theirAnswers, theirSights := theirs.say(send, step)
	ourAnswers, ourSights := ours.say(send, step)
	if got := summary(ourAnswers); got != c.want {
		t.Errorf("ours = %q, want %q", got, c.want)
	}
	if c.differs != "" {
		c.checkDifference(t, theirAnswers, theirSights, ourSights)
		return
	}
	if diff := cmp.Diff(inOneVoice(theirAnswers), inOneVoice(ourAnswers), cmp.AllowUnexported(answer{})); diff != "" {
		t.Errorf("answers (-theirs +ours):\n%s", diff)
	}
	if diff := cmp.Diff(theirSights, ourSights, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what the handler saw (-theirs +ours):\n%s", diff)
	}
}

// A handler that comes too late for the body must not take what is left for all
// of it. net/http says so most of the time, but not of a body that was cut off.
func TestLateReaderIsTold(t *testing.T) {
	_, ours := newRigs(t)
	for _, send := range []string{
		post("/late", "hello"),
		request("POST", "/late", "hell", "Content-Length: 5"),
		chunked("/late", "5\r\nhello\r\n"+end),
		chunked("/late", "5\r\nhe"),
	} {
		_, sights := ours.say(send, len(send))
		if len(sights) != 1 || sights[0].BodyErr != http.ErrBodyReadAfterClose.Error() {
			t.Errorf("%q: the handler saw %+v, want one request and the error %q", send, sights, http.ErrBodyReadAfterClose)
		}
	}
}

// checkDifference makes sure that a difference is still the one we know, and
// that one server never reads another request than the other: it only stops
// sooner.
func (c besideCase) checkDifference(t *testing.T, theirAnswers []answer, theirSights, ourSights []*seen) {
	want := c.theirs
	if want == "" {
		want = c.want
	}
	if got := summary(theirAnswers); got != want {
		t.Errorf("theirs = %q, want %q", got, want)
	}
	n := min(len(theirSights), len(ourSights))
	ignore := cmpopts.IgnoreFields(seen{}, "Notes")
	if diff := cmp.Diff(theirSights[:n], ourSights[:n], cmpopts.EquateEmpty(), ignore); diff != "" {
		t.Errorf("what the handler saw (-theirs +ours):\n%s", diff)
	}
}
