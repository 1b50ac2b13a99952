// Package bench measures the embedded engine. Every figure that depends on the
// machine is printed as a ratio to a peer measured in the same run, because
// machines are noisy and differ; the findings are in docs/performance.md.
//
//	make bench
package bench
