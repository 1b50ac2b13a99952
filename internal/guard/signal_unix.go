//go:build unix

package guard

import (
	"os"
	"os/signal"
	"syscall"
)

// The signals that are handed on to the command.
var (
	endings = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2}
	others  = []os.Signal{syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT}
)

// hear catches signals, except those that whoever started the program wanted
// ignored, as nohup does. Caught ones, unlike ignored ones, are not handed down
// to the command.
func hear(c chan<- os.Signal, signals []os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// Ends reports whether a signal asks a program to end.
func Ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}
