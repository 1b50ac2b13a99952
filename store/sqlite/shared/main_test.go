package shared

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/internal/testchild"
)

// children are the programs. Each gets the path of a database, prints how it goes,
// and may fail by returning an error.
var children = map[string]func(path string) error{
	"compete": compete,
	"open":    openAndPrint,
	"engine":  openEngineAndPrint,
}

func init() {
	for name, program := range unixChildren {
		children[name] = program
	}
}

func TestMain(m *testing.M) {
	testchild.Main(children)
	goleak.VerifyTestMain(m)
}
