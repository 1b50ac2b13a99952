// Package manager tests the Manager from outside, on the embedded engine: what
// it promises to a program that knows only the exported API. Tests that need its
// clock or its limits stand beside its code.
package manager
