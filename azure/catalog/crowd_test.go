package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// uniform fails if content is not one letter, repeated: then it was read while
// it was changed, or after it was collected.
type uniform struct {
	letter byte
	n      int64
	bad    bool
}

func (u *uniform) Write(p []byte) (int, error) {
	if u.n == 0 && len(p) > 0 {
		u.letter = p[0]
	}
	u.n += int64(len(p))
	u.bad = u.bad || len(bytes.Trim(p, string(rune(u.letter)))) > 0
	return len(p), nil
}

// A crowd writes, reads, snapshots, deletes and collects the same few blobs.
// Whatever anybody reads is whole, and in the end nothing is left over.
func TestCrowd(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
	const workers, steps = 8, 40
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range steps {
				name := ref
				name.Blob = fmt.Sprint("blob-", random.IntN(3))
				if err := h.jostle(name, random, byte('A'+(w*steps+i)%26)); err != nil {
					t.Errorf("worker %d, step %d: %v", w, i, err)
				}
			}
		})
	}
	wg.Wait()
	h.collect()
	h.checkClean()
	if err := h.Reset(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	h.wantFiles(0)
}

// jostle does one thing. What others did before it may forbid it.
func (h *house) jostle(ref catalog.Ref, random *rand.Rand, letter byte) error {
	ctx, all := h.t.Context(), catalog.Access{}
	body := bytes.Repeat([]byte{letter}, []int{10, 50_000, 80_000}[random.IntN(3)])
	var err error
	switch random.IntN(12) {
	case 0, 1, 2:
		_, err = h.PutBlob(ctx, ref, catalog.New{Tags: map[string]string{"l": string(letter)}}, h.Accept(body), all)
	case 3:
		err = h.StageBlock(ctx, ref, blockID(int(letter)), h.Accept(body), all)
	case 4:
		_, err = h.CommitBlocks(ctx, ref, []catalog.BlockRef{{ID: blockID(int(letter))}, {ID: blockID(int(letter))}}, catalog.New{}, all)
	case 5:
		_, err = h.Snapshot(ctx, ref, nil, all)
	case 6:
		err = h.Delete(ctx, ref, catalog.Deletion(random.IntN(4)), all)
	case 7:
		_, err = h.Modify(ctx, ref, all, true, func(i *catalog.Item) error { i.ContentType = string(letter); return nil })
	case 8:
		err = h.Collect(ctx)
	case 9:
		_, err = h.Check(ctx, true)
	default:
		err = h.skim(ref, random)
	}
	var f *azerr.Error
	if errors.As(err, &f) && (f.Code == azerr.BlobNotFound || f.Code == azerr.InvalidBlockList || f.Code == azerr.SnapshotsPresent) {
		return nil
	}
	return err
}

// skim reads the blob or one of its snapshots.
func (h *house) skim(ref catalog.Ref, random *rand.Rand) error {
	l, err := h.Lineage(h.t.Context(), ref)
	if err != nil {
		return err
	}
	if n := len(l.Snapshots); n > 0 && random.IntN(2) == 0 {
		ref.Snapshot = l.Snapshots[random.IntN(n)].Snapshot
	}
	k, err := h.Get(h.t.Context(), ref, catalog.Access{})
	if err != nil {
		return err
	}
	defer k.Close()
	var u uniform
	if err := k.WriteTo(h.t.Context(), &u, 0, k.Size); err != nil || u.bad || u.n != k.Size {
		return fmt.Errorf("WriteTo = %d of %d bytes, all alike: %t, %w", u.n, k.Size, !u.bad, err)
	}
	return nil
}

// Many try to make the same blob, and one does.
func TestCreateOnce(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
	create := catalog.Access{If: catalog.Conditions{NoneMatch: "*"}}
	made := make(chan byte, 20)
	var wg sync.WaitGroup
	for i := range byte(20) {
		wg.Go(func() {
			_, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept([]byte{i}), create)
			if err == nil {
				made <- i
			} else {
				wantFault(t, "PutBlob", err, azerr.BlobAlreadyExists)
			}
		})
	}
	wg.Wait()
	if len(made) != 1 {
		t.Fatalf("%d made it, want 1", len(made))
	}
	if got, want := h.read(ref), []byte{<-made}; !bytes.Equal(got, want) {
		t.Errorf("it reads %v, want %v", got, want)
	}
}

// No write slips in beside a lease: whoever wrote without an id wrote before it
// was acquired.
func TestNoWriteBesideALease(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
	h.put(ref, ref.Blob, "0")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, err := h.PutBlob(ctx, ref, catalog.New{}, h.Accept([]byte("intruder")), catalog.Access{})
				var refusal *catalog.LeaseError
				if err != nil && !errors.As(err, &refusal) && ctx.Err() == nil {
					t.Errorf("PutBlob = %v", err)
				}
			}
		})
	}
	for range 20 {
		id := h.lease(ref)
		mine := catalog.Access{Lease: id}
		made, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept([]byte("mine")), mine)
		if err != nil {
			t.Fatalf("PutBlob with the id = %v", err)
		}
		if now, err := h.Head(t.Context(), ref, mine); err != nil || now.Ticks != made.Ticks {
			t.Errorf("Head under the lease = %+v, %v, want %v", now, err, made.Ticks)
		}
		if _, err := h.Lease(t.Context(), ref, catalog.LeaseRequest{Action: catalog.Release, ID: id}); err != nil {
			t.Fatalf("Release = %v", err)
		}
	}
	cancel()
	wg.Wait()
	h.collect()
	h.checkClean()
}
