package content

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold/internal/testchild"
)

// writeUntilKilled writes chunks, four at a time, until it is killed. It prints
// each one that it wrote, but for every fifth: those are as if the process had died
// before the row was committed. One more writer never finishes.
func writeUntilKilled(dir string) error {
	s, err := Open(dir, nil)
	if err != nil {
		return err
	}
	go s.Write(io.MultiReader(io.LimitReader(zeros{}, 2*bufferSize), blockedReader{}), -1, 1<<40)
	var failed error
	var once sync.Once
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			if err := writeForever(s); err != nil {
				once.Do(func() { failed = err })
			}
		})
	}
	writers.Wait()
	return failed
}

func writeForever(s *Store) error {
	for {
		size := InlineLimit + 1 + rand.IntN(bufferSize)
		c, _, err := s.Write(&slowReader{left: size}, -1, 1<<20)
		if err != nil {
			return err
		}
		if c.ID%5 != 0 { // one system call per line, so that a line is whole or missing
			fmt.Printf("%d %d %x\n", c.ID, c.Size, c.CRC)
		}
	}
}

// blockedReader is a sender that sends nothing any more.
type blockedReader struct{}

func (blockedReader) Read([]byte) (int, error) { select {} }

// slowReader brings bytes, some of them random, in small portions.
type slowReader struct{ left int }

func (d *slowReader) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	n := min(d.left, len(p), 10_000)
	d.left -= n
	for i := 0; i < n; i += 8 {
		p[i] = byte(rand.Uint32())
	}
	return n, nil
}

// TestKill kills a process that writes, again and again. The chunks that it
// reported are whole, and the others are found as orphans.
func TestKill(t *testing.T) {
	const rounds = 20
	dir := t.TempDir()
	rows := make(map[int64]Chunk)
	var halves, orphans int
	for range rounds {
		told := killed(t, dir)
		halves += len(tree(t, filepath.Join(dir, "tmp")))
		for _, c := range told {
			if _, ok := rows[c.ID]; ok {
				t.Fatalf("id %d was given out twice", c.ID)
			}
			rows[c.ID] = c
		}
		orphans += recoverFrom(t, dir, told, rows)
	}
	recoverFrom(t, dir, slices.Collect(maps.Values(rows)), rows)
	if halves < rounds || orphans == 0 {
		t.Errorf("%d rounds left %d half written files and %d orphans: they show nothing", rounds, halves, orphans)
	}
	t.Logf("%d rounds, %d chunks, %d half written, %d orphans", rounds, len(rows), halves, orphans)
}

// killed lets a child write for a moment, kills it, and returns the chunks that it
// reported.
func killed(t *testing.T, dir string) []Chunk {
	t.Helper()
	cmd := testchild.Command(t.Context(), "writeUntilKilled", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	var told []Chunk
	deadline := 1 + rand.IntN(20)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var c Chunk
		if _, err := fmt.Sscanf(lines.Text(), "%d %d %x", &c.ID, &c.Size, &c.CRC); err != nil {
			t.Fatalf("the child said %q", lines.Text())
		}
		if told = append(told, c); len(told) == deadline {
			cmd.Process.Kill()
		}
	}
	if len(told) < deadline {
		t.Fatalf("the child ended by itself")
	}
	return told
}

// recoverFrom opens the store after a crash, checks the chunks that were reported,
// removes those without a row and returns how many they were.
func recoverFrom(t *testing.T, dir string, reported []Chunk, rows map[int64]Chunk) int {
	t.Helper()
	s := openStore(t, dir, nil)
	if left := tree(t, s.tmp); len(left) > 0 {
		t.Errorf("Open() left %q in tmp", left)
	}
	var want []int64
	for _, id := range onDisk(t, s) {
		if _, ok := rows[id]; !ok {
			want = append(want, id)
		}
	}
	for _, c := range reported {
		if err := s.Check(c); err != nil {
			t.Errorf("Check(%d) after the crash = %v", c.ID, err)
		}
	}
	got := mustOrphans(t, s, rows)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Orphans() differs from the files without a row (-want +got):\n%s", diff)
	}
	if err := s.Remove(got...); err != nil {
		t.Error(err)
	}
	if files := onDisk(t, s); len(files) != len(rows) {
		t.Errorf("%d files are left, want %d", len(files), len(rows))
	}
	return len(got)
}

// onDisk returns the ids of the files, sorted, as the file system has them.
func onDisk(t testing.TB, s *Store) []int64 {
	t.Helper()
	var ids []int64
	for _, name := range tree(t, s.chunks) {
		id, err := strconv.ParseInt(filepath.Base(name), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func mustOrphans[V any](t testing.TB, s *Store, rows map[int64]V) []int64 {
	t.Helper()
	var got []int64
	err := s.Orphans(context.Background(), func(ids []int64) (map[int64]bool, error) {
		has := make(map[int64]bool)
		for id := range maps.Keys(rows) {
			has[id] = true
		}
		return has, nil
	}, func(id int64) error {
		got = append(got, id)
		return nil
	})
	if err != nil {
		t.Fatalf("Orphans() = %v", err)
	}
	return got
}
