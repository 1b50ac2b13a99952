package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/store/sqlite"
)

// populated is a harness with a bit of everything in it. Nothing runs there by
// itself: the collector would set right some of what a test has damaged.
func populated(t *testing.T) (*harness, catalog.Ref) {
	t.Helper()
	return populatedWith(t, &catalog.Options{Idle: true})
}

func populatedWith(t *testing.T, o *catalog.Options) (*harness, catalog.Ref) {
	t.Helper()
	h := newHarnessWith(t, o)
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
	h, _ := populated(t)
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
			h, _ := populated(t)
			h.sql(c.sql)
			verifyCheck(t, h, c.want, c.repaired)
		})
	}
}

// verifyCheck looks for a problem, and whether it is there after the repair.
func verifyCheck(t *testing.T, h *harness, want string, repaired bool) {
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
			h, _ := populated(t)
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
	h, _ := populatedWith(t, nil)
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
	h, ref := newContainer(t)
	h.fill(ref, "b-%04d", 1100)
	h.sql(`UPDATE blob_items SET size = 1`)
	report, err := h.Check(t.Context(), false)
	if err != nil || len(report.Problems) != 1000 || report.More != 100 {
		t.Errorf("Check = %d problems and %d more, %v", len(report.Problems), report.More, err)
	}
}

func TestCheckStops(t *testing.T) {
	h, _ := populated(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Check(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("Check = %v, want %v", err, context.Canceled)
	}
}

// readAll reads all that the harness has, by its name.
func (h *harness) readAll(container catalog.Ref) map[string]string {
	h.t.Helper()
	container.Blob = ""
	page, err := h.List(h.t.Context(), container, catalog.ListRequest{Snapshots: true, Max: 100})
	if err != nil {
		h.t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range page.Entries {
		all[e.Blob+"@"+e.Snapshot.String()] = string(h.read(e.Ref))
	}
	return all
}

// countDamages are all the ways in which counts of references can be wrong. Each
// is on disk before the collector looks.
var countDamages = map[string]string{
	"one too few":       `UPDATE blob_chunks SET refs = refs - 1`,
	"none":              `UPDATE blob_chunks SET refs = 0`,
	"negative":          `UPDATE blob_chunks SET refs = -5`,
	"as low as it goes": `UPDATE blob_chunks SET refs = -9223372036854775808`,
	"one for many":      `UPDATE blob_chunks SET refs = 1`,
	"one too many":      `UPDATE blob_chunks SET refs = refs + 1`,
	"far too many":      `UPDATE blob_chunks SET refs = 9223372036854775807`,
	"no number":         `UPDATE blob_chunks SET refs = 'x'`,
	"only some":         `UPDATE blob_chunks SET refs = 0 WHERE id % 2 = 0`,
}

// However the counts are wrong, the collector deletes nothing that a piece or a
// block refers to, and a check finds and repairs what it has left wrong.
func TestWrongCountsCostNoContent(t *testing.T) {
	t.Parallel()
	for name, damage := range countDamages {
		for _, restarted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h, ref := populatedWith(t, nil)
				twin := ref
				twin.Blob = "twin" // it shares the chunk with the blob
				h.copy(twin, catalog.CopyRequest{Source: ref})
				files, want := h.files(), h.readAll(ref)
				h.sql(damage)
				if restarted {
					h.reopen()
				}
				h.collect()
				if got := h.readAll(ref); !maps.Equal(got, want) || h.files() != files {
					t.Fatalf("after the collection %d blobs are as they were: %v, of %d; %d files of %d", len(got), maps.Equal(got, want), len(want), h.files(), files)
				}
				h.remove(ref, ref.Blob, catalog.DeleteInclude) // its chunk is the twin's, too
				h.collect()
				if got := h.read(twin); !bytes.Equal(got, bulk('x')) {
					t.Errorf("after the blob was deleted its twin has %d bytes", len(got))
				}
				staged := ref
				staged.Blob = "staged"
				h.commit(staged, catalog.BlockRef{ID: "AAAA", From: catalog.Uncommitted})
				if got := h.read(staged); string(got) != "x" {
					t.Errorf("the staged block reads %q", got)
				}
				if _, err := h.Check(t.Context(), true); err != nil {
					t.Fatal(err)
				}
				h.checkClean()
				h.remove(ref, twin.Blob, catalog.DeleteBase)
				h.collect()
				h.wantFiles(0)
				h.checkClean()
			})
		}
	}
}

