// Package fsutil makes changes to files durable, on every system.
package fsutil
