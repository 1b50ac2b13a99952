package sets

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// childEnv makes this test binary the process that is killed.
const childEnv = "LEASEHOLD_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		goleak.VerifyTestMain(m) // exits
	}
	if err := hammer(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	syscall.Exit(1) // it is killed before
}
