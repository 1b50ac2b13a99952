//go:build !unix

package content

// syncDir does nothing: where directories cannot be synced, the system makes
// their names durable by itself.
func syncDir(string) error { return nil }
