// Package content keeps immutable chunks of bytes for the blobs of the Azure API.
//
// It knows neither SQL nor HTTP. A chunk is written once and never changes;
// what it belongs to is a row in the caller's database, committed after Write
// has made the bytes durable. So the order of things is always
//
//	write the bytes, commit the row, …, delete the row, remove the bytes
//
// and a crash in between leaves at worst bytes that no row knows. Orphans finds
// those; a row without its bytes is damage.
//
// Chunks of up to InlineLimit bytes get no file: they come back in Chunk.Inline,
// and the caller writes them with the row, which saves two syncs.
//
//	dir/chunks/<id/1000>/<id>   a chunk, mode 0600
//	dir/tmp/                    what is still being written; emptied by Open
//
// A directory belongs to one Store of one process at a time. Package content
// has no lock file of its own: the database beside it has one.
package content
