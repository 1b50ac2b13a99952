package sets

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/internal/testchild"
)

func TestMain(m *testing.M) {
	testchild.Main(map[string]func(path string) error{"hammer": hammer})
	goleak.VerifyTestMain(m)
}
