//go:build unix

package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// errno is the launcher's message why the command cannot be run.
type errno struct{ Errno uint32 }

// Launcher is the third role: it waits for a byte and becomes the command. The last
// two arguments are the pipes for that byte and for an error; before them stand the
// path of the command and its arguments. It returns only if there will be no
// command.
func Launcher(args []string) int {
	files, err := inherited(args, 2)
	if err != nil || len(args) < 4 {
		fmt.Fprintln(os.Stderr, "leasehold:", errByHand)
		return 64
	}
	gate, failure := files[0], files[1]
	command := args[:len(args)-2]
	if n, _ := gate.Read(make([]byte, 1)); n == 0 {
		return 0 // the guardian is gone
	}
	err = become(command[0], command[1:])
	var e syscall.Errno
	if !errors.As(err, &e) {
		e = syscall.EIO
	}
	_ = json.NewEncoder(failure).Encode(errno{uint32(e)})
	return 0
}

// become replaces this process by the command. A script whose first line names no
// interpreter is for the shell, as with execvp.
func become(path string, argv []string) error {
	err := syscall.Exec(path, argv, os.Environ())
	if errors.Is(err, syscall.ENOEXEC) {
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, argv[1:]...), os.Environ())
	}
	return err
}

// launch starts the command as far as its gate.
func (g *guardian) launch(plan order, launcher []string) error {
	gateOut, gate, err := os.Pipe()
	if err != nil {
		return err
	}
	failureOut, failure, err := os.Pipe()
	if err != nil {
		return err
	}
	attr := new(syscall.SysProcAttr)
	dieWithParent(attr)
	pid, err := start(append(append(launcher, plan.Path), plan.Args...), os.Environ(), attr, gateOut, failure)
	if err != nil {
		return err
	}
	gateOut.Close()
	failure.Close()
	g.gate, g.group, g.leading = gate, group(pid), true
	g.started = awaitStart(failureOut)
	g.children = childEvents()
	send(g.reports, report{Kind: reportBorn, PID: pid})
	return nil
}

// awaitStart returns the report that the launcher has become the command, which
// closes the pipe, or that it cannot.
func awaitStart(failure *os.File) <-chan report {
	started := make(chan report, 1)
	go func() {
		defer failure.Close()
		var e errno
		if json.NewDecoder(failure).Decode(&e) == nil {
			started <- report{Kind: reportFailed, Errno: e.Errno}
			return
		}
		started <- report{Kind: reportRuns}
	}()
	return started
}
