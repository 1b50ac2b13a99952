// Package catalog keeps containers, blobs and snapshots: their rows in tables
// of their own in the engine's database, their bytes in package content.
//
// Every write goes through the engine's seam, so the check of a lease and the
// write that it guards are one atomic step, durable before it is answered for.
// Nothing here knows HTTP. What Azure has a code for comes back as a
// *azerr.Error; what a lease forbids comes back as a *LeaseError, because the
// doors name it differently.
//
// Three rules keep content safe without a lock over everything:
//
//   - Whoever changes a blob, its snapshots or its blocks holds the blob's lock
//     from reading the rows until the commit is durable. Whoever starts to read
//     content holds it shared until the manifest is pinned, and so does whoever
//     stages a block or takes a snapshot until that is durable: such rows stand
//     in nobody's way, and many of them share a commit.
//   - Only a blob and its snapshots share a manifest, so its lock covers it. A
//     copy takes both locks, and has pieces of its own that share the chunks.
//   - A manifest that was let go of is written down in the same commit, and
//     collected later, when no item has it and nobody reads it.
//
// A trap in the SQL: SQLite plans a statement anew whenever a bound LIMIT
// changes hands, which costs more than running it. "LIMIT ? + 0" is planned
// once.
package catalog
