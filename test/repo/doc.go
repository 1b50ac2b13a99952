// Package repo holds the tests of the repository itself: its documents, deploy
// files and examples, the direction of its imports, and the words of its names.
package repo
