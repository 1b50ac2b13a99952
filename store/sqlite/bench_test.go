package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
)

// BenchmarkCommit writes batches in which every operation changes a row and
// leaves a record, on a few resources or on many: what a commit costs is the
// pages it touches.
func BenchmarkCommit(b *testing.B) {
	for _, resources := range []int{64, 100_000} {
		for _, size := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("resources=%d/batch=%d", resources, size), func(b *testing.B) {
				benchmarkCommit(b, resources, size)
			})
		}
	}
}

func benchmarkCommit(b *testing.B, resources, size int) {
	j := newJournal(b, Options{})
	batch := &local.Batch{Rows: make([]local.RowChange, size), Records: make([]leasehold.Record, size)}
	names := make([]string, resources)
	for i := range names {
		names[i] = fmt.Sprintf("prod:us-east-1:acme:payment-processor:invoice-batch-%d", i)
	}
	now := time.Now()
	var worst time.Duration
	b.ReportAllocs()
	for b.Loop() {
		batch.Commit++
		for i := range size {
			batch.Seq++
			batch.Token++
			// A stride that visits all and lies nowhere near the one before.
			name := names[batch.Seq*7919%uint64(resources)]
			batch.Rows[i].Row = machine.Row{
				Resource: name, Holder: "worker-17", ID: leasehold.ID{byte(batch.Seq)}, Token: batch.Token,
				State: leasehold.StateActive, TTL: time.Minute, Ends: machine.Time(now.UnixNano()),
				Acquired: now.UnixMilli(), Renewed: now.UnixMilli(), MaxRenewals: -1,
			}
			batch.Records[i] = leasehold.Record{
				Seq: batch.Seq, At: now, Kind: leasehold.KindAcquired, Resource: name, Holder: "worker-17",
				Token: batch.Token, After: leasehold.StateActive,
			}
		}
		begun := time.Now()
		mustCommit(b, j, batch)
		worst = max(worst, time.Since(begun))
	}
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(worst.Microseconds()), "worst-µs")
}

// BenchmarkLoad reads a million rows.
func BenchmarkLoad(b *testing.B) {
	const rows = 1_000_000
	j := newJournal(b, Options{Durability: DurabilityNormal})
	for from := 0; from < rows; from += 10_000 {
		batch := &local.Batch{}
		for i := from; i < from+10_000; i++ {
			batch.Rows = append(batch.Rows, local.RowChange{Row: machine.Row{
				Resource: fmt.Sprintf("prod:us-east-1:acme:service:%07d", i), Holder: fmt.Sprintf("worker-%d", i%1000),
				ID: leasehold.NewID(), Token: uint64(i), State: leasehold.StateActive, TTL: time.Hour,
				Ends: machine.Time(i), Metadata: map[string]string{"zone": fmt.Sprint(i % 3)},
			}})
		}
		mustCommit(b, j, batch)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if _, err := j.Load(b.Context(), func(machine.Row) error { n++; return nil }); err != nil || n != rows {
			b.Fatalf("Load() = %d rows, %v", n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/load")
}
