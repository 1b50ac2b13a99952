package surreal

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/internal/testserver"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, testserver.Leaks()...)
}
