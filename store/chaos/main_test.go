package chaos_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Hung and delayed calls are this package's business, so it watches for the
// goroutines that they could leave behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
