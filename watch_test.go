package leasehold_test

import (
	"testing"

	"github.com/leasehold/leasehold"
)

func TestSharedNoticeIsEncodedOnce(t *testing.T) {
	n := &leasehold.SharedNotice{Notice: leasehold.Notice{Record: leasehold.Record{Resource: "r"}}}
	calls := 0
	for range 3 {
		got := n.Encode(func(n leasehold.Notice) []byte {
			calls++
			return []byte(n.Resource)
		})
		if string(got) != "r" {
			t.Errorf("Encode = %q, want r", got)
		}
	}
	if calls != 1 {
		t.Errorf("encoded %d times, want once", calls)
	}
}
