//go:build unix

package guard

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// What the runner passes between the guardian, its own signals and the terminal.

func (r *runner) handle(what report) {
	switch what.Kind {
	case reportBorn:
		r.group = group(what.PID)
		if r.terminal.givenAtStart() {
			r.terminal.give(r.group)
		}
		r.send(order{Kind: orderGo})
	case reportRuns:
		r.command.Started()
	case reportFailed:
		r.startErr = errors.New(what.Text)
		if what.Errno != 0 {
			r.startErr = fmt.Errorf("%s: %w", r.command.Args[0], syscall.Errno(what.Errno))
		}
	case reportStopped:
		r.stopped(syscall.Signal(what.Signal))
	case reportLate:
		r.lost = true
	case reportStuck:
		r.warned = true
		r.stuck()
	case reportEnded:
		r.ended = true
		r.outcome.Code = codeOf(syscall.WaitStatus(what.Status))
		r.terminal.reclaim()
		r.leftover = time.After(noticeAfter)
	case reportEmpty:
		r.empty = true
	}
}

// pass sends a signal on to the command's whole group, as a terminal would. Once
// the command itself has ended, a signal to end stops what it left behind.
func (r *runner) pass(s syscall.Signal) {
	switch {
	case r.group == 0:
		if Ends(s) { // the guardian sends it when there is a group; others concern terminals only
			r.send(order{Kind: orderSignal, Signal: int(s)})
		}
		return
	case s == syscall.SIGCONT:
		r.suspendAlone = false // the report of the stop may come only now
		if r.terminal.givenAtStart() && !r.ended {
			r.terminal.give(r.group)
		}
	case s == syscall.SIGTSTP:
		r.suspendAlone = true
	case r.ended && Ends(s):
		r.send(order{Kind: orderStop})
		return
	}
	r.send(order{Kind: orderSignal, Signal: int(s)})
}

// stopped handles a command that was stopped. If it was for using the terminal it
// gets the terminal, if this process has it. Else this process stops as well, so
// that the shell notices; then nobody renews the lease, and the guardian ends the
// command if it does not go on in time. Without a terminal or a SIGTSTP to this
// process the command stays stopped.
func (r *runner) stopped(s syscall.Signal) {
	usesTerminal := r.terminal.fd >= 0 && (s == syscall.SIGTTIN || s == syscall.SIGTTOU)
	switch {
	case usesTerminal && r.terminal.isForeground():
		r.terminal.give(r.group)
		r.send(order{Kind: orderSignal, Signal: int(syscall.SIGCONT)})
	case r.terminal.given != 0 || r.suspendAlone || usesTerminal:
		alone := r.suspendAlone
		r.suspendAlone = false
		r.terminal.reclaim()
		suspend(!alone)
	}
}
