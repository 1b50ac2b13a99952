// Package process runs programs for tests, and waits for what they do.
package process

import "strings"

// T is the part of testing.TB that is used here. Package testing itself registers
// flags in every program that imports it.
type T interface {
	Helper()
	TempDir() string
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// RaceOptions is for GORACE: it spares the second that a program built with the
// race detector sleeps before it exits.
const RaceOptions = "atexit_sleep_ms=10"

// ServerURL returns the URL in the first line that leasehold serve prints, "" in
// another line.
func ServerURL(line string) string {
	url, ok := strings.CutPrefix(line, "JSON API ")
	if !ok {
		return ""
	}
	return strings.TrimSpace(url)
}
