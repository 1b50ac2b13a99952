//go:build unix

package guard

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// What passes between the command, its guardian and the outside world.

// hear takes in what the guardian has seen.
func (r *runner) hear(what report) {
	switch what.Kind {
	case reportBorn:
		r.group = group(what.PID)
		if r.terminal.expected() {
			r.terminal.give(r.group)
		}
		r.send(order{Kind: orderGo})
	case reportRuns:
		r.command.Began()
	case reportFailed:
		r.fault = errors.New(what.Text)
		if what.Errno != 0 {
			r.fault = fmt.Errorf("%s: %w", r.command.Args[0], syscall.Errno(what.Errno))
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
		r.terminal.takeBack()
		r.leftover = time.After(noticeAfter)
	case reportEmpty:
		r.empty = true
	}
}

// pass hands a signal on to the command's whole group, as a terminal would. Once
// the command itself has ended, a signal to end is meant for what it left.
func (r *runner) pass(s syscall.Signal) {
	switch {
	case r.group == 0:
		r.early(s)
		return
	case s == syscall.SIGCONT:
		r.asked = false // the report of the stop may come only now
		if r.terminal.expected() && !r.ended {
			r.terminal.give(r.group)
		}
	case s == syscall.SIGTSTP:
		r.asked = true
	case r.ended && Ends(s):
		r.send(order{Kind: orderStop})
		return
	}
	r.send(order{Kind: orderSignal, Signal: int(s)})
}

// early is a signal before there is a group: the guardian hands it on when
// there is. What only concerns terminals can be left out.
func (r *runner) early(s syscall.Signal) {
	if Ends(s) {
		r.send(order{Kind: orderSignal, Signal: int(s)})
	}
}

// stopped is told that the command was stopped. One that was stopped because it
// wants the terminal gets it, if it is ours to give. Else this process stops as
// well, so that the shell notices; nobody then renews the lease, and the
// guardian ends the command if it does not go on in time. Where no terminal is
// in play and nobody asked, whoever stopped the command knows why.
func (r *runner) stopped(s syscall.Signal) {
	wants := r.terminal.fd >= 0 && (s == syscall.SIGTTIN || s == syscall.SIGTTOU)
	switch {
	case wants && r.terminal.inFront():
		r.terminal.give(r.group)
		r.send(order{Kind: orderSignal, Signal: int(syscall.SIGCONT)})
	case r.terminal.given != 0 || r.asked || wants:
		alone := r.asked
		r.asked = false
		r.terminal.takeBack()
		suspend(!alone)
	}
}
