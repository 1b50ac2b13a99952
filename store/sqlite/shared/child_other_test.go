//go:build !unix

package shared

// unixChildren need a system with users and limits.
var unixChildren map[string]func(path string) error
