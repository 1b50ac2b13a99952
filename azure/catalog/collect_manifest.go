package catalog

import (
	"context"

	"github.com/leasehold/leasehold/engine"
)

const (
	droppedBite = 1000 // how many manifests are looked at together
	pieceBite   = 2000 // how many pieces are deleted in one commit
)

// dropped is a manifest that an item has let go of.
type dropped struct {
	manifest  int64
	container int64
	name      string
	used      bool  // another item of that name has it
	pieces    int64 // no more are counted than pieceBite and one
}

// collectManifests deletes the pieces of manifests that were let go of and that
// no item has. Those that are being read are left for later.
func (c *Catalog) collectManifests(ctx context.Context) error {
	for after := int64(0); ; {
		found, err := c.droppedAfter(ctx, after)
		if err != nil || len(found) == 0 {
			return err
		}
		statements, next := c.planCollection(found, after)
		if len(statements) > 0 {
			if err := c.settle(ctx, statements...); err != nil {
				return err
			}
		}
		after = next
	}
}

func (c *Catalog) droppedAfter(ctx context.Context, after int64) ([]dropped, error) {
	const sql = `SELECT d.manifest, d.container, d.name,
			EXISTS (SELECT 1 FROM blob_items i WHERE i.container = d.container AND i.name = d.name AND i.manifest = d.manifest),
			(SELECT count(*) FROM (SELECT 1 FROM blob_pieces p WHERE p.manifest = d.manifest LIMIT ? + 0))
		FROM blob_dropped d WHERE d.manifest > ? ORDER BY d.manifest LIMIT ? + 0`
	var found []dropped
	err := c.engine.Query(ctx, sql, []any{int64(pieceBite + 1), after, int64(droppedBite)}, func(r engine.Columns) error {
		found = append(found, dropped{r.Int64(0), r.Int64(1), r.Text(2), r.Int64(3) != 0, r.Int64(4)})
		return nil
	})
	return found, err
}

// planCollection returns what one commit deletes, and after which manifest to
// go on.
//
// That no item has a manifest stays true for ever: an item gets one that is new,
// or that of its base. And whoever reads it has pinned it before the last item
// went, so pins are asked now, after the items.
func (c *Catalog) planCollection(found []dropped, after int64) (statements []engine.Statement, next int64) {
	left := int64(pieceBite)
	var whole []int64
	for _, d := range found {
		switch {
		case d.used:
			statements = append(statements, d.reprieve())
		case c.pins.want(d.manifest):
			// its last reader wakes the collector
		case d.pieces <= left:
			whole = append(whole, d.manifest)
			left -= d.pieces
		case left < pieceBite:
			return append(statements, removeAll(whole)...), after
		default:
			return append(append(statements, removeAll(whole)...), d.removeSome()...), after
		}
		after = d.manifest
	}
	return append(statements, removeAll(whole)...), after
}

// removeAll deletes manifests with all their pieces and references. It takes
// three statements however many they are: most are of one piece, and were let go
// of by blobs that are written again and again. To do it twice does no harm.
func removeAll(manifests []int64) []engine.Statement {
	if len(manifests) == 0 {
		return nil
	}
	list := encodeText(manifests)
	return []engine.Statement{
		do(`UPDATE blob_chunks SET refs = refs - gone.n
			FROM (SELECT chunk, count(*) AS n FROM blob_pieces WHERE manifest IN (SELECT value FROM json_each(?)) GROUP BY chunk) AS gone
			WHERE id = gone.chunk`, list),
		do(`DELETE FROM blob_pieces WHERE manifest IN (SELECT value FROM json_each(?))`, list),
		do(`DELETE FROM blob_dropped WHERE manifest IN (SELECT value FROM json_each(?))`, list),
	}
}

// reprieve strikes the manifest off the list, if an item still has it when this
// is carried out: that item will put it there again.
func (d dropped) reprieve() engine.Statement {
	return do(`DELETE FROM blob_dropped WHERE manifest = ?1
		AND EXISTS (SELECT 1 FROM blob_items WHERE container = ?2 AND name = ?3 AND manifest = ?1)`, d.manifest, d.container, d.name)
}

// removeSome deletes up to pieceBite pieces of a large manifest with their
// references, and the manifest from the list after the last.
func (d dropped) removeSome() []engine.Statement {
	bite := int64(pieceBite)
	return []engine.Statement{
		do(`UPDATE blob_chunks SET refs = refs - gone.n
			FROM (SELECT chunk, count(*) AS n FROM (SELECT chunk FROM blob_pieces WHERE manifest = ? ORDER BY start LIMIT ? + 0) GROUP BY chunk) AS gone
			WHERE id = gone.chunk`, d.manifest, bite),
		do(`DELETE FROM blob_pieces WHERE manifest = ?1 AND start IN
			(SELECT start FROM blob_pieces WHERE manifest = ?1 ORDER BY start LIMIT ?2 + 0)`, d.manifest, bite),
		do(`DELETE FROM blob_dropped WHERE manifest = ?1 AND NOT EXISTS (SELECT 1 FROM blob_pieces WHERE manifest = ?1)`, d.manifest),
	}
}
