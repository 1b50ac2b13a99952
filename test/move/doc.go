// Package move has tests of leasehold move: the real program between real stores,
// under load, killed again and again.
package move