// A check says which counts are wrong, and sets them right without losing
// anything.
func TestCheckRepairsCounts(t *testing.T) {
	t.Parallel()
	for name, damage := range countDamages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, ref := populated(t)
			twin := ref
			twin.Blob = "twin"
			h.copy(twin, catalog.CopyRequest{Source: ref})
			want := h.readAll(ref)
			h.sql(damage)
			verifyCheck(t, h, "references", true)
			h.collect()
			if got := h.readAll(ref); !maps.Equal(got, want) {
				t.Errorf("after the repair %d blobs are not as they were", len(got))
			}
		})
	}
}

// While blobs are copied, overwritten and deleted, wrong counts of what they share
// cost none of them its content.
func TestWrongCountsUnderLoad(t *testing.T) {
	t.Parallel()
	h, ref := newContainer(t)
	if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('x')), catalog.Access{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var background sync.WaitGroup
	background.Go(func() {
		for ctx.Err() == nil {
			err := h.store.Do(context.WithoutCancel(ctx), "blob:rows", func(engine.View) (engine.Decision, error) {
				return engine.Decision{Extras: []engine.Statement{{SQL: `UPDATE blob_chunks SET refs = min(refs, 0)`}}}, nil
			})
			if err = errors.Join(err, h.Collect(context.WithoutCancel(ctx))); err != nil {
				t.Errorf("collecting: %v", err)
				return
			}
		}
	})
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			own := ref
			own.Blob = "copy" + string(rune('a'+w))
			for range 15 {
				if _, err := h.Copy(t.Context(), own, catalog.CopyRequest{Source: ref}, catalog.Access{}); err != nil {
					t.Errorf("Copy = %v", err)
					return
				}
				var b bytes.Buffer
				k, err := h.Get(t.Context(), own, catalog.Access{})
				if err == nil {
					err = k.WriteTo(t.Context(), &b, 0, k.Size)
					k.Close()
				}
				if err != nil || !bytes.Equal(b.Bytes(), bulk('x')) {
					t.Errorf("a copy reads %d bytes, %v", b.Len(), err)
				}
				if err := h.Delete(t.Context(), own, catalog.DeleteBase, catalog.Access{}); err != nil {
					t.Errorf("Delete = %v", err)
				}
			}
		})
	}
	workers.Wait()
	stop()
	background.Wait()
	if got := h.read(ref); !bytes.Equal(got, bulk('x')) {
		t.Errorf("the blob reads %d bytes", len(got))
	}
	if _, err := h.Check(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	h.checkClean()
}

// A file whose row is lost is kept as long as something refers to it.
func TestSweepKeepsWhatIsReferredTo(t *testing.T) {
	t.Parallel()
	h, _ := populatedWith(t, nil)
	files := h.files()
	h.sql(`DELETE FROM blob_chunks WHERE data IS NULL`)
	h.Accept(bulk('o')) // of nobody: it shows that the sweep is over
	h.reopen()
	eventually(t, "the sweep", func() bool { return h.files() <= files })
	if _, err := h.Check(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	h.wantFiles(files)
}

// The collector asks who refers to a chunk by index: it must cost the same in a
// store of a million blobs, since commits wait for it.
func TestCollectorScansNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, sql := range catalog.DeleteFree {
		steps := 0
		err := h.store.Query(t.Context(), "EXPLAIN QUERY PLAN "+sql, []any{"[1]"}, func(r engine.Columns) error {
			step := r.Text(3)
			if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "json_each") {
				t.Errorf("%s\nreads a whole table: %s", sql, step)
			}
			steps++
			return nil
		})
		if err != nil || steps == 0 {
			t.Errorf("EXPLAIN = %d steps, %v", steps, err)
		}
	}
}

// A store of before the collector asked is opened, and collected, as any other.
func TestReferrersAreIndexedInOldStores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := catalog.Module()
	old.Migrations = old.Migrations[:1]
	ref := catalog.Ref{Account: "acct", Container: "desk", Blob: "blob"}
	for _, module := range []engine.Module{old, catalog.Module()} {
		store, err := sqlite.Open(t.Context(), filepath.Join(dir, "leases.db"), &sqlite.Options{Modules: []engine.Module{module}})
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := content.Open(filepath.Join(dir, "blobs"), nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := catalog.Open(t.Context(), store, chunks, nil)
		if err != nil {
			t.Fatal(err)
		}
		h := &harness{Catalog: c, t: t, dir: dir, store: store, bytes: chunks}
		if len(module.Migrations) == 1 {
			h.container(ref)
			if _, err := h.PutBlob(t.Context(), ref, catalog.New{}, h.Accept(bulk('x')), catalog.Access{}); err != nil {
				t.Fatal(err)
			}
		}
		h.sql(`UPDATE blob_chunks SET refs = 0`)
		h.collect()
		if got := h.read(ref); !bytes.Equal(got, bulk('x')) {
			t.Errorf("the blob reads %d bytes", len(got))
		}
		h.checkClean()
		h.close()
	}
}
