package hook

import (
	"errors"
	"fmt"
	"strings"
)

const patchStart = "*** Begin Patch"

// patchHeaders begin the lines that name a file.
var patchHeaders = []string{"*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "}

// patchFiles returns the files that a patch of apply_patch touches: those that it adds,
// updates and deletes, and where it moves them to. The text may be a shell command with
// the patch in it.
//
// The lines of a file's new content begin with +, - or a space, so no content looks like
// a header at the start of a line. Codex allows spaces before a header, as this does: a
// line of context that looks like one costs a lease too many, while a header that is
// overlooked would let an edit through.
func patchFiles(patch string) ([]string, error) {
	_, body, ok := strings.Cut(patch, patchStart)
	if !ok {
		return nil, errors.New("the patch has no line " + patchStart)
	}
	var files []string
	for line := range strings.Lines(body) {
		file, isHeader := patchHeader(line)
		if !isHeader {
			continue
		}
		if file == "" {
			return nil, fmt.Errorf("the patch has a line without a file: %.64q", strings.TrimSpace(line))
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, errors.New("the patch names no file")
	}
	return files, nil
}

// patchHeader returns the file that a line of a patch names.
func patchHeader(line string) (file string, ok bool) {
	line = strings.TrimSpace(line)
	for _, header := range patchHeaders {
		if file, ok := strings.CutPrefix(line+" ", header); ok {
			return strings.TrimSpace(file), true
		}
	}
	return "", false
}
