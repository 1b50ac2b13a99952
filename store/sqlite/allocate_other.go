//go:build !linux

package sqlite

import "os"

// allocate makes a file take up size bytes of the disk.
func allocate(file *os.File, size int64) error { return fillUp(file, size) }
