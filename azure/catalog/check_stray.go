package catalog

import (
	"context"

	"github.com/leasehold/leasehold/engine"
)

// underway are containers whose deletion is under way: their rows go one after
// the other, so they need not agree.
const underway = `(SELECT id FROM blob_containers WHERE deleting)`

// checkStrays looks for rows of containers and blobs that are not there.
func (k *check) checkStrays(ctx context.Context) error {
	found, err := k.find(ctx, `SELECT container, count(*), name FROM blob_items
		WHERE container NOT IN (SELECT id FROM blob_containers) GROUP BY container, name`)
	err = k.reportAll(ctx, found, err, nil, "container %d does not exist, but has %d items named %q")
	if err != nil {
		return err
	}
	found, err = k.find(ctx, `SELECT container, count(*), name FROM blob_blocks
		WHERE container NOT IN (SELECT id FROM blob_containers) GROUP BY container, name`)
	drop := func(f finding) []engine.Statement { return dropBlocks(f.a, f.name) }
	err = k.reportAll(ctx, found, err, drop, "container %d does not exist, but has %d uncommitted blocks of %q")
	if err != nil {
		return err
	}
	found, err = k.find(ctx, `SELECT container, count(*), name FROM blob_blocks b WHERE container NOT IN `+underway+`
		AND NOT EXISTS (SELECT 1 FROM blob_items i WHERE i.container = b.container AND i.name = b.name AND i.snapshot = ?)
		AND container IN (SELECT id FROM blob_containers) GROUP BY container, name`, int64(Base))
	restore := func(f finding) []engine.Statement {
		now := k.clock.after(0)
		bare := &Item{Ref: Ref{Blob: f.name}, Kind: Block, Ticks: now, Created: now}
		return []engine.Statement{bare.add(f.a)}
	}
	return k.reportAll(ctx, found, err, restore, "container %d has %d uncommitted blocks of %q, which does not exist")
}

// checkTagsOfNobody looks for tags by which a blob would be found that is not
// there.
func (k *check) checkTagsOfNobody(ctx context.Context) error {
	const nobody = `NOT EXISTS (SELECT 1 FROM blob_items i
		WHERE i.container = blob_tags.container AND i.name = blob_tags.name AND i.snapshot = ? AND i.committed)`
	found, err := k.find(ctx, `SELECT container, count(*), name FROM blob_tags WHERE container NOT IN `+underway+` AND `+nobody+`
		GROUP BY container, name`, int64(Base))
	cure := func(f finding) []engine.Statement {
		return []engine.Statement{do(`DELETE FROM blob_tags WHERE container = ? AND name = ? AND `+nobody, f.a, f.name, int64(Base))}
	}
	return k.reportAll(ctx, found, err, cure, "container %d has %d tags of %q, which does not exist")
}

// checkManifests looks for pieces that nobody has, and for manifests and chunks
// that are not whose they should be.
func (k *check) checkManifests(ctx context.Context) error {
	found, err := k.find(ctx, `SELECT manifest, count(*), '' FROM blob_pieces
		WHERE manifest NOT IN (SELECT manifest FROM blob_dropped) AND manifest NOT IN (SELECT manifest FROM blob_items)
		GROUP BY manifest`)
	drop := func(f finding) []engine.Statement {
		return []engine.Statement{do(`INSERT OR IGNORE INTO blob_dropped (manifest, container, name) VALUES (?, 0, '')`, f.a)}
	}
	if err = k.reportAll(ctx, found, err, drop, "manifest %d has %d pieces and belongs to no item%s"); err != nil {
		return err
	}
	found, err = k.find(ctx, `SELECT manifest, count(*), min(name) FROM (SELECT DISTINCT manifest, container, name FROM blob_items WHERE manifest <> 0)
		GROUP BY manifest HAVING count(*) > 1`)
	if err = k.reportAll(ctx, found, err, nil, "manifest %d belongs to %d blobs, one of them %q"); err != nil {
		return err
	}
	found, err = k.find(ctx, `SELECT chunk, count(*), '' FROM (SELECT chunk FROM blob_pieces UNION ALL SELECT chunk FROM blob_blocks)
		WHERE chunk NOT IN (SELECT id FROM blob_chunks) GROUP BY chunk`)
	return k.reportAll(ctx, found, err, nil, "chunk %d does not exist, but %d pieces or blocks refer to it%s")
}

// checkRefs counts the references to every chunk.
func (k *check) checkRefs(ctx context.Context) error {
	found, err := k.find(ctx, `SELECT c.id, c.refs, coalesce(real.n, 0) FROM blob_chunks c LEFT JOIN
		(SELECT chunk, count(*) AS n FROM (SELECT chunk FROM blob_pieces UNION ALL SELECT chunk FROM blob_blocks) GROUP BY chunk) AS real
		ON real.chunk = c.id WHERE c.refs <> coalesce(real.n, 0)`)
	if err != nil || len(found) == 0 {
		return err
	}
	wrong := make([]int64, len(found))
	for i, f := range found {
		wrong[i] = f.a
		k.note(k.repair, "chunk %d counts %d references and has %s", f.a, f.b, f.name)
	}
	if !k.repair {
		return nil
	}
	return k.settle(ctx, do(`WITH wrong AS MATERIALIZED (SELECT value AS id FROM json_each(?)),
		real AS MATERIALIZED (SELECT chunk, count(*) AS n FROM (SELECT chunk FROM blob_pieces UNION ALL SELECT chunk FROM blob_blocks)
			WHERE chunk IN (SELECT id FROM wrong) GROUP BY chunk)
		UPDATE blob_chunks SET refs = coalesce((SELECT n FROM real WHERE chunk = blob_chunks.id), 0) WHERE id IN (SELECT id FROM wrong)`, encodeText(wrong)))
}
