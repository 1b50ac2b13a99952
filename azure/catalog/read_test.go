package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
)

func TestRanges(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	var want []byte
	var list []catalog.BlockRef
	for i := range 40 { // more than are looked up at once
		body := bytes.Repeat([]byte{byte('A' + i)}, 1+i*i%17)
		if i == 20 {
			body = bulk('#')
		}
		h.stageAs(ref, blockID(i), body)
		list = append(list, catalog.BlockRef{ID: blockID(i)})
		want = append(want, body...)
	}
	h.commit(ref, list...)
	k, err := h.Get(t.Context(), ref, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	size := int64(len(want))
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		from := random.Int64N(size + 1)
		n := random.Int64N(size - from + 1)
		var b bytes.Buffer
		if err := k.WriteTo(t.Context(), &b, from, n); err != nil || !bytes.Equal(b.Bytes(), want[from:from+n]) {
			t.Fatalf("WriteTo(%d, %d) = %d bytes, %v", from, n, b.Len(), err)
		}
	}
	for _, bad := range [][2]int64{{-1, 1}, {0, -1}, {0, size + 1}, {size + 1, 0}, {size, 1}} {
		wantCode(t, "WriteTo", k.WriteTo(t.Context(), io.Discard, bad[0], bad[1]), azerr.InvalidRange)
	}
}

// Who reads goes on reading what it found, whatever becomes of the blob, and
// what it reads is collected when it is done.
func TestReadersKeepWhatTheyRead(t *testing.T) {
	h, ref := newContainer(t)
	if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('1')), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	first, err := h.Get(t.Context(), ref, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := h.Get(t.Context(), ref, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	h.put(ref, ref.Blob, "new")
	h.collect()
	h.remove(ref, ref.Blob, catalog.DeleteBase)
	h.collect()
	h.checkClean()
	second.Close()
	second.Close() // does nothing
	h.collect()
	var b bytes.Buffer
	if err := first.WriteTo(t.Context(), &b, 0, first.Size); err != nil || !bytes.Equal(b.Bytes(), bulk('1')) {
		t.Errorf("WriteTo = %d bytes, %v", b.Len(), err)
	}
	h.wantFiles(1)
	first.Close()
	h.collect()
	h.wantFiles(0)
	h.checkClean()
}

func TestReadsAreConditional(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	made := h.put(ref, ref.Blob, "x")
	snapshot := ref
	snapshot.Snapshot = h.snapshot(ref, ref.Blob)
	id := h.lease(ref)
	for _, ref := range []catalog.Ref{ref, snapshot} {
		for _, get := range []func(catalog.Access) error{
			func(a catalog.Access) error { _, err := h.Head(t.Context(), ref, a); return err },
			func(a catalog.Access) error {
				k, err := h.Get(t.Context(), ref, a)
				if err == nil {
					k.Close()
				}
				return err
			},
			func(a catalog.Access) error { _, err := h.Blocks(t.Context(), ref, a); return err },
		} {
			if err := errors.Join(get(catalog.Access{}), get(catalog.Access{Lease: id})); err != nil {
				t.Errorf("reading %v = %v", ref, err)
			}
			wantRefusal(t, "reading with another id", get(catalog.Access{Lease: leasehold.NewID()}), leasehold.ReasonIDMismatch)
			if err := get(catalog.Access{If: catalog.Conditions{NoneMatch: made.ETag()}}); !catalog.NotModified(err) {
				t.Errorf("reading what is known already = %v", err)
			}
			wantCode(t, "reading another version", get(catalog.Access{If: catalog.Conditions{Match: `"0x1"`}}), azerr.ConditionNotMet)
		}
	}
	shown, err := h.Head(t.Context(), ref, catalog.Access{})
	if err != nil || shown.Lease.State != "leased" {
		t.Errorf("Head shows the lease %+v, %v", shown.Lease, err)
	}
	shown, err = h.Head(t.Context(), snapshot, catalog.Access{})
	if err != nil || shown.Lease != (catalog.LeaseView{}) {
		t.Errorf("Head shows the lease %+v of a snapshot, %v", shown.Lease, err)
	}
	missing := ref
	missing.Blob = "none"
	_, err = h.Get(t.Context(), missing, catalog.Access{})
	wantCode(t, "Get", err, azerr.BlobNotFound)
	snapshot.Snapshot = catalog.At(snapshot.Snapshot.Ticks() + 1)
	_, err = h.Get(t.Context(), snapshot, catalog.Access{})
	wantCode(t, "Get", err, azerr.BlobNotFound)
}

// Of damaged content the end is withheld.
func TestDamagedContent(t *testing.T) {
	h, ref := newContainer(t)
	if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('1')), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	k, err := h.Get(t.Context(), ref, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	files, _ := filepath.Glob(filepath.Join(h.dir, "blobs", "chunks", "*", "*"))
	if err := os.WriteFile(files[0], bulk('2'), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := k.WriteTo(t.Context(), &b, 0, k.Size); !errors.Is(err, content.ErrDamaged) || b.Len() == int(k.Size) {
		t.Errorf("WriteTo = %d bytes, %v, want it damaged", b.Len(), err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := k.WriteTo(t.Context(), &b, 0, 10); !errors.Is(err, content.ErrDamaged) {
		t.Errorf("WriteTo = %v, want it damaged", err)
	}
	h.sql(`DELETE FROM blob_pieces`)
	if err := k.WriteTo(t.Context(), &b, 0, 10); !errors.Is(err, content.ErrDamaged) {
		t.Errorf("WriteTo = %v, want it damaged", err)
	}
}

func TestReadingStops(t *testing.T) {
	h, ref := newContainer(t)
	if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bytes.Repeat(bulk('1'), 4)), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	k, err := h.Get(t.Context(), ref, catalog.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	gone, full := errors.New("the reader has gone"), errors.New("the pipe is full")
	ctx, cancel := context.WithCancelCause(t.Context())
	first := writerFunc(func(p []byte) (int, error) { cancel(gone); return len(p), nil })
	if err := k.WriteTo(ctx, first, 0, k.Size); !errors.Is(err, gone) {
		t.Errorf("WriteTo for nobody = %v, want %v", err, gone)
	}
	if err := k.WriteTo(t.Context(), writerFunc(func([]byte) (int, error) { return 0, full }), 0, k.Size); !errors.Is(err, full) {
		t.Errorf("WriteTo = %v, want %v", err, full)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func BenchmarkPutSmall(b *testing.B) {
	h, ref := newContainer(b)
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
	h, ref := newContainer(b)
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
	h, ref := newContainer(b)
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
