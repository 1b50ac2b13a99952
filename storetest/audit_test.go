package storetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/storetest"
)

// errorLog is a test that records failures.
type errorLog struct {
	testing.TB
	errors []string
}

func (l *errorLog) Helper() {}

func (l *errorLog) Errorf(format string, args ...any) {
	l.errors = append(l.errors, fmt.Sprintf(format, args...))
}

const (
	available = leasehold.StateAvailable
	active    = leasehold.StateActive
	breaking  = leasehold.StateBreaking
	released  = leasehold.StateReleased
	expired   = leasehold.StateExpired
)

func line(seq uint64, kind leasehold.Kind, token uint64, before, after leasehold.State, renewals int) leasehold.Record {
	return leasehold.Record{Seq: seq, Kind: kind, Resource: "r", Holder: "h", Token: token, Before: before, After: after, Renewals: renewals}
}

func TestCheckRecords(t *testing.T) {
	acquired := line(1, leasehold.KindAcquired, 5, available, active, 0)
	for name, c := range map[string]struct {
		records []leasehold.Record
		want    string // part of the complaint; empty: none
	}{
		"a life": {[]leasehold.Record{
			acquired,
			line(2, leasehold.KindRenewed, 5, active, active, 1),
			line(3, leasehold.KindBreaking, 5, active, breaking, 1),
			line(4, leasehold.KindReleased, 5, breaking, released, 1),
			line(5, leasehold.KindAcquired, 6, released, active, 0),
			line(6, leasehold.KindExpired, 6, active, expired, 0),
			line(7, leasehold.KindAcquired, 7, available, active, 0), // forgotten meanwhile
		}, ""},
		"a gap":               {[]leasehold.Record{acquired, line(3, leasehold.KindRenewed, 5, active, active, 1)}, "record 3 follows 1"},
		"an orphan":           {[]leasehold.Record{line(1, leasehold.KindReleased, 5, active, released, 0)}, "left it available"},
		"a missing end":       {[]leasehold.Record{acquired, line(2, leasehold.KindAcquired, 6, expired, active, 0)}, "left it active"},
		"two grants":          {[]leasehold.Record{acquired, line(2, leasehold.KindAcquired, 6, active, active, 0)}, "leads from active to active"},
		"a token that stands": {[]leasehold.Record{acquired, line(2, leasehold.KindReleased, 5, active, released, 0), line(3, leasehold.KindAcquired, 5, released, active, 0)}, "token 5 after 5"},
		"a foreign token":     {[]leasehold.Record{acquired, line(2, leasehold.KindReleased, 4, active, released, 0)}, "token 4"},
		"a revival":           {[]leasehold.Record{acquired, line(2, leasehold.KindExpired, 5, active, expired, 0), line(3, leasehold.KindRenewed, 5, expired, active, 1)}, "leads from expired to active"},
		"a lost renewal":      {[]leasehold.Record{acquired, line(2, leasehold.KindReleased, 5, active, released, 1)}, "1 renewals after 0"},
		"a renewal uncounted": {[]leasehold.Record{acquired, line(2, leasehold.KindRenewed, 5, active, active, 0)}, "0 renewals after 0"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &errorLog{TB: t}
			storetest.CheckRecords(l, c.records)
			all := strings.Join(l.errors, "\n")
			if c.want == "" && all != "" || !strings.Contains(all, c.want) {
				t.Errorf("CheckRecords said %q, want %q", all, c.want)
			}
		})
	}
}
