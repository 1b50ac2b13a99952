// Package soak gives long tests two lengths: a quick one, in which every check
// runs, for `make test`, and a long one, in which rare events turn up, for
// `make soak`.
package soak

import "os"

// Long reports whether `make soak` runs.
func Long() bool { return os.Getenv("LEASEHOLD_SOAK") != "" }

// Rounds returns long under `make soak`, else quick.
func Rounds(quick, long int) int {
	if Long() {
		return long
	}
	return quick
}
