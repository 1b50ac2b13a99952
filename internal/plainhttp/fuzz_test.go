package plainhttp

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// foldedHost is a Host header that goes on in the next line.
var foldedHost = regexp.MustCompile(`(?i)\nhost:[^\n]*\n[ \t]`)

// turn is a request that a handler saw, and the status of its answer.
type turn struct {
	Seen   *seen
	Status int
}

// FuzzBesideNetHTTP says anything to both servers. They must see the same
// requests, above all the same number of them: two parties that do not agree on
// where a request ends can be made to answer one client with another's answer.
func FuzzBesideNetHTTP(f *testing.F) {
	for _, c := range besideCases() {
		if len(c.send) < 4*bufferSize {
			f.Add([]byte(c.send+get("/after")), uint16(0))
		}
	}
	theirs, ours := newRigs(f)
	f.Fuzz(func(t *testing.T, send []byte, step uint16) {
		if len(send) > testLimit {
			return // beyond it the limits differ by net/http's slop
		}
		pace := int(step)
		if pace == 0 {
			pace = len(send) + 1
		}
		their, our := turns(theirs.say(string(send), pace)), turns(ours.say(string(send), pace))
		switch n := min(len(their), len(our)); {
		case n < len(their) && (maySooner(their[:n+1]) || foldedHost.Match(send)):
			their = their[:n]
		case n > 0 && n < len(our) && mayLater(our[n-1].Seen):
			our = our[:n]
		}
		if diff := cmp.Diff(their, our, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(seen{}, "Notes")); diff != "" {
			t.Errorf("%q (-theirs +ours):\n%s", send, diff)
		}
	})
}

// turns puts requests and answers together. Answers of the server's own are left
// out, as their words and at times their statuses differ: what counts is that
// no handler sees what was refused.
func turns(answers []answer, sights []*seen) (all []turn) {
	for _, s := range sights {
		if lastPart(s.Path) == "late" {
			s.BodyErr = "" // of a bad rest that was drained: net/http is not always honest about it
		}
		all = append(all, turn{Seen: s})
	}
	n := 0
	for _, a := range answers {
		if !a.refusal && n < len(all) {
			all[n].Status = a.Status
			n++
		}
	}
	for i := range all { // net/http sends a bad length to HTTP/1.0, and no client can read that
		if lastPart(all[i].Seen.Path) == "badlength" {
			all[i].Status = 0
		}
	}
	return all
}

// maySooner reports whether our server may have stopped before the last of their
// turns, for one of the reasons that the table gives.
func maySooner(theirs []turn) bool {
	next := theirs[len(theirs)-1].Seen
	if next.Proto == "HTTP/2.0" || next.Header.Get("Expect") != "" {
		return true
	}
	if len(theirs) == 1 {
		return false
	}
	last := theirs[len(theirs)-2]
	return last.Seen.Proto == "HTTP/1.0" || last.Seen.Method == "POST" || endsAnswer[lastPart(last.Seen.Path)]
}

// mayLater reports whether our server may go on after a request where theirs
// does not.
func mayLater(s *seen) bool {
	do := lastPart(s.Path)
	if strings.Contains(strings.ToLower(s.Header.Get("Connection")), "close") {
		return true // net/http finds the word in what is no list of words, too
	}
	return do == "overrun" || do == "part" && s.Header.Get("Expect") != ""
}

// endsAnswer are the manners whose answers end the connection only here.
var endsAnswer = map[string]bool{"bare": true, "stream": true, "badlength": true}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
