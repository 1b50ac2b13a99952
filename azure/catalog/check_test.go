package catalog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/catalog"
)

// furnished is a house with a bit of everything in it. Nothing runs there by
// itself: the collector would set right some of what a test has damaged.
func furnished(t *testing.T) (*house, catalog.Ref) {
	t.Helper()
	return furnish(t, &catalog.Options{Idle: true})
}

func furnish(t *testing.T, o *catalog.Options) (*house, catalog.Ref) {
	t.Helper()
	h := newHouseWith(t, o)
	ref := catalog.Ref{Account: "acct", Container: "desk", Blob: "blob"}
	h.container(ref)
	n := catalog.New{Tags: map[string]string{"color": "red"}}
	if _, err := h.PutBlob(t.Context(), ref, n, h.Accept(bulk('x')), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	h.snapshot(ref, ref.Blob)
	h.stage(ref, ref.Blob)
	h.stage(ref, "staged")
	h.put(ref, "small", "abc")
	page := ref
	page.Blob = "page"
	h.empty(page, catalog.Page, 4096)
	h.writePages(page, 2, 1, 'p')
	log := ref
	log.Blob = "log"
	h.empty(log, catalog.Append, 0)
	if _, _, err := h.AppendBlock(t.Context(), log, h.Accept([]byte("line")), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	h.collect()
	h.checkClean()
	return h, ref
}

func TestCheckCounts(t *testing.T) {
	h, _ := furnished(t)
	report, err := h.Check(t.Context(), false)
	if err != nil || report.Containers != 1 || report.Blobs != 4 || report.Snapshots != 1 || report.Blocks != 2 || report.Chunks != 6 || report.Bytes != 100_000+1+1+3+512+4 {
		t.Errorf("Check = %+v, %v", report, err)
	}
}

// Every kind of damage is found, and repaired where nothing is lost by that.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	const nobody = `INSERT INTO blob_tags (container, key, value, name) VALUES (1, 'a', 'b', 'nobody')`
	for _, c := range []struct {
		name, sql string
		want      string // in the report
		repaired  bool
	}{
		{"too many references", `UPDATE blob_chunks SET refs = refs + 1`, "references", true},
		{"too few references", `UPDATE blob_chunks SET refs = refs - 1`, "references", true},
		{"a chunk that nobody has", `INSERT INTO blob_chunks (id, size, crc, refs, data) VALUES (900, 1, 1, 1, x'00')`, "counts 1 references and has 0", true},
		{"blocks of no container", `INSERT INTO blob_blocks SELECT 77, name, block, size, chunk, staged FROM blob_blocks WHERE name = 'staged'`, "container 77 does not exist", true},
		{"blocks of no blob", `DELETE FROM blob_items WHERE name = 'staged'`, "blocks of \"staged\", which does not exist", true},
		{"tags of nobody", nobody, "tags of \"nobody\"", true},
		{"tags that it does not have", `INSERT INTO blob_tags (container, key, value, name) VALUES (1, 'size', 'xl', 'blob')`, "not found by the tags", true},
		{"tags that it is not found by", `DELETE FROM blob_tags`, "not found by the tags", true},
		{"two values of one tag", `INSERT INTO blob_tags (container, key, value, name) VALUES (1, 'color', 'blue', 'blob')`, "not found by the tags", true},
		{"pieces of no item", `INSERT INTO blob_pieces SELECT 900, start, size, chunk, at, block FROM blob_pieces WHERE size = 3`, "belongs to no item", true},
		{"items of no container", `INSERT INTO blob_items SELECT 77, name, snapshot, kind, committed, ticks, created, size, 0, details, expires FROM blob_items WHERE name = 'small'`, "container 77 does not exist", false},
		{"one manifest for two", `UPDATE blob_items SET manifest = (SELECT manifest FROM blob_items WHERE name = 'small') WHERE name = 'log'`, "belongs to 2 blobs", false},
		{"a chunk that is missing", `DELETE FROM blob_chunks WHERE data IS NULL`, "does not exist, but 1 pieces", false},
		{"a wrong size", `UPDATE blob_items SET size = size + 1 WHERE name = 'small'`, "its pieces have 3", false},
		{"an append blob that is too long", `UPDATE blob_items SET size = size + 1 WHERE name = 'log'`, "its pieces have 4", false},
		{"a gap", `UPDATE blob_pieces SET start = 1 WHERE size = 3`, "its pieces have 0", false},
		{"a piece beyond its chunk", `UPDATE blob_pieces SET at = 1 WHERE size = 512`, "beyond their chunk", false},
		{"a strange kind", `UPDATE blob_items SET kind = 9 WHERE name = 'page'`, "kind 9", false},
		{"details that are none", `UPDATE blob_items SET details = x'7b' WHERE name = 'page'`, "JSON", false},
		{"content that is not committed", `UPDATE blob_items SET committed = 0 WHERE name = 'small'`, "not committed", false},
		{"a blob that expires", `UPDATE blob_items SET expires = 9223372036854775806 WHERE name = 'small'`, "no snapshot", false},
		{"wrong bytes", `UPDATE blob_chunks SET data = x'646566' WHERE size = 3`, "belongs to acct/desk/small", false},
		{"wrong bytes of a block", `UPDATE blob_chunks SET crc = 1 WHERE id = (SELECT chunk FROM blob_blocks LIMIT 1)`, "uncommitted block", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, _ := furnished(t)
			h.sql(c.sql)
			verifyCheck(t, h, c.want, c.repaired)
		})
	}
}

