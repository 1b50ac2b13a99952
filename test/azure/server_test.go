//go:build unix

package azuretest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// account is the one that every development endpoint has.
const account = "devstoreaccount1"

// patience is the timeout of everything that takes a moment, on a busy machine.
const patience = 30 * time.Second

// server is a process of `leasehold serve`.
type server struct {
	testing.TB
	data   string   // its data directory; "" in memory
	flags  []string // further flags
	prefix []string // a command that starts the program; none: the program itself

	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	log     string        // the file with the standard error of all its processes
	address addresses
	launch  time.Duration // how long the last start took
}

// addresses are what the server prints when it listens.
type addresses struct {
	API        string `json:"json_api"`
	Blob       string `json:"azure_blob"`
	Connection string `json:"azure_blob_connection_string"`
}

// newServer prepares a server on a data directory of its own. The process ends
// with the test.
func newServer(t testing.TB, flags ...string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{TB: t, data: filepath.Join(dir, "data"), log: filepath.Join(dir, "log"), flags: flags}
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the server's log ends: %s", s.logTail())
		}
	})
	return s
}

// serve is newServer and start.
func serve(t testing.TB, flags ...string) *server {
	t.Helper()
	s := newServer(t, flags...)
	s.start()
	return s
}

// start starts the process and waits until it listens.
func (s *server) start() {
	s.Helper()
	command(s) // builds the program, the first time
	start := time.Now()
	line, err := s.spawn().ReadBytes('\n')
	if err != nil {
		s.kill()
		s.Fatalf("the server ended before it answered: %v; its log ends: %s", err, s.logTail())
	}
	s.launch = time.Since(start)
	if err := json.Unmarshal(line, &s.address); err != nil || s.address.Blob == "" || s.address.API == "" || s.address.Connection == "" {
		s.Fatalf("the server said %q, want its addresses in JSON: %v", line, err)
	}
}

// spawn starts the process and returns its standard output, without waiting.
func (s *server) spawn() *bufio.Reader {
	s.Helper()
	args := append([]string{"serve", "--json", "--listen", "127.0.0.1:0", "--log-level", "warn"}, s.flags...)
	if s.data != "" {
		args = append(args, "--data", s.data)
	}
	s.cmd = command(s, args...)
	if len(s.prefix) > 0 {
		s.cmd = exec.Command(s.prefix[0], append(s.prefix[1:], s.cmd.Args...)...)
	}
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.Fatal(err)
	}
	defer log.Close()
	read, write, err := os.Pipe() // not StdoutPipe, which Wait closes under the reader
	if err != nil {
		s.Fatal(err)
	}
	defer write.Close()
	s.cmd.Stdout, s.cmd.Stderr = write, log
	endWithTest(s.cmd)
	if err := s.cmd.Start(); err != nil {
		read.Close()
		s.Fatal(err)
	}
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() {
		_ = cmd.Wait() // cmd.ProcessState has the result
		close(ended)
	}()
	s.Cleanup(func() { read.Close() })
	return bufio.NewReader(read)
}

// kill sends SIGKILL, if there is a process, and waits for its end.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may be gone already
	<-s.ended
	s.cmd = nil
}

// stop sends SIGTERM and expects a clean end.
func (s *server) stop() {
	s.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatalf("SIGTERM: %v", err)
	}
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.Fatalf("the server did not end")
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.Errorf("the server ended with %d, want 0; its log ends: %s", code, s.logTail())
	}
	s.cmd = nil
}

// alive fails the test if the process has ended.
func (s *server) alive() {
	s.Helper()
	select {
	case <-s.ended:
		s.Fatalf("the server has ended: %v; its log ends: %s", s.cmd.ProcessState, s.logTail())
	default:
	}
}

// resident is how much memory the server has now.
func (s *server) resident() int64 {
	s.Helper()
	now, _ := s.memory()
	return now
}

// logTail returns the end of the log.
func (s *server) logTail() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	const enough = 4000
	if len(text) > enough {
		text = text[len(text)-enough:]
	}
	return string(text)
}

// files returns how many files are below a part of the data directory, and how
// many bytes are in them.
func (s *server) files(part string) (count int, size int64) {
	s.Helper()
	err := filepath.WalkDir(filepath.Join(s.data, part), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		info, err := d.Info()
		if err == nil {
			count, size = count+1, size+info.Size()
		}
		return ignoreGone(err)
	})
	if err != nil {
		s.Fatal(err)
	}
	return count, size
}

// ignoreGone is for walks while the server deletes files.
func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// fsck checks the data of a server that does not run.
func (s *server) fsck(flags ...string) (code int, report string) {
	s.Helper()
	code, out, errs := run(s, append([]string{"blob", "fsck", "--data", s.data}, flags...)...)
	return code, strings.TrimSpace(out + errs)
}

// wantSound checks that fsck finds nothing wrong with the data of a killed server,
// but for what a crash may leave to repair.
func (s *server) wantSound() {
	s.Helper()
	if code, report := s.fsck("--repair"); code != 0 {
		s.Errorf("fsck --repair = %d, want 0: %s", code, report)
	}
	if code, report := s.fsck(); code != 0 {
		s.Errorf("fsck after a repair = %d, want 0: %s", code, report)
	}
}

// eventually waits for what happens in the background.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) { // another process: no bubble
		if time.Now().After(end) {
			t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
