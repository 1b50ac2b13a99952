//go:build !unix

package fsutil

// SyncDir does nothing: where directories cannot be synced, the system makes
// their names durable by itself.
func SyncDir(string) error { return nil }
