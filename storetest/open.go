package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// Open opens a store that can be opened, for a test: a server that is busy with others
// may take longer to answer than the store waits for it.
func Open[S leasehold.Store](t testing.TB, open func() (S, error)) S {
	t.Helper()
	s, err := open()
	for deadline := time.Now().Add(time.Minute); errors.Is(err, leasehold.ErrUnavailable) && time.Now().Before(deadline); {
		s, err = open()
	}
	if err != nil {
		t.Fatalf("opening = %v, want a store", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
