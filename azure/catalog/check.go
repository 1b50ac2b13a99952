package catalog

import (
	"context"
	"fmt"

	"github.com/leasehold/leasehold/engine"
)

// Report is what a check of everything found.
type Report struct {
	Containers, Blobs, Snapshots, Blocks, Chunks int64 // how many there are; blocks are the uncommitted ones
	Bytes                                        int64 // in chunks
	Problems                                     []Problem
	More                                         int64 // problems beyond the first thousand
}

// maxProblems bounds a report.
const maxProblems = 1000

// Problem is something that is not as it should be.
type Problem struct {
	What     string
	Repaired bool
}

func (p Problem) String() string {
	if p.Repaired {
		return p.What + " (repaired)"
	}
	return p.What
}

// check is one check under way.
type check struct {
	*Catalog
	repair bool
	report Report
}

// Check verifies that all rows agree with each other and with the content, and
// reads every byte. Repair sets right what can be set right without losing
// data: counts of references, tags, leftovers of what was deleted, files that no
// row knows. The rest is only reported: damaged or missing content, and rows
// that contradict each other.
//
// It may run while the catalog is in use: each statement sees one moment, and
// each blob is looked at under its lock.
func (c *Catalog) Check(ctx context.Context, repair bool) (Report, error) {
	k := &check{Catalog: c, repair: repair}
	for _, part := range []func(context.Context) error{
		k.countRows, k.checkStrays, k.checkStrayTags, k.checkManifests, k.checkRefs, k.checkBlobs, k.checkChunks, k.checkFiles,
	} {
		if err := part(ctx); err != nil {
			return k.report, fmt.Errorf("blob catalog: check: %w", err)
		}
	}
	if repair {
		return k.report, c.collect(ctx)
	}
	return k.report, nil
}

// found notes a problem. In a repair the statements, if any, set it right first.
func (k *check) found(ctx context.Context, statements []engine.Statement, format string, args ...any) error {
	repaired := k.repair && len(statements) > 0
	if repaired {
		if err := k.commitRows(ctx, statements...); err != nil {
			return err
		}
	}
	k.note(repaired, format, args...)
	return nil
}

func (k *check) note(repaired bool, format string, args ...any) {
	if len(k.report.Problems) == maxProblems {
		k.report.More++
		return
	}
	k.report.Problems = append(k.report.Problems, Problem{What: fmt.Sprintf(format, args...), Repaired: repaired})
}

func (k *check) countRows(ctx context.Context) error {
	_, err := k.queryOne(ctx, sqlCountRows, []any{int64(Base)}, func(r engine.Columns) {
		k.report.Containers, k.report.Blobs, k.report.Snapshots = r.Int64(0), r.Int64(1), r.Int64(2)
		k.report.Blocks, k.report.Chunks, k.report.Bytes = r.Int64(3), r.Int64(4), r.Int64(5)
	})
	return err
}

// finding is a row that a statement found to be wrong.
type finding struct {
	a, b int64
	name string
}

// find returns rows of two numbers and a name.
func (k *check) find(ctx context.Context, sql string, args ...any) ([]finding, error) {
	var found []finding
	err := k.engine.Query(ctx, sql, args, func(r engine.Columns) error {
		found = append(found, finding{r.Int64(0), r.Int64(1), r.Text(2)})
		return nil
	})
	return found, err
}

// reportAll notes each finding, with what would set it right.
func (k *check) reportAll(ctx context.Context, found []finding, err error, cure func(finding) []engine.Statement, format string) error {
	for _, f := range found {
		if err != nil {
			break
		}
		var statements []engine.Statement
		if cure != nil {
			statements = cure(f)
		}
		err = k.found(ctx, statements, format, f.a, f.b, f.name)
	}
	return err
}

// checkStrays looks for rows of containers and blobs that do not exist.
func (k *check) checkStrays(ctx context.Context) error {
	found, err := k.find(ctx, sqlStrayItems)
	err = k.reportAll(ctx, found, err, nil, "container %d does not exist, but has %d items named %q")
	if err != nil {
		return err
	}
	found, err = k.find(ctx, sqlStrayBlocks)
	drop := func(f finding) []engine.Statement { return dropBlocks(f.a, f.name) }
	err = k.reportAll(ctx, found, err, drop, "container %d does not exist, but has %d uncommitted blocks of %q")
	if err != nil {
		return err
	}
	found, err = k.find(ctx, sqlBlocksWithoutItem, int64(Base))
	restore := func(f finding) []engine.Statement {
		return []engine.Statement{addStaged(f.a, f.name, k.clock.after(0))}
	}
	return k.reportAll(ctx, found, err, restore, "container %d has %d uncommitted blocks of %q, which does not exist")
}

// checkStrayTags looks for tags by which a blob would be found that does not
// exist.
func (k *check) checkStrayTags(ctx context.Context) error {
	found, err := k.find(ctx, sqlStrayTags, int64(Base))
	cure := func(f finding) []engine.Statement {
		return []engine.Statement{statement(sqlDeleteStrayTags, f.a, f.name, int64(Base))}
	}
	return k.reportAll(ctx, found, err, cure, "container %d has %d tags of %q, which does not exist")
}

// checkManifests looks for pieces that no item has, manifests that several blobs
// have, and chunks that do not exist.
func (k *check) checkManifests(ctx context.Context) error {
	found, err := k.find(ctx, sqlStrayPieces)
	drop := func(f finding) []engine.Statement {
		return []engine.Statement{statement(sqlDropStrayManifest, f.a)}
	}
	if err = k.reportAll(ctx, found, err, drop, "manifest %d has %d pieces and belongs to no item%s"); err != nil {
		return err
	}
	found, err = k.find(ctx, sqlSharedManifests)
	if err = k.reportAll(ctx, found, err, nil, "manifest %d belongs to %d blobs, one of them %q"); err != nil {
		return err
	}
	found, err = k.find(ctx, sqlMissingChunks)
	return k.reportAll(ctx, found, err, nil, "chunk %d does not exist, but %d pieces or blocks refer to it%s")
}

// checkRefs counts the references to every chunk.
func (k *check) checkRefs(ctx context.Context) error {
	found, err := k.find(ctx, sqlWrongRefs)
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
	return k.commitRows(ctx, statement(sqlRepairRefs, encodeText(wrong)))
}
