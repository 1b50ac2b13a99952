// Package sqlite is the default store: the embedded engine of package local
// with one SQLite file as its journal, without cgo.
//
// What it promises. An answer is given only when all that it tells of is in the
// file and synced (with DurabilityFull), so that neither kill -9 nor a power cut
// takes anything back. After a write or a sync that failed, no handle is
// trusted: the file is closed, opened anew and read again before anything more
// is decided.
//
// What it asks for. The file belongs to one process at a time; a second one is
// refused, with a message that names the first. The file, its companions
// (FILE-wal, FILE-shm, FILE.lock) and its backups hold lease ids, which are
// secrets: they are made readable by their owner only. The file must be on a
// local disk: network file systems keep neither locks nor syncs as promised.
//
// Other programs may read the file while it is in use. They must not write to
// it: the engine keeps its rows in memory and would never see the change.
package sqlite
