package auth

import (
	"fmt"
	"os"
	"testing"
)

// childFile, when set, makes the test binary another process that creates
// tokens in that file.
const childFile = "LEASEHOLD_TEST_TOKEN_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		for i := range childTokens {
			if _, err := CreateToken(path, TokenSpec{Name: fmt.Sprintf("p%d-%d", os.Getpid(), i), Roles: reader}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const childTokens = 5
