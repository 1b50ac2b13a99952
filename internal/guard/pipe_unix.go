//go:build unix

package guard

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A pipe has the same number in the next process: so the user's own open files keep
// theirs, up to the command.

// start starts this program in another role, in a process group of its own,
// with these files besides the standard ones.
func start(argv, env []string, attr *syscall.SysProcAttr, files ...*os.File) (pid int, err error) {
	path, err := program()
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		argv = append(argv, strconv.Itoa(int(f.Fd())))
		if err := inheritable(f.Fd(), true); err != nil {
			return 0, err
		}
	}
	attr.Setpgid = true
	pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: attr})
	for _, f := range files {
		_ = inheritable(f.Fd(), false)
	}
	return pid, err
}

func inheritable(fd uintptr, yes bool) error {
	flag := unix.FD_CLOEXEC
	if yes {
		flag = 0
	}
	_, err := unix.FcntlInt(fd, unix.F_SETFD, flag)
	return err
}

// inherited returns the files that start was given. The next process does not
// inherit them.
func inherited(args []string, want int) ([]*os.File, error) {
	if len(args) < want {
		return nil, errByHand
	}
	var files []*os.File
	for _, arg := range args[len(args)-want:] {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 3 || inheritable(uintptr(n), false) != nil {
			return nil, errByHand
		}
		files = append(files, os.NewFile(uintptr(n), "pipe"))
	}
	return files, nil
}

var errByHand = errors.New("this is a part of leasehold run and cannot be started by hand")

// CloseStdio gives up standard input and output, which are the command's: a reader
// of its output then sees the end when the command closes it.
func CloseStdio() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	_ = unix.Dup2(int(null.Fd()), 0)
	_ = unix.Dup2(int(null.Fd()), 1)
}
