// Command release builds the program for each target and writes archives with
// their checksums. The same commit, Go and flags give the same bytes.
//
//	make release VERSION=v1.2.3
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// companions go into every archive beside the program.
var companions = []string{"LICENSE", "README.md", "CHANGELOG.md", "deploy/systemd/leasehold.service"}

func main() {
	log.SetFlags(0)
	version := flag.String("version", "dev", "version that the program prints")
	targets := flag.String("targets", "linux/amd64 linux/arm64 darwin/arm64 windows/amd64", "systems to build for, as GOOS/GOARCH")
	out := flag.String("out", "dist", "directory of the archives; it is emptied first")
	flag.Parse()
	if err := release(*version, strings.Fields(*targets), *out); err != nil {
		log.Fatal("release: ", err)
	}
}

func release(version string, targets []string, out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	built, err := os.MkdirTemp("", "leasehold-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	sums, when := "", commitTime()
	for _, target := range targets {
		system, arch, ok := strings.Cut(target, "/")
		if !ok {
			return fmt.Errorf("target %q: want GOOS/GOARCH", target)
		}
		binary := filepath.Join(built, target, programName(system))
		if err := compile(version, system, arch, binary); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		name := fmt.Sprintf("leasehold_%s_%s_%s", strings.TrimPrefix(version, "v"), system, arch)
		archive, err := pack(name, system == "windows", contents(binary), when)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		if err := os.WriteFile(filepath.Join(out, archive.name), archive.bytes, 0o644); err != nil {
			return err
		}
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(archive.bytes), archive.name)
		fmt.Printf("%s  %.1f MB\n", filepath.Join(out, archive.name), float64(len(archive.bytes))/1e6)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums), 0o644)
}

func programName(system string) string {
	if system == "windows" {
		return "leasehold.exe"
	}
	return "leasehold"
}

// compile builds one static file.
func compile(version, system, arch, out string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version, "-o", out, "./cmd/leasehold")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func contents(binary string) []entry {
	all := []entry{{file: binary, mode: 0o755}}
	for _, file := range companions {
		all = append(all, entry{file: file, mode: 0o644})
	}
	return all
}

// commitTime is what files in the archives are dated with, so that the bytes do
// not depend on when they were made.
func commitTime() time.Time {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, _ := exec.Command("git", "log", "-1", "--format=%ct").Output()
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		seconds = 315532800 // 1980, the first year that zip knows
	}
	return time.Unix(seconds, 0).UTC()
}
