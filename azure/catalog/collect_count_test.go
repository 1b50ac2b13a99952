package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/store/sqlite"
)

// readAll reads all that the house has, by its name.
func (h *house) readAll(container catalog.Ref) map[string]string {
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
				h, ref := furnish(t, nil)
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
			h, ref := furnished(t)
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
	h, ref := desk(t)
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
	h, _ := furnish(t, nil)
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
	h := newHouse(t)
	for _, sql := range catalog.RemoveFree {
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
		h := &house{Catalog: c, t: t, dir: dir, store: store, bytes: chunks}
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
