package gitguard

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Names are the hooks of the guard.
var Names = []string{"pre-commit", "pre-push"}

// KeptSuffix is appended to the name of a hook that was there before.
const KeptSuffix = ".before-leasehold"

// Options say what the hooks run. The zero value is leasehold on its default store,
// which lets a commit pass while it cannot ask.
type Options struct {
	Program    string // path of the program for a PATH that does not have it; empty: none
	Store      string // its --store; empty: that of the environment
	FailClosed bool   // refuse while the server cannot be asked
}

//go:embed hook.sh
var template string

// marker is the second line of a script of the guard. The sum is that of all lines
// below: whether somebody edited them. It is compiled when it is needed: hooks of coding
// agents start this program at every edit.
var marker = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#!/bin/sh\n# leasehold guard ([0-9a-f]{16}) .*\n`) })

// script returns the hook. Kept says how the hook from before is run; empty if its own
// first line says so.
func (o Options) script(name, shell string) []byte {
	missing := "exit 0"
	if o.FailClosed {
		missing = "exit 69"
	}
	flags := ""
	if o.FailClosed {
		flags = " --fail-closed"
	}
	if o.Store != "" {
		flags += " --store " + quote(o.Store)
	}
	kept := `"$kept" "$@"`
	if shell != "" {
		// Some hooks look at $0 for their name and their folder. This is how a shell
		// runs a file under another name.
		kept = `LEASEHOLD_KEPT="$kept" ` + shell + ` -c '. "$LEASEHOLD_KEPT"' "$0" "$@"`
	}
	read, feed := "", ""
	if name == "pre-push" { // git writes to it, and both programs read all of it
		read = "input=$(cat && echo .) # the dot keeps the line breaks at the end\n"
		feed = `printf '%s' "${input%.}" | `
	}
	body := strings.NewReplacer(
		"{{name}}", name, "{{kept}}", kept, "{{suffix}}", KeptSuffix, "{{program}}", quote(o.Program),
		"{{read}}", read, "{{feed}}", feed, "{{flags}}", flags, "{{missing}}", missing,
	).Replace(template)
	return fmt.Appendf(nil, "#!/bin/sh\n# leasehold guard %s (leasehold guard uninstall removes it)\n%s", sum([]byte(body)), body)
}

func sum(body []byte) string {
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:8])
}

// owned says whether a hook is one of the guard, and whether it is as it was written.
func owned(content []byte) (ours, intact bool) {
	m := marker().FindSubmatch(content)
	if m == nil {
		return false, false
	}
	return true, sum(content[len(m[0]):]) == string(m[1])
}

var shebang = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^#! ?(/(?:usr/)?bin/(?:env )?(?:sh|bash|dash)(?: -[a-z]+)?)[ \t]*\r?$`)
})

// shellOf returns the shell that a hook's first line names, empty for other programs.
func shellOf(content []byte) string {
	first, _, _ := bytes.Cut(content, []byte("\n"))
	if m := shebang().FindSubmatch(first); m != nil {
		return string(m[1])
	}
	return ""
}

// quote makes one word of s for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
