// Package fsutil makes changes to files durable, and one at a time, on every system.
package fsutil
