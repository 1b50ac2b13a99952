// Package dbfile is the SQLite file as both of its modes see it: the embedded
// engine's, which has the file alone, and the shared one, in which several
// processes take turns.
//
// file.go, lock.go and migrate.go open the file, lock it and bring its schema up
// to date; errors.go says what is wrong with a file in words. row.go converts rows
// and records to columns and back, writer.go writes them, history.go reads the
// history; sql.go embeds the statements of sql/.
package dbfile
