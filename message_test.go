package leasehold_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// TestMessages shows the messages as people see them.
func TestMessages(t *testing.T) {
	current := leasehold.Lease{Holder: "ann", Token: 7, Remaining: 40*time.Second + 123456789}
	endless := leasehold.Lease{Holder: "ann", Token: 7, Remaining: leasehold.Infinite}
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
		err := &leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Resource: name, Current: &leasehold.Lease{Holder: name}}
		if got := err.Error(); len(got) > 700 || strings.ContainsAny(got, "\n\x00") {
			t.Errorf("Error() = %d bytes, %.80q; want one short line", len(got), got)
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
