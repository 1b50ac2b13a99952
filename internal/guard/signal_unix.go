//go:build unix

package guard

import (
	"os"
	"os/signal"
	"syscall"
)

// The signals that are passed on to the command.
var (
	endings = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2}
	others  = []os.Signal{syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT}
)

// catch receives signals, except those that were ignored when the program started,
// as under nohup. The command inherits ignored signals, but not caught ones.
func catch(c chan<- os.Signal, signals []os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// Ends reports whether a signal means that a program should end.
func Ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}
