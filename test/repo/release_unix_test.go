//go:build unix

package repo_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestRelease makes a release for this system and for Windows, unpacks it and
// asks the program for its version.
func TestRelease(t *testing.T) {
	out := filepath.Join(t.TempDir(), "dist")
	target := runtime.GOOS + "/" + runtime.GOARCH
	build := exec.Command("go", "run", "./scripts/release", "-version", "v1.2.3", "-targets", target+" windows/amd64", "-out", out)
	build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false") // the clone may be owned by somebody else
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("release = %v\n%s", err, text)
	}
	name := fmt.Sprintf("leasehold_1.2.3_%s_%s", runtime.GOOS, runtime.GOARCH)
	var sums string
	for _, file := range []string{name + ".tar.gz", "leasehold_1.2.3_windows_amd64.zip"} {
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(readText(t, filepath.Join(out, file)))), file)
	}
	if got := readText(t, filepath.Join(out, "SHA256SUMS")); got != sums {
		t.Errorf("SHA256SUMS = %q, want %q", got, sums)
	}
	checkTar(t, out, name)
	checkZip(t, filepath.Join(out, "leasehold_1.2.3_windows_amd64.zip"))
}

func checkTar(t *testing.T, out, name string) {
	t.Helper()
	if text, err := exec.Command("tar", "-xzf", filepath.Join(out, name+".tar.gz"), "-C", out).CombinedOutput(); err != nil {
		t.Fatalf("tar = %v\n%s", err, text)
	}
	for _, file := range []string{"LICENSE", "README.md", "CHANGELOG.md", "leasehold.service"} {
		if info, err := os.Stat(filepath.Join(out, name, file)); err != nil || info.Size() == 0 {
			t.Errorf("the archive has no %s: %v", file, err)
		}
	}
	version, err := exec.Command(filepath.Join(out, name, "leasehold"), "version").Output()
	if want := "leasehold v1.2.3 "; err != nil || !strings.HasPrefix(string(version), want) {
		t.Errorf("leasehold version = %q, %v, want %q", version, err, want)
	}
}

func checkZip(t *testing.T, file string) {
	t.Helper()
	content := []byte(readText(t, file))
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	if !slices.Contains(names, "leasehold_1.2.3_windows_amd64/leasehold.exe") {
		t.Errorf("the zip has %q, want leasehold.exe among them", names)
	}
}
