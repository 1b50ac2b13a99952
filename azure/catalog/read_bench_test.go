package catalog_test

import (
	"io"
	"sync/atomic"
	"testing"

	"github.com/leasehold/leasehold/azure/catalog"
)

func BenchmarkPutSmall(b *testing.B) {
	h, ref := desk(b)
	var writers atomic.Int64
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		mine := ref
		mine.Blob = blockID(int(writers.Add(1)))
		for pb.Next() {
			if _, err := h.PutBlob(b.Context(), mine, catalog.New{}, h.Accept([]byte("small")), catalog.Access{}); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkGetSmall(b *testing.B) {
	h, ref := desk(b)
	h.put(ref, ref.Blob, "small")
	b.ReportAllocs()
	for b.Loop() {
		k, err := h.Get(b.Context(), ref, catalog.Access{})
		if err != nil {
			b.Fatal(err)
		}
		if err := k.WriteTo(b.Context(), io.Discard, 0, k.Size); err != nil {
			b.Fatal(err)
		}
		k.Close()
	}
}

func BenchmarkGetLarge(b *testing.B) {
	h, ref := desk(b)
	body := make([]byte, 64<<20)
	if _, err := h.PutBlob(b.Context(), ref, catalog.New{}, h.Accept(body), catalog.Access{}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		k, err := h.Get(b.Context(), ref, catalog.Access{})
		if err != nil {
			b.Fatal(err)
		}
		if err := k.WriteTo(b.Context(), io.Discard, 0, k.Size); err != nil {
			b.Fatal(err)
		}
		k.Close()
	}
}
