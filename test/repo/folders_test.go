package repo_test

import (
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maxGoFiles is how many Go files a folder may have, tests included: as many
// names as a reader can look through.
const maxGoFiles = 55

func TestFoldersAreSmall(t *testing.T) {
	files := repositoryFiles(t)
	if len(files) < 100 {
		t.Fatalf("found %d files; no folder was checked", len(files))
	}
	for _, problem := range largeFolders(files, maxGoFiles) {
		t.Error(problem)
	}
}

// largeFolders returns a line for each folder with more than most Go files.
func largeFolders(files []string, most int) (large []string) {
	counts := map[string]int{}
	for _, file := range files {
		if path.Ext(file) == ".go" {
			counts[path.Dir(file)]++
		}
	}
	for folder, n := range counts {
		if n > most {
			large = append(large, fmt.Sprintf("%s has %d Go files, want at most %d", folder, n, most))
		}
	}
	slices.Sort(large)
	return large
}

func TestLargeFolders(t *testing.T) {
	files := []string{"a.go", "b.go", "c.md", "x/a.go", "x/b.go", "x/c_test.go", "x/y/a.go", "x/y/a.sql"}
	for most, want := range map[int][]string{
		1: {". has 2 Go files, want at most 1", "x has 3 Go files, want at most 1"},
		2: {"x has 3 Go files, want at most 2"},
		3: nil,
	} {
		if diff := cmp.Diff(want, largeFolders(files, most)); diff != "" {
			t.Errorf("largeFolders(%d) differs (-want +got):\n%s", most, diff)
		}
	}
}
