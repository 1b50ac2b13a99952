package catalog_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/store/sqlite"
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

// Many clients write, read, snapshot, delete and collect the same few blobs.
// Whatever anybody reads is whole, and in the end nothing is left over.
func TestManyClients(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	const workers, steps = 8, 40
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range steps {
				name := ref
				name.Blob = fmt.Sprint("blob-", random.IntN(3))
				if err := h.randomStep(name, random, byte('A'+(w*steps+i)%26)); err != nil {
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

// randomStep makes one call. What others did before it may forbid it.
func (h *harness) randomStep(ref catalog.Ref, random *rand.Rand, letter byte) error {
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
		err = h.readAny(ref, random)
	}
	var f *azerr.Error
	if errors.As(err, &f) && (f.Code == azerr.BlobNotFound || f.Code == azerr.InvalidBlockList || f.Code == azerr.SnapshotsPresent) {
		return nil
	}
	return err
}

// readAny reads the blob or one of its snapshots.
func (h *harness) readAny(ref catalog.Ref, random *rand.Rand) error {
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
	h, ref := newContainer(t)
	create := catalog.Access{If: catalog.Conditions{NoneMatch: "*"}}
	made := make(chan byte, 20)
	var wg sync.WaitGroup
	for i := range byte(20) {
		wg.Go(func() {
			_, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept([]byte{i}), create)
			if err == nil {
				made <- i
			} else {
				wantCode(t, "PutBlob", err, azerr.BlobAlreadyExists)
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

// No write slips in beside a lease: who wrote without an id wrote before it
// was acquired.
func TestNoWriteBesideALease(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
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

// childEnv makes this test binary write blobs in that directory, to be killed.
const childEnv = "LEASEHOLD_TEST_WRITE_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Println("error", writeUntilKilled(context.Background(), dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const writers = 4

var written = catalog.Ref{Account: "acct", Container: "written"}

// writeUntilKilled writes blobs until it is killed, and says what was acknowledged.
func writeUntilKilled(ctx context.Context, dir string) error {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "leases.db"), &sqlite.Options{Modules: []engine.Module{catalog.Module()}})
	if err != nil {
		return err
	}
	chunks, err := content.Open(filepath.Join(dir, "blobs"), nil)
	if err != nil {
		return err
	}
	c, err := catalog.Open(ctx, store, chunks, nil)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for i := range writers {
		go func() { failed <- writeVersions(ctx, c, i) }()
	}
	return <-failed
}

// writeVersions writes one blob in many ways. Each version has its number in it.
func writeVersions(ctx context.Context, c *catalog.Catalog, i int) error {
	ref, all := written, catalog.Access{}
	ref.Blob = fmt.Sprint("blob-", i)
	for n := 1; ; n++ {
		body := versionOf(n)
		var err error
		if n%2 == 0 {
			_, err = c.PutBlob(ctx, ref, catalog.New{}, c.Accept(body), all)
		} else if err = c.StageBlock(ctx, ref, "AAAA", c.Accept(body), all); err == nil {
			_, err = c.CommitBlocks(ctx, ref, []catalog.BlockRef{{ID: "AAAA"}}, catalog.New{}, all)
		}
		if err != nil {
			return err
		}
		fmt.Printf("%d %d\n", i, n) // in one system call: it is said, or not
		if _, err = c.Snapshot(ctx, ref, nil, all); err == nil && n%5 == 0 {
			err = c.Delete(ctx, ref, catalog.DeleteSnapshots, all)
		}
		if err != nil {
			return err
		}
	}
}

// versionOf is the content of version n: at times it takes a file.
func versionOf(n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%08d", n), 1+n%3*5000)
}

// What was acknowledged survives the death of the process, whatever it was
// doing; what was not is there as a whole or not at all; nothing is left over.
func TestKilled(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.container(written)
	for round := range 3 {
		h.close()
		said := killWriters(t, h.dir, 40+rand.IntN(60))
		h.open()
		for i := range writers {
			ref := written
			ref.Blob = fmt.Sprint("blob-", i)
			verifyVersion(t, h, ref, said[i])
		}
		if err := h.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the sweep", func() bool {
			report, err := h.Check(t.Context(), false)
			return err == nil && len(report.Problems) == 0
		})
		t.Logf("round %d: killed after %v", round, said)
		if err := h.Reset(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		h.wantFiles(0)
		h.container(written)
	}
}

// killWriters starts a process of writers and kills it after so many
// acknowledged writes. It returns the last version of each blob.
func killWriters(t *testing.T, dir string, lines int) map[int]int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := map[int]int{}
	for in := bufio.NewScanner(out); in.Scan(); lines-- {
		var i, n int
		if _, err := fmt.Sscan(in.Text(), &i, &n); err != nil {
			t.Fatalf("the writers say %q", in.Text())
		}
		said[i] = n
		if lines == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	return said
}

// verifyVersion: the blob is the version that was acknowledged last, or the next
// one; so are its snapshots, each whole.
func verifyVersion(t *testing.T, h *harness, ref catalog.Ref, last int) {
	t.Helper()
	l, err := h.Lineage(t.Context(), ref)
	var f *azerr.Error
	if last == 0 && errors.As(err, &f) && f.Code == azerr.BlobNotFound {
		return
	}
	if err != nil {
		t.Fatalf("Lineage(%v) = %v", ref, err)
	}
	if got := h.read(ref); !bytes.Equal(got, versionOf(last)) && !bytes.Equal(got, versionOf(last+1)) {
		t.Errorf("%v has %d bytes, beginning with %.8s, want version %d or the next", ref, len(got), got, last)
	}
	for _, s := range l.Snapshots {
		ref.Snapshot = s.Snapshot
		got, n := h.read(ref), 0
		if _, err := fmt.Sscanf(string(got[:8]), "%d", &n); err != nil || n > last+1 || !bytes.Equal(got, versionOf(n)) {
			t.Errorf("%v has %d bytes, beginning with %.8s, which is no version", ref, len(got), got)
		}
	}
}
