package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatchFiles(t *testing.T) {
	for _, tt := range []struct {
		name, patch string
		want        []string
	}{
		{"one", "*** Begin Patch\n*** Update File: a.go\n@@\n-a\n+b\n*** End Patch", []string{"a.go"}},
		{"all kinds", "*** Begin Patch\n*** Add File: new dir/a b.go\n+x\n*** Update File: old.go\n*** Move to: lib/new name.go\n@@\n x\n*** Delete File: gone.go\n*** End Patch\n",
			[]string{"new dir/a b.go", "old.go", "lib/new name.go", "gone.go"}},
		{"content that looks like headers", "*** Begin Patch\n*** Add File: a.go\n+*** Update File: no.go\n-*** Delete File: no.go\n*** End Patch", []string{"a.go"}},
		{"Windows line ends", "*** Begin Patch\r\n*** Update File: a.go\r\n@@\r\n*** Move to: b.go\r\n*** End Patch\r\n", []string{"a.go", "b.go"}},
		{"spaces around", "  *** Begin Patch  \n  *** Update File:   a.go  \n*** End Patch", []string{"a.go"}},
		{"in a shell command", "cd src && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.go\n*** End Patch\nEOF\n", []string{"a.go"}},
		{"no end", "*** Begin Patch\n*** Delete File: a.go", []string{"a.go"}},
		{"several patches", "*** Begin Patch\n*** Delete File: a.go\n*** End Patch\n*** Begin Patch\n*** Delete File: b.go\n*** End Patch", []string{"a.go", "b.go"}},
		{"odd names", "*** Begin Patch\n*** Update File: *** Add File: x\n*** Update File: ü/\"'*.go\n*** End Patch", []string{"*** Add File: x", "ü/\"'*.go"}},
		{"a line of context", "*** Begin Patch\n*** Update File: a.md\n *** Update File: claimed too.md\n*** End Patch", []string{"a.md", "claimed too.md"}},
	} {
		got, err := patchFiles(tt.patch)
		if err != nil {
			t.Errorf("%s: patchFiles(): %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: patchFiles() differs (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, patch := range []string{
		"", "no patch", "*** Begin Patch\n*** End Patch", "*** Begin Patch\n*** Update File:\n*** End Patch",
		"*** Update File: a.go", "*** Begin Patch\n*** Update File:    \n",
	} {
		if got, err := patchFiles(patch); err == nil {
			t.Errorf("patchFiles(%q) = %q, want an error", patch, got)
		}
	}
}

// FuzzPatch shows that every header that stands at the start of a line is found, whatever
// stands around it.
func FuzzPatch(f *testing.F) {
	f.Add("+x\n", "a b.go", "@@\n-a\n+b")
	f.Add("*** End Patch\n", "ü", "*** Begin Patch")
	f.Add("\r\n\x00", "*", "***")
	f.Fuzz(func(t *testing.T, before, file, after string) {
		_, _ = patchFiles(before + file + after)
		if file = strings.TrimSpace(file); file == "" || strings.ContainsAny(file, "\n") {
			return
		}
		got, err := patchFiles(patchStart + "\n" + before + "\n*** Update File: " + file + "\n" + after)
		if err != nil {
			return // another line is a header without a file: the whole edit is not checked
		}
		for _, name := range got {
			if name == file {
				return
			}
		}
		t.Errorf("patchFiles() = %q, want %q among them", got, file)
	})
}