// verifyCheck looks for a problem, and whether it is there after the repair.
func verifyCheck(t *testing.T, h *house, want string, repaired bool) {
	t.Helper()
	for _, repair := range []bool{false, true, false} {
		report, err := h.Check(context.WithoutCancel(t.Context()), repair)
		found := false
		for _, p := range report.Problems {
			found = found || strings.Contains(p.String(), want)
			if repair && repaired && !p.Repaired {
				t.Errorf("Check did not repair: %v", p)
			}
			if !repair && p.Repaired {
				t.Errorf("Check repaired, unasked: %v", p)
			}
		}
		if err != nil || !found {
			t.Fatalf("Check(%t) = %v, %v, want %q", repair, report.Problems, err, want)
		}
		if repair && repaired {
			want = ""
			report, err := h.Check(t.Context(), false)
			if err != nil || len(report.Problems) > 0 {
				t.Errorf("Check after the repair = %v, %v", report.Problems, err)
			}
			return
		}
	}
}

func TestCheckFindsDamagedFiles(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path, bulk('y'), 0o600) },
		"cut":     func(path string) error { return os.Truncate(path, 10) },
		"gone":    os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := furnished(t)
			files, _ := filepath.Glob(filepath.Join(h.dir, "blobs", "chunks", "*", "*"))
			if err := damage(files[0]); err != nil {
				t.Fatal(err)
			}
			verifyCheck(t, h, "belongs to acct/desk/blob?snapshot=", false)
		})
	}
}

// The sweep after the start finds the same, so here it has to be over.
func TestCheckFindsFilesOfNobody(t *testing.T) {
	t.Parallel()
	h, _ := furnish(t, nil)
	h.Accept(bulk('o'))
	h.reopen()
	eventually(t, "the sweep", func() bool { return h.files() == 1 })
	files, _ := filepath.Glob(filepath.Join(h.dir, "blobs", "chunks", "*", "*"))
	stray := filepath.Join(filepath.Dir(files[0]), "0")
	if err := os.WriteFile(stray, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := h.Check(t.Context(), true)
	if err != nil || len(report.Problems) != 1 || report.Problems[0].String() != "file 0 belongs to no chunk (repaired)" {
		t.Errorf("Check = %v, %v", report.Problems, err)
	}
	h.wantFiles(1)
	h.checkClean()
}

func TestCheckReportsNoMoreThanAThousand(t *testing.T) {
	t.Parallel()
	h, ref := desk(t)
	h.fill(ref, "b-%04d", 1100)
	h.sql(`UPDATE blob_items SET size = 1`)
	report, err := h.Check(t.Context(), false)
	if err != nil || len(report.Problems) != 1000 || report.More != 100 {
		t.Errorf("Check = %d problems and %d more, %v", len(report.Problems), report.More, err)
	}
}

func TestCheckStops(t *testing.T) {
	h, _ := furnished(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Check(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("Check = %v, want %v", err, context.Canceled)
	}
}
