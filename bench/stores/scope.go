package main

import (
	"fmt"
	"os"
)

// scope is what a server's life is bound to, as a test is in tests.
type scope struct {
	dir       string
	leasehold string // the built program
	cleanups  []func()
}

// failure is how Fatalf and Skipf leave the function that called them.
type failure struct{ error }

func newScope(leasehold string) (*scope, error) {
	dir, err := os.MkdirTemp("", "leasehold-bench-stores")
	return &scope{dir: dir, leasehold: leasehold}, err
}

// close ends what was started, the last first, and turns a failure into an error.
func (s *scope) close(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.error
	default:
		defer panic(r)
	}
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
	_ = os.RemoveAll(s.dir)
}

func (s *scope) Helper()             {}
func (s *scope) Cleanup(f func())    { s.cleanups = append(s.cleanups, f) }
func (s *scope) Logf(string, ...any) {}

func (s *scope) TempDir() string {
	dir, err := os.MkdirTemp(s.dir, "")
	if err != nil {
		panic(failure{err})
	}
	return dir
}

func (s *scope) Skipf(format string, args ...any)  { panic(failure{fmt.Errorf(format, args...)}) }
func (s *scope) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }
