package leasehold_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

var allSentinels = map[string]error{
	"ErrHeld": leasehold.ErrHeld, "ErrLost": leasehold.ErrLost, "ErrNotFound": leasehold.ErrNotFound,
	"ErrForbidden": leasehold.ErrForbidden, "ErrInvalid": leasehold.ErrInvalid, "ErrUnsupported": leasehold.ErrUnsupported,
	"ErrTimeout": leasehold.ErrTimeout, "ErrUnavailable": leasehold.ErrUnavailable, "ErrUnknown": leasehold.ErrUnknown,
}

// reasonsInSource reads every Reason with the sentinel that its comment names,
// so that no new one can be forgotten here, nor a comment be wrong.
func reasonsInSource(t *testing.T) map[leasehold.Reason]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[leasehold.Reason]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		sentinel, _, _ := strings.Cut(strings.TrimSpace(spec.Comment.Text()), ":")
		found[leasehold.Reason(value)] = sentinel
		return true
	})
	if len(found) < 25 {
		t.Fatalf("errors.go has %d reasons; the test has not found them", len(found))
	}
	return found
}

func TestEveryReasonMatchesOneSentinel(t *testing.T) {
	for reason, name := range reasonsInSource(t) {
		want, known := allSentinels[name]
		if !known {
			t.Errorf("the comment of %s names %q, which is no sentinel", reason, name)
			continue
		}
		if got := reason.Sentinel(); got != want {
			t.Errorf("%s.Sentinel() = %v, want %v", reason, got, want)
		}
		err := fmt.Errorf("outer: %w", &leasehold.Error{Reason: reason, Cause: io.ErrUnexpectedEOF})
		for other, sentinel := range allSentinels {
			if got := errors.Is(err, sentinel); got != (other == name) {
				t.Errorf("errors.Is(%s, %s) = %t, want %t", reason, other, got, other == name)
			}
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s hides its cause", reason)
		}
	}
}

