//go:build unix

package repo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// help is what the program says about its own flags.
type help struct {
	flags  map[string]bool
	listen string // the default address
	port   string
}

func (p *program) serveHelp(t *testing.T) help {
	t.Helper()
	text := p.run(t, "serve", "--help")
	h := help{flags: map[string]bool{}}
	for _, flag := range regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[\w-]+)`).FindAllStringSubmatch(text, -1) {
		h.flags[flag[1]] = true
	}
	found := regexp.MustCompile(`--listen .*\(default "(.*:(\d+))"\)`).FindStringSubmatch(text)
	if found == nil || len(h.flags) < 10 {
		t.Fatalf("serve --help names no default of --listen or too few flags:\n%s", text)
	}
	h.listen, h.port = found[1], found[2]
	return h
}

// checkFlags reports flags that the program does not have.
func (h help) checkFlags(t *testing.T, words ...string) {
	t.Helper()
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(name, "--") && !h.flags[name] {
			t.Errorf("leasehold serve has no flag %s", name)
		}
	}
}

// checkUnit asks the program about the flags, and systemd about the rest where
// there is one.
func (p *program) checkUnit(t *testing.T) {
	const unit, installed = "deploy/systemd/leasehold.service", "/usr/local/bin/leasehold"
	text, h := readText(t, unit), p.serveHelp(t)
	start := regexp.MustCompile(`(?m)^ExecStart=` + installed + ` serve --data /var/lib/leasehold \$SERVE_FLAGS$`)
	flags := regexp.MustCompile(`(?m)^#   SERVE_FLAGS=(.*)$`).FindStringSubmatch(text)
	if !start.MatchString(text) || !strings.Contains(text, "\nStateDirectory=leasehold\n") || flags == nil {
		t.Fatalf("%s does not start %s with its state directory, or shows no SERVE_FLAGS", unit, installed)
	}
	h.checkFlags(t, append(strings.Fields(flags[1]), "--data")...)
	if !strings.Contains(flags[1], ":"+h.port+" ") {
		t.Errorf("%s shows %q, want the default port %s", unit, flags[1], h.port)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return // no systemd here; the lines above were checked all the same
	}
	tried := filepath.Join(t.TempDir(), "leasehold.service")
	if err := os.WriteFile(tried, []byte(strings.ReplaceAll(text, installed, p.binary)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", tried).CombinedOutput()
	if err != nil || strings.Contains(string(out), "leasehold") {
		t.Errorf("systemd-analyze verify = %v\n%s", err, out)
	}
}

// checkDockerfile reads what can be read without building an image.
func (p *program) checkDockerfile(t *testing.T) {
	h, file := p.serveHelp(t), readDockerfile(t)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readText(t, "go.mod"))
	if len(file["FROM"]) != 2 || file["FROM"][0] != "golang:"+version[1]+" AS build" || file["FROM"][1] != "scratch" {
		t.Errorf("FROM = %q, want go.mod's Go %s to build and scratch to run", file["FROM"], version[1])
	}
	if runs := strings.Join(file["RUN"], "\n"); !strings.Contains(runs, "CGO_ENABLED=0") || !strings.Contains(runs, "-X main.version=") ||
		!strings.Contains(runs, "chown "+file.one("USER")) {
		t.Errorf("RUN = %s\nwant no cgo, the version, and directories that belong to %s", runs, file.one("USER"))
	}
	if ok, _ := regexp.MatchString(`^[1-9]\d+:[1-9]\d+$`, file.one("USER")); !ok {
		t.Errorf("USER = %q, want numbers that are not root's", file.one("USER"))
	}
	if file.one("EXPOSE") != h.port {
		t.Errorf("EXPOSE = %q, want the program's default port %s", file.one("EXPOSE"), h.port)
	}
	if file.one("ENTRYPOINT") != `["/leasehold"]` || file.one("CMD") != `["serve", "--data", "`+file.one("VOLUME")+`"]` {
		t.Errorf("ENTRYPOINT %s and CMD %s do not serve the volume %s", file.one("ENTRYPOINT"), file.one("CMD"), file.one("VOLUME"))
	}
}

// dockerfile has the arguments of each instruction.
type dockerfile map[string][]string

func (f dockerfile) one(instruction string) string { return strings.Join(f[instruction], " and ") }

func readDockerfile(t *testing.T) dockerfile {
	t.Helper()
	f := dockerfile{}
	for _, line := range strings.Split(readText(t, "deploy/Dockerfile"), "\n") {
		if word, rest, ok := strings.Cut(line, " "); ok && word != "#" {
			f[word] = append(f[word], rest)
		}
	}
	return f
}
