// Package sets tests leases on several resources and patterns from outside: the
// embedded engine against a model that is a plain list of leases and waiters, under
// concurrency, for deadlocks that are missed or invented, and for fairness; and what
// needs more than one store or process: crashes, shared files, moves.
package sets
