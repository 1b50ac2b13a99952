package content

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// model is what a store must be: a map. Rows are what the caller committed, lost
// are files whose rows never were or are gone.
type model struct {
	dir    string
	s      *Store
	rows   map[int64]Chunk
	data   map[int64][]byte
	lost   map[int64]bool
	opened map[int64]bool // files at the last Open
	last   int64
}

// TestAgainstAModel draws random lives of a store.
func TestAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "content")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := &model{dir: dir, rows: map[int64]Chunk{}, data: map[int64][]byte{}, lost: map[int64]bool{}}
		m.reopen(t)
		defer func() { m.s.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"":        m.agree,
			"write":   m.write,
			"read":    m.read,
			"remove":  m.remove,
			"reopen":  m.reopen,
			"reserve": func(t *rapid.T) { m.s.Reserve(rapid.Int64Range(0, m.last+2000).Draw(t, "id")) },
			"orphans": m.orphans,
			"clear":   m.clear,
		})
	})
}

func (m *model) write(t *rapid.T) {
	size := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(InlineLimit-2, InlineLimit+2), rapid.IntRange(0, 2*InlineLimit)).Draw(t, "size")
	data := noise(rapid.Uint64().Draw(t, "seed"), size)
	announced := rapid.SampledFrom([]int64{-1, int64(size)}).Draw(t, "announced")
	c, _, err := m.s.Write(bytes.NewReader(data), announced, int64(size))
	if err != nil || c.ID <= m.last || c.Size != int64(size) {
		t.Fatalf("Write(%d bytes) = id %d after %d, size %d, %v", size, c.ID, m.last, c.Size, err)
	}
	m.last = c.ID
	switch rapid.SampledFrom([]string{"commit", "commit", "discard", "lose"}).Draw(t, "then") {
	case "commit":
		m.rows[c.ID], m.data[c.ID] = c, data
	case "discard":
		m.s.Discard(c)
	case "lose":
		if c.inFile() {
			m.lost[c.ID] = true
		}
	}
}

func (m *model) row(t *rapid.T) (Chunk, bool) {
	if len(m.rows) == 0 {
		return Chunk{}, false
	}
	return m.rows[rapid.SampledFrom(slices.Sorted(maps.Keys(m.rows))).Draw(t, "row")], true
}

func (m *model) read(t *rapid.T) {
	c, ok := m.row(t)
	if !ok {
		return
	}
	offset := rapid.Int64Range(0, c.Size).Draw(t, "offset")
	n := rapid.Int64Range(0, c.Size-offset).Draw(t, "n")
	got, err := readAll(m.s, c, offset, n)
	if want := m.data[c.ID][offset : offset+n]; err != nil || !bytes.Equal(got, want) {
		t.Fatalf("Reader(%d, %d, %d) gives %d bytes, %v", c.ID, offset, n, len(got), err)
	}
}

func (m *model) remove(t *rapid.T) {
	c, ok := m.row(t)
	if !ok {
		return
	}
	delete(m.rows, c.ID)
	delete(m.data, c.ID)
	if rapid.Bool().Draw(t, "lose it") && c.inFile() {
		m.lost[c.ID] = true
		return
	}
	if err := m.s.Remove(c.ID, m.last+1); err != nil {
		t.Fatalf("Remove(%d) = %v", c.ID, err)
	}
}

func (m *model) reopen(t *rapid.T) {
	if m.s != nil {
		m.s.Close()
	}
	s, err := Open(m.dir, throwAway)
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	s.Reserve(m.last) // as a caller does who keeps all ids
	m.s, m.opened = s, m.files()
}

func (m *model) orphans(t *rapid.T) {
	var want, got []int64
	for id := range m.lost {
		if m.opened[id] {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	err := m.s.Orphans(t.Context(), func(ids []int64) (map[int64]bool, error) {
		has := make(map[int64]bool)
		for _, id := range ids {
			_, has[id] = m.rows[id]
		}
		return has, nil
	}, func(id int64) error {
		got = append(got, id)
		delete(m.lost, id)
		return m.s.Remove(id)
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("Orphans() = %v (-want +got):\n%s", err, diff)
	}
}

func (m *model) clear(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		return
	}
	if err := m.s.Clear(); err != nil {
		t.Fatalf("Clear() = %v", err)
	}
	clear(m.rows)
	clear(m.data)
	clear(m.lost)
}

// files are those that must be on disk.
func (m *model) files() map[int64]bool {
	files := maps.Clone(m.lost)
	for id, c := range m.rows {
		if c.inFile() {
			files[id] = true
		}
	}
	return files
}

// agree holds after every step.
func (m *model) agree(t *rapid.T) {
	var got []int64
	numbers, err := m.s.numbers(m.s.chunks)
	for _, number := range numbers {
		ids, err := m.s.files(number)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ids...)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(m.files())), got); err != nil || diff != "" {
		t.Fatalf("files, %v (-want +got):\n%s", err, diff)
	}
	if c, ok := m.row(t); ok {
		if err := m.s.Check(c); err != nil {
			t.Fatalf("Check(%d) = %v", c.ID, err)
		}
	}
}
