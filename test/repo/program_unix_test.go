//go:build unix

package repo_test

import (
	"bufio"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is the real binary, built as a release is, with one server of it that
// the documents and the examples speak to.
type program struct {
	dir    string // on the PATH of what runs
	binary string
	url    string
}

// TestProgram tries the program as a newcomer would: by the documents, the
// examples and the files for its deployment.
func TestProgram(t *testing.T) {
	p := buildProgram(t)
	p.url = p.serve(t, "--listen", "127.0.0.1:0", "--data", t.TempDir())
	t.Run("documents", p.runDocuments)
	t.Run("documents are complete", p.checkComplete)
	t.Run("curl script", p.runFlow)
	t.Run("examples", p.runExamples)
	t.Run("systemd", p.checkUnit)
	t.Run("Dockerfile", p.checkDockerfile)
	t.Run("Kubernetes", p.checkManifest)
}

func buildProgram(t *testing.T) *program {
	t.Helper()
	p := &program{dir: t.TempDir()}
	p.binary = filepath.Join(p.dir, "leasehold")
	build(t, "", p.binary, "./cmd/leasehold")
	return p
}

// build compiles without cgo, for another system if one is named.
func build(t *testing.T, system, out string, packages ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-buildvcs=false", "-o", out}, packages...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if system != "" {
		cmd.Env = append(cmd.Env, "GOOS="+system)
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %q = %v\n%s", packages, err, text)
	}
}

// serve starts a server and returns its address. It must end cleanly.
func (p *program) serve(t *testing.T, flags ...string) (url string) {
	t.Helper()
	cmd := exec.Command(p.binary, append([]string{"serve", "--log-level", "warn"}, flags...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		cut := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer cut.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve %q ended with %v, want exit code 0 after SIGTERM", flags, err)
		}
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("serve %q said nothing: %v", flags, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	name, url, ok := strings.Cut(strings.TrimSpace(line), "  ")
	if !ok || name != "JSON API" {
		t.Fatalf("serve %q said %q, want JSON API and its address", flags, line)
	}
	return url
}

// run executes the program and returns what it printed.
func (p *program) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(p.binary, args...)
	cmd.Env = p.environment()
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("leasehold %q = %v\n%s%s", args, err, text, stderrOf(err))
	}
	return string(text)
}

func stderrOf(err error) []byte {
	if e, ok := err.(*exec.ExitError); ok {
		return e.Stderr
	}
	return nil
}

// environment finds the program by its name, and the server where nothing else
// is said.
func (p *program) environment() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "LEASEHOLD_") {
			env = append(env, pair)
		}
	}
	// A hook lets an edit pass when its second is over, which a busy machine may need.
	return append(env, "PATH="+p.dir+string(os.PathListSeparator)+os.Getenv("PATH"), "LEASEHOLD_STORE="+p.url, "LEASEHOLD_HOOK_LIMIT=30s")
}

// TestProgramIsStatic keeps the program one file that runs on any Linux, be it
// in an image with nothing else in it.
func TestProgramIsStatic(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "leasehold")
	build(t, "linux", binary, "./cmd/leasehold")
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, part := range f.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a %v segment; want none, as it must not need a dynamic linker", part.Type)
		}
	}
	if libraries, _ := f.ImportedLibraries(); len(libraries) > 0 {
		t.Errorf("the program needs %q, want no library", libraries)
	}
}