// TestUnknownReason: a newer server may send it.
func TestUnknownReason(t *testing.T) {
	err := &leasehold.Error{Reason: "lease_on_mars", Op: "renew"}
	if !errors.Is(err, leasehold.ErrUnknown) || errors.Is(err, leasehold.ErrLost) {
		t.Errorf("%v: want ErrUnknown and nothing else", err)
	}
	if got, want := err.Error(), "renew: lease_on_mars"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestReasonOf(t *testing.T) {
	inner := &leasehold.Error{Reason: leasehold.ReasonExpired}
	for _, tt := range []struct {
		err  error
		want leasehold.Reason
	}{
		{nil, ""},
		{io.EOF, ""},
		{inner, leasehold.ReasonExpired},
		{fmt.Errorf("outer: %w", inner), leasehold.ReasonExpired},
		{errors.Join(io.EOF, inner), leasehold.ReasonExpired},
		{&leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: inner}, leasehold.ReasonUnknown},
	} {
		if got := leasehold.ReasonOf(tt.err); got != tt.want {
			t.Errorf("ReasonOf(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// advice holds, for every reason, words of its message that say what to do.
var advice = map[leasehold.Reason]string{
	leasehold.ReasonHeld:             "try again",
	leasehold.ReasonBreaking:         "try again",
	leasehold.ReasonDeadlock:         "release",
	leasehold.ReasonIDInUse:          "propose a new one",
	leasehold.ReasonMissing:          "show its lease id",
	leasehold.ReasonExpired:          "acquire a new one",
	leasehold.ReasonReleased:         "acquire a new one",
	leasehold.ReasonBroken:           "acquire a new one",
	leasehold.ReasonMaxRenewals:      "acquire a new one",
	leasehold.ReasonNotFound:         "acquire a new one",
	leasehold.ReasonIDMismatch:       "show the id",
	leasehold.ReasonNotPresent:       "show none",
	leasehold.ReasonTokenMismatch:    "send the token",
	leasehold.ReasonForbidden:        "want 1 to 3", // as its Problem says
	leasehold.ReasonUnauthenticated:  "credentials",
	leasehold.ReasonHolderMismatch:   "send the holder",
	leasehold.ReasonInvalid:          "want 1 to 3",
	leasehold.ReasonTooLarge:         "send less",
	leasehold.ReasonMediaType:        "send application/json",
	leasehold.ReasonUnsupported:      "choose",
	leasehold.ReasonBlockingDisabled: "ask without waiting",
	leasehold.ReasonTimeout:          "ask again",
	leasehold.ReasonSuperseded:       "wait for",
	leasehold.ReasonCancelled:        "ask again",
	leasehold.ReasonUnavailable:      "try again",
	leasehold.ReasonRateLimited:      "try again in 2s",
	leasehold.ReasonTooMany:          "release some",
	leasehold.ReasonUnknown:          "ask again with the same lease id",
}

func TestEveryMessageSaysWhatToDo(t *testing.T) {
	for reason := range reasonsInSource(t) {
		err := &leasehold.Error{
			Reason: reason, Op: "acquire", Resource: "job", Store: "memory", Field: "ttl_seconds", Problem: "is 0; want 1 to 3",
			Waiting: 3, RetryAfter: 2 * time.Second, Waited: time.Second, Cause: context.DeadlineExceeded,
		}
		got := err.Error()
		words, ok := advice[reason]
		if !ok || !strings.Contains(got, words) {
			t.Errorf("%s: Error() = %q, want it to say %q", reason, got, words)
		}
		if strings.Contains(got, string(reason)) {
			t.Errorf("%s: Error() = %q: that is a code, not a sentence", reason, got)
		}
		if !strings.HasPrefix(got, `acquire "job": `) || !strings.HasSuffix(got, ": context deadline exceeded") {
			t.Errorf("%s: Error() = %q, want it to begin with the operation and end with the cause", reason, got)
		}
	}
}

// TestMessages shows the messages as people see them.
func TestMessages(t *testing.T) {
	current := leasehold.Lease{Holder: "ann", Token: 7, Remaining: 40*time.Second + 123456789}
	endless := leasehold.Lease{Holder: "ann", Token: 7, Remaining: leasehold.Infinite}
	overlap := leasehold.Overlap{
		Requested: leasehold.Claim{Namespace: "repo", Pattern: "src/**"},
		Held:      leasehold.Claim{Namespace: "repo", Pattern: "*.go", Mode: leasehold.Shared},
		Part:      "src.go",
	}
	for _, tt := range []struct {
		err  leasehold.Error
		want string
	}{
		{leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Resource: "job", Current: &current, Waiting: 2},
			`acquire "job": held by "ann" (token 7) for another 40.1s; 2 waiting; try again later, or wait for it`},
		{leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Resource: "job", Current: &endless, RetryAfter: 1500 * time.Millisecond},
			`acquire "job": held by "ann" (token 7) without an end; try again in 1.5s`},
		{leasehold.Error{Reason: leasehold.ReasonHeld},
			`held by another; try again later, or wait for it`},
		{leasehold.Error{Reason: leasehold.ReasonBreaking, Op: "acquire", Current: &current},
			`acquire: being broken, still held by "ann" (token 7) for another 40.1s; try again later, or wait for it`},
		{leasehold.Error{Reason: leasehold.ReasonBreaking, Op: "renew", Remaining: 4321 * time.Microsecond},
			`renew: the lease is being broken and ends in 4ms; finish the work, or try again to acquire it then`},
		{leasehold.Error{Reason: leasehold.ReasonTimeout, Op: "acquire", Waited: 3 * time.Second, Waiting: 1},
			`acquire: still held by another after waiting 3s; 1 waiting; ask again, or wait longer`},
		{leasehold.Error{Reason: leasehold.ReasonRateLimited},
			`too many requests; try again later`},
		{leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Current: &current, Waiting: 2, Overlap: &overlap},
			`acquire: held by "ann" (token 7) for another 40.1s; "repo src/**" overlaps with "repo *.go (shared)" at "src.go"; 2 waiting; try again later, or wait for it`},
		{leasehold.Error{Reason: leasehold.ReasonBreaking, Op: "acquire", Current: &current, Overlap: &overlap, RetryAfter: time.Second},
			`acquire: being broken, still held by "ann" (token 7) for another 40.1s; "repo src/**" overlaps with "repo *.go (shared)" at "src.go"; try again in 1s`},
		{leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Resource: "job", Reserved: "bob", Current: &current, Waiting: 1,
			Overlap: &leasehold.Overlap{Requested: leasehold.Claim{Pattern: "job"}, Held: leasehold.Claim{Pattern: "job"}, Part: "job"}},
			`acquire "job": free, but kept for "bob", who came first and waits for more; both claim "job"; 1 waiting; try again later, or wait for it`},
		{leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Resource: "job", Reserved: "bob", RetryAfter: 2 * time.Second},
			`acquire "job": free, but kept for "bob", who came first and waits for more; try again in 2s`},
		{leasehold.Error{Reason: leasehold.ReasonDeadlock, Op: "acquire", Cycle: []leasehold.WaitEdge{
			{Holder: "bob", Claim: leasehold.Claim{Pattern: "x"}, HeldBy: "ann"},
			{Holder: "ann", Claim: leasehold.Claim{Namespace: "repo", Pattern: "src/**", Mode: leasehold.Shared}, HeldBy: "bob"},
		}},
			`acquire: to wait here would never end: "bob" waits for "x" of "ann", "ann" waits for "repo src/** (shared)" of "bob"; release what you hold and begin again`},
		{leasehold.Error{Reason: leasehold.ReasonDeadlock},
			`to wait here would never end; release what you hold and begin again`},
		{leasehold.Error{Reason: leasehold.ReasonTooMany, Op: "acquire", Field: "namespace", Problem: "200000"},
			`acquire: too many live leases in the namespace, at most 200000; release some, or divide the namespace`},
		{leasehold.Error{Reason: leasehold.ReasonForbidden, Op: "list"}, `list: the caller may not do this; ask an operator for a role that may`},
		{leasehold.Error{Reason: leasehold.ReasonForbidden, Op: "list", Field: "Host", Problem: `"web-1" is no name of this listener`}, `list: the Host header "web-1" is no name of this listener`},
		{leasehold.Error{Reason: leasehold.ReasonNotFound, Op: "break", Resource: "r"}, `break "r": nobody holds it; there is nothing to break`},
		{leasehold.Error{Reason: leasehold.ReasonExpired, Op: "break"}, `break: the lease has expired; there is nothing to break`},
		{leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "break"}, `break: the store is unavailable; nothing was changed, try again later`},
		{leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "break", Store: "etcd"},
			`break: the etcd store cannot do this; choose a store that can`},
		{leasehold.Error{Reason: leasehold.ReasonUnsupported},
			`the store cannot do this; choose a store that can`},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() =\n\t%s\nwant\n\t%s", got, tt.want)
		}
	}
}

