// Package bench measures the embedded engine. Figures that depend on the machine
// are printed as ratios to a peer of the same run, because machines are noisy and
// differ. docs/performance.md has the results.
//
// The programs below it are modules of their own: peers compares with etcd, blob
// with azurite, readers measures what readers cost writers.
//
//	make bench
package bench
