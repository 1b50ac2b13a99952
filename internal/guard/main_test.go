//go:build unix

package guard

import (
	"os"
	"testing"
)

// The test program takes the other two roles as well.
var (
	testGuardian = []string{"guard.test", "guardian"}
	testLauncher = []string{"guard.test", "launcher"}
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[0] == testGuardian[0] {
		switch os.Args[1] {
		case testGuardian[1]:
			os.Exit(Guardian(os.Args[2:], testLauncher))
		case testLauncher[1]:
			os.Exit(Launcher(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}
