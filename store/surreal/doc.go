// Package surreal keeps leases in SurrealDB 2 or later.
//
//	db, err := surrealdb.FromEndpointURLString(ctx, "ws://127.0.0.1:8000")
//	// … db.SignIn, db.Use
//	store, err := surreal.New(ctx, db, nil)
//
// or, with a connection of its own that comes back after it was lost:
//
//	store, err := surreal.Open(ctx, &surreal.Options{Address: "127.0.0.1:8000", Username: "root", Password: "…"})
//
// A lease is a record of the table leases, one per resource. Package cas does the
// work: each operation reads the record, lets package machine decide, and writes in
// one transaction that checks that the record and the settings are still what they
// were. SurrealDB's own time::now() decides when a lease ends. Several programs on
// one database see the same leases, and a live query wakes waiters of the others.
//
// The limits of truth: leases end by the clock of the server that executes a
// statement. With several SurrealDB servers on one cluster of TiKV or FoundationDB,
// their clocks must agree as well as the shortest margin of your leases.
//
// How the package is organised:
//
//   - surql/: the definitions and statements. Values are always parameters.
//   - conn.go, link.go: a connection that comes back. query.go: how a statement is
//     run; failure.go: what an error means.
//   - record.go: a lease as a record. backend.go, holder.go, settings.go: what package
//     cas needs. history.go, number.go, purge.go: the history. notify.go: live queries.
package surreal
