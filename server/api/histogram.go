package api

import (
	"bytes"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// histogram counts durations by upper bounds. Counting takes no lock.
type histogram struct {
	bounds  []float64 // seconds, growing
	buckets []atomic.Uint64
	nanos   atomic.Int64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, buckets: make([]atomic.Uint64, len(bounds)+1)}
}

func (h *histogram) observe(d time.Duration) {
	i := 0
	for i < len(h.bounds) && d.Seconds() > h.bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.nanos.Add(int64(d))
}

// write prints the histogram, unless nothing was ever counted.
func (h *histogram) write(b *bytes.Buffer, name, label string) {
	counts := make([]uint64, len(h.buckets))
	total := uint64(0)
	for i := range h.buckets {
		total += h.buckets[i].Load()
		counts[i] = total
	}
	if total == 0 {
		return
	}
	comma, braced := "", ""
	if label != "" {
		comma, braced = label+",", "{"+label+"}"
	}
	for i, n := range counts {
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = strconv.FormatFloat(h.bounds[i], 'g', -1, 64)
		}
		fmt.Fprintf(b, "%s_bucket{%sle=%q} %d\n", name, comma, bound, n)
	}
	fmt.Fprintf(b, "%s_sum%s %g\n%s_count%s %d\n", name, braced, time.Duration(h.nanos.Load()).Seconds(), name, braced, total)
}
