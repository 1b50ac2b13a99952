package sqlite

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/internal/testchild"
)

// children are the programs. Each gets the path of a database, prints how it
// goes, and may fail by returning an error.
var children = map[string]func(path string) error{
	"hammer": hammer,
	"open":   openAndPrint,
}

func TestMain(m *testing.M) {
	testchild.Main(children)
	goleak.VerifyTestMain(m)
}

// openAndPrint prints how opening the store goes.
func openAndPrint(path string) error {
	s, err := Open(context.Background(), path, nil)
	if err != nil {
		fmt.Println(err)
		return nil
	}
	fmt.Println("opened")
	return s.Close()
}
