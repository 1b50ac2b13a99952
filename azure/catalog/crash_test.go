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
	"testing"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/store/sqlite"
)

// scribbleEnv makes this test binary a scribbler in that directory, to be
// killed.
const scribbleEnv = "LEASEHOLD_TEST_SCRIBBLE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(scribbleEnv); dir != "" {
		fmt.Println("error", scribble(context.Background(), dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const scribblers = 4

var scribbles = catalog.Ref{Account: "acct", Container: "scribbles"}

// scribble writes blobs until it is killed, and says what was acknowledged.
func scribble(ctx context.Context, dir string) error {
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
	for i := range scribblers {
		go func() { failed <- scribbler(ctx, c, i) }()
	}
	return <-failed
}

// scribbler writes one blob in many ways. Each version has its number in it.
func scribbler(ctx context.Context, c *catalog.Catalog, i int) error {
	ref, all := scribbles, catalog.Access{}
	ref.Blob = fmt.Sprint("blob-", i)
	for n := 1; ; n++ {
		body := edition(n)
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

// edition is the content of version n: at times it takes a file.
func edition(n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%08d", n), 1+n%3*5000)
}

// What was acknowledged survives the death of the process, whatever it was
// doing; what was not is there as a whole or not at all; nothing is left over.
func TestKilled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.container(scribbles)
	for round := range 3 {
		h.close()
		said := scribbleAndDie(t, h.dir, 40+rand.IntN(60))
		h.open()
		for i := range scribblers {
			ref := scribbles
			ref.Blob = fmt.Sprint("blob-", i)
			verifyEdition(t, h, ref, said[i])
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
		h.container(scribbles)
	}
}

// scribbleAndDie starts a scribbler and kills it after so many acknowledged
// writes. It returns the last version of each blob.
func scribbleAndDie(t *testing.T, dir string, lines int) map[int]int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), scribbleEnv+"="+dir)
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
			t.Fatalf("the scribbler says %q", in.Text())
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

// verifyEdition: the blob is the version that was acknowledged last, or the next
// one; so are its snapshots, each whole.
func verifyEdition(t *testing.T, h *house, ref catalog.Ref, last int) {
	t.Helper()
	l, err := h.Lineage(t.Context(), ref)
	var f *azerr.Error
	if last == 0 && errors.As(err, &f) && f.Code == azerr.BlobNotFound {
		return
	}
	if err != nil {
		t.Fatalf("Lineage(%v) = %v", ref, err)
	}
	if got := h.read(ref); !bytes.Equal(got, edition(last)) && !bytes.Equal(got, edition(last+1)) {
		t.Errorf("%v has %d bytes, beginning with %.8s, want version %d or the next", ref, len(got), got, last)
	}
	for _, s := range l.Snapshots {
		ref.Snapshot = s.Snapshot
		got, n := h.read(ref), 0
		if _, err := fmt.Sscanf(string(got[:8]), "%d", &n); err != nil || n > last+1 || !bytes.Equal(got, edition(n)) {
			t.Errorf("%v has %d bytes, beginning with %.8s, which is no version", ref, len(got), got)
		}
	}
}
