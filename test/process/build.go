package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// sources lists the folders and embedded files of this module's packages.
const sources = "{{with .Module}}{{if .Main}}{{$.Dir}}\n{{range $.EmbedFiles}}{{$.Dir}}/{{.}}\n{{end}}{{end}}{{end}}"

// Build builds a program of this module. It opens what the program is built from:
// so the go command runs a test again after a change of the program, where it
// would else repeat the cached result.
func Build(program, out string) error {
	list, err := exec.Command("go", "list", "-deps", "-f", sources, program).Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w", program, err)
	}
	for path := range strings.Lines(string(list)) {
		if path = strings.TrimSpace(path); path == "" {
			continue
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		file.Close()
	}
	// The flags of make build, so that its packages are compiled already.
	if text, err := exec.Command("go", "build", "-buildvcs=false", "-o", out, program).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	return nil
}
