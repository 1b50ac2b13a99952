package catalog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold/leasehold/azure/catalog"
)

// BenchmarkOverwrite measures what the index of referrers costs a write: the same
// overwrites with it and without, taking turns. The ratio is that of the times.
func BenchmarkOverwrite(b *testing.B) {
	ref := catalog.Ref{Account: "acct", Container: "desk"}
	with, without := newHouseWith(b, &catalog.Options{Idle: true}), newHouseWith(b, &catalog.Options{Idle: true})
	without.sql(`DROP INDEX blob_pieces_chunk`)
	without.sql(`DROP INDEX blob_blocks_chunk`)
	const names = 500
	round := func(h *house) time.Duration {
		begin := time.Now()
		for i := range names {
			h.put(ref, fmt.Sprintf("blob-%d", i), "content")
		}
		return time.Since(begin)
	}
	for _, h := range []*house{with, without} {
		h.container(ref)
		round(h)
	}
	var took, bare time.Duration
	for b.Loop() {
		took += round(with)
		bare += round(without)
	}
	b.ReportMetric(float64(took)/float64(bare), "ratio")
	b.ReportMetric(float64(took.Microseconds())/float64(b.N*names), "µs/put")
}
