package auth

import (
	"io/fs"
	"os"
)

// checkMode has nothing to check: on Windows the mode says nothing about who may
// read. Keep the file in a directory that is yours.
func checkMode(fs.FileInfo, bool) error { return nil }

// copyOwner has nothing to do: a new file has the rights of its directory.
func copyOwner(*os.File, fs.FileInfo) error { return nil }
