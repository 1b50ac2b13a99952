//go:build !unix

package shared

import (
	"errors"
	"os"
)

// There is no queue here: whoever waits tries from time to time.
func lockTurn(*os.File, bool) error { return errors.ErrUnsupported }

func unlockTurn(*os.File) error { return nil }
