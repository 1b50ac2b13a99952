// Package postgres keeps leases in PostgreSQL 13 or later, so that several servers
// and programs share them.
//
// Each operation is one statement where the store still knows the row, else one read
// and one statement, else one short transaction; see package sqltx. The server's
// clock_timestamp() decides when a lease ends, read after the row is locked. Tokens
// come from a sequence. A release notifies waiters of other servers by NOTIFY, but
// only where somebody waits.
//
// It keeps no state in a session, so it works behind PgBouncer in transaction mode.
// LISTEN does not pass there: Options.Listen names the server itself.
//
// What it cannot do: a failover to a replica that is not synchronous can lose the
// last grants, and with them the order of tokens. See docs/stores/postgres.md.
package postgres