// TestMessagesStayShort: names may be long and hostile, log lines must not be.
func TestMessagesStayShort(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 5000), strings.Repeat("é", 600), "a\nlevel=ERROR", "\xff\x00", strings.Repeat("\x80", 1000)} {
		claim := leasehold.Claim{Namespace: name, Pattern: name}
		for most, err := range map[int]*leasehold.Error{
			700: {Reason: leasehold.ReasonHeld, Op: "acquire", Resource: name, Current: &leasehold.Lease{Holder: name}},
			1600: {Reason: leasehold.ReasonHeld, Op: "acquire", Resource: name, Current: &leasehold.Lease{Holder: name},
				Overlap: &leasehold.Overlap{Requested: claim, Held: claim, Part: name}},
			1601: {Reason: leasehold.ReasonHeld, Op: "acquire", Resource: name, Reserved: name,
				Overlap: &leasehold.Overlap{Requested: claim, Held: claim, Part: name}},
			1602: {Reason: leasehold.ReasonDeadlock, Op: "acquire", Resource: name, Cycle: []leasehold.WaitEdge{{Holder: name, Claim: claim, HeldBy: name}}},
		} {
			if got := err.Error(); len(got) > most || strings.ContainsAny(got, "\n\x00") {
				t.Errorf("Error() = %d bytes, %.80q; want one short line", len(got), got)
			}
		}
	}
}

// TestMessagesCutNames: a name of up to 64 characters is shown whole, a longer
// one is cut there.
func TestMessagesCutNames(t *testing.T) {
	fits, long := strings.Repeat("é", 64), strings.Repeat("é", 65)
	for name, want := range map[string]string{fits: `"` + fits + `"`, long: `"` + fits + `"`} {
		err := &leasehold.Error{Reason: leasehold.ReasonExpired, Op: "renew", Resource: name}
		if got := err.Error(); !strings.Contains(got, want) {
			t.Errorf("Error() = %q, want it to show %s", got, want)
		}
	}
}
