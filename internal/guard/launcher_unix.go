//go:build unix

package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// errno is how the launcher says why the command cannot be run.
type errno struct{ Errno uint32 }

// Launcher is the third role: it waits for the word and becomes the command.
// The last two arguments are the gate and the place for an error; before them
// stand the path of the command and its arguments. It returns only if there
// will be no command.
func Launcher(args []string) int {
	files, err := inherited(args, 2)
	if err != nil || len(args) < 4 {
		fmt.Fprintln(os.Stderr, "leasehold:", errByHand)
		return 64
	}
	gate, fault := files[0], files[1]
	command := args[:len(args)-2]
	if n, _ := gate.Read(make([]byte, 1)); n == 0 {
		return 0 // the guardian is gone
	}
	err = become(command[0], command[1:])
	var e syscall.Errno
	if !errors.As(err, &e) {
		e = syscall.EIO
	}
	_ = json.NewEncoder(fault).Encode(errno{uint32(e)})
	return 0
}

// become replaces this process by the command. A script without a first line
// that names its interpreter is for the shell, as execvp has it.
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
	faultOut, fault, err := os.Pipe()
	if err != nil {
		return err
	}
	attr := new(syscall.SysProcAttr)
	dieWithParent(attr)
	pid, err := start(append(append(launcher, plan.Path), plan.Args...), os.Environ(), attr, gateOut, fault)
	if err != nil {
		return err
	}
	gateOut.Close()
	fault.Close()
	g.gate, g.group, g.leading = gate, group(pid), true
	g.begun = listen(faultOut)
	g.changes = changes()
	send(g.reports, report{Kind: reportBorn, PID: pid})
	return nil
}

// listen waits for the launcher to become the command, which closes the pipe,
// or for its error.
func listen(fault *os.File) <-chan report {
	begun := make(chan report, 1)
	go func() {
		defer fault.Close()
		var e errno
		if json.NewDecoder(fault).Decode(&e) == nil {
			begun <- report{Kind: reportFailed, Errno: e.Errno}
			return
		}
		begun <- report{Kind: reportRuns}
	}()
	return begun
}
