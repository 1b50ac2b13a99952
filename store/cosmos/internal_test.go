package cosmos

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/cas"
)

// Every row that the store can write comes back as it was.
func TestDocumentsComeBackAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := rapid.Int64Range(0, 4e12).Draw(t, "ms")
		row := machine.Row{
			Resource: rapid.StringN(1, 300, 1024).Draw(t, "resource"),
			Holder:   rapid.StringN(1, 50, 256).Draw(t, "holder"), ID: leasehold.NewID(),
			Token:    rapid.Uint64Range(1, leasehold.MaxToken).Draw(t, "token"),
			State:    leasehold.State(rapid.IntRange(int(leasehold.StateActive), int(leasehold.StateBroken)).Draw(t, "state")),
			Acquired: now, Renewed: now + 5,
			Renewals: rapid.Int32Min(0).Draw(t, "renewals"), MaxRenewals: rapid.Int32Min(-1).Draw(t, "max"),
			Metadata: rapid.MapOfN(rapid.StringMatching(`[a-z.-]{1,9}`), rapid.String(), 0, 3).Draw(t, "metadata"),
			Caller:   rapid.String().Draw(t, "caller"), Handed: rapid.Bool().Draw(t, "handed"),
		}
		if len(row.Metadata) == 0 {
			row.Metadata = nil
		}
		row.TTL = time.Duration(rapid.Int64Range(1000, leasehold.MaxTTL.Milliseconds()).Draw(t, "ttl")) * time.Millisecond
		row.Ends = machine.Time(now)*machine.Time(time.Millisecond) + machine.Time(row.TTL)
		if row.State.Locked() {
			row.Ends += machine.Time(grain)
		}
		if row.State.Locked() && rapid.Bool().Draw(t, "infinite") {
			row.TTL, row.Ends = leasehold.Infinite, machine.Never
		}
		if rapid.Bool().Draw(t, "former") {
			row.Former = leasehold.NewID()
		}
		w := cas.Write{Row: row, Marks: []string{"a", "b"}}
		b, err := json.Marshal(encodeDocument(w, ByResource))
		if err != nil {
			t.Fatal(err)
		}
		item, err := decodeDocument(b, time.Now())
		if err != nil {
			t.Fatalf("decode(%s) = %v", b, err)
		}
		if diff := cmp.Diff(row, item.Row); diff != "" || !cmp.Equal(item.Marks, w.Marks) {
			t.Fatalf("row (-want +got):\n%s", diff)
		}
	})
}

func FuzzDecodeDocument(f *testing.F) {
	f.Add([]byte(`{"leaseName":"r","status":"active","expiresAt":"2030-01-02T03:04:05.000Z","durationSeconds":1.5}`))
	f.Add([]byte(`{"leaseName":"r","status":"released","endedAt":"x","leaseId":"secret"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		item, err := decodeDocument(b, time.Now())
		if err != nil {
			if err != errForeign {
				t.Errorf("decode = %v, want an error that repeats nothing", err)
			}
			return
		}
		_ = item.Row.Lease(machine.Instant{Clock: math.MaxInt64 - 1})
	})
}

func FuzzParseConnection(f *testing.F) {
	f.Add("AccountEndpoint=https://a.documents.azure.com:443/;AccountKey=c2VjcmV0;")
	f.Add("accountkey=a==;accountendpoint=b")
	f.Add(";;=")
	f.Fuzz(func(t *testing.T, s string) {
		endpoint, key, err := parseConnection(s)
		if err == nil && (endpoint == "" || key == "") {
			t.Errorf("parseConnection(%q) = %q and a key of %d bytes", s, endpoint, len(key))
		}
	})
}

// Different names have different ids, all of which Cosmos takes.
func TestDocumentIDs(t *testing.T) {
	seen := map[string]string{}
	check := func(name string) {
		id := documentID(name)
		if other, ok := seen[id]; ok && other != name {
			t.Fatalf("%.40q and %.40q have the id %q", name, other, id)
		}
		seen[id] = name
		if id == "" || len(id) > maxDocumentID || strings.ContainsAny(id, `/\?#% `) || id == "." || id == ".." {
			t.Errorf("%.40q has the id %q", name, id)
		}
	}
	for _, name := range []string{".", "..", "...", "/", "~2F", "~", "~~", "a/b", "a~2Fb", "%", "é", "e\u0301", " ", "😀"} {
		check(name)
	}
	for n := range 1200 {
		check(strings.Repeat("x", n+1))
		check(strings.Repeat("/", n+1))
	}
	rapid.Check(t, func(r *rapid.T) { check(rapid.StringN(1, 100, 1024).Draw(r, "name")) })
}

func TestSessionsAreBounded(t *testing.T) {
	var s sessions
	for i := range 3*maxSessions + 10 {
		token := fmt.Sprint(i)
		s.put(token, token)
	}
	if n := len(s.tokens) + len(s.older); n > 2*maxSessions {
		t.Errorf("%d tokens are kept, want at most %d", n, 2*maxSessions)
	}
	if s.get(fmt.Sprint(3*maxSessions-1)) == nil || s.get(fmt.Sprint(3*maxSessions)) == nil {
		t.Error("a recent token was forgotten")
	}
}

// Answers may overtake each other: the later session counts, whichever comes last.
func TestLatestSessionCounts(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"0:-1#7", "0:-1#9", "0:-1#9"},
		{"0:-1#10", "0:-1#9", "0:-1#10"},
		{"0:1#10#1=8", "0:1#9#1=9", "0:1#10#1=8"},
		{"0:1#10", "0:2#9", "0:2#9"},
		{"0:1#10", "3:1#9", "3:1#9"}, // the partition was split
		{"0:10", "0:9", "0:9"},
		{"0:1#10", "odd#x", "odd#x"},
		{"0:1#10", "", "0:1#10"},
	} {
		var s sessions
		s.put("k", c.first)
		s.put("k", c.second)
		if got := s.get("k"); got == nil || *got != c.want {
			t.Errorf("%q, then %q: %v, want %q", c.first, c.second, got, c.want)
		}
	}
}

// A region that has just become a reading one is no matter of permissions.
func TestForbidden(t *testing.T) {
	for substatus, want := range map[string]leasehold.Reason{"": leasehold.ReasonForbidden, "5300": leasehold.ReasonForbidden, "3": leasehold.ReasonUnavailable} {
		resp := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"X-Ms-Substatus": {substatus}}}
		err := &azcore.ResponseError{StatusCode: resp.StatusCode, RawResponse: resp}
		if got := classify(t.Context(), write, err).reason; got != want {
			t.Errorf("403 with substatus %q = %s, want %s", substatus, got, want)
		}
	}
}
