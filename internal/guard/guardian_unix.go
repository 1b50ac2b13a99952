//go:build unix

package guard

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

const (
	// wakeEvery bounds how late the guardian notices that the machine slept: a
	// timer stands still as well.
	wakeEvery = 250 * time.Millisecond
	// lookEvery is how often it looks whether a group has become empty, where
	// the system does not tell.
	lookEvery = 20 * time.Millisecond
	// mostOnItsWay is what a message takes from the pipe to where it is obeyed.
	mostOnItsWay = 2 * time.Millisecond
)

// guardian is the second role.
type guardian struct {
	orders   <-chan order
	reports  *os.File
	changes  <-chan change
	grace    time.Duration
	deadline deadline

	group   group
	wanted  bool          // the runner wants the command to begin
	gate    *os.File      // nil once the command may begin
	begun   <-chan report // whether it did; nil once that is known
	leading bool          // the command itself has not ended
	hurried bool          // SIGTERM was sent
	killed  bool          // SIGKILL was sent
	since   time.Duration // when it was first
	again   time.Duration // when to send it again
	stuck   bool          // people know that the command cannot be stopped
	alone   bool          // people know that the runner is gone as well
}

// Guardian is the second role. The last two arguments are the pipes from and to
// the runner; launcher is how this program is started in the third role.
func Guardian(args, launcher []string) int {
	files, err := inherited(args, 2)
	if err != nil {
		fmt.Fprintln(os.Stderr, "leasehold:", err)
		return 64
	}
	runtime.LockOSThread() // the command dies with the thread that started it
	rename("leasehold-guard")
	deaf := make(chan os.Signal, 1) // nothing but SIGKILL ends a guardian early
	hear(deaf, endings)
	hear(deaf, others)
	hear(deaf, []os.Signal{syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE})
	adopt()
	g := &guardian{orders: receive[order](files[0]), reports: files[1], deadline: noDeadline}
	plan, ok := <-g.orders
	if !ok || plan.Kind != orderPlan {
		return 0
	}
	g.grace, g.deadline = plan.Grace, plan.Deadline
	if err := g.launch(plan, launcher); err != nil {
		send(g.reports, report{Kind: reportFailed, Text: err.Error()})
		return 0
	}
	LetGo()
	g.watch()
	send(g.reports, report{Kind: reportEmpty})
	return 0
}

// watch looks after the group until it is empty.
func (g *guardian) watch() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for g.leading || g.begun != nil || !g.group.empty() {
		g.keep(now())
		timer.Reset(g.rest(now()))
		select {
		case o, ok := <-g.orders:
			g.obey(o, ok)
		case c, ok := <-g.changes:
			g.note(c, ok)
		case r := <-g.begun:
			g.begun = nil
			send(g.reports, r)
		case <-timer.C:
		}
	}
}

// keep keeps to the deadline.
func (g *guardian) keep(at time.Duration) {
	if at >= g.deadline.Term && !g.hurried {
		g.catchUp()
	}
	if at >= g.deadline.Term && !g.hurried {
		g.hurried = true
		g.refused(g.group.terminate())
		send(g.reports, report{Kind: reportLate})
	}
	if at >= g.deadline.Kill {
		g.kill(at)
	}
	if g.wanted && !g.hurried { // nothing begins after its line
		g.open()
	}
}

// kill kills what is left of the group, again and again until nothing is: a
// process that may not be signalled now may be later.
func (g *guardian) kill(at time.Duration) {
	switch {
	case !g.killed:
		g.killed, g.since = true, at
	case at < g.again:
		return
	}
	g.again = at + wakeEvery
	switch err := g.group.kill(); {
	case errors.Is(err, syscall.EPERM):
		g.refused(err)
	case at-g.since >= survivesAfter:
		g.warnStuck(nil)
	}
}

// refused takes in what came of a signal that should end the command.
func (g *guardian) refused(err error) {
	if errors.Is(err, syscall.EPERM) {
		g.warnStuck(err)
	}
}

// warnStuck tells people, once, that the command runs on, and once more when
// nobody is left to renew its lease. This process does it itself: the runner may
// be stopped or gone.
func (g *guardian) warnStuck(refused error) {
	if !g.stuck {
		why := g.group.survivors(refused)
		if why == "" {
			return
		}
		g.stuck = true
		fmt.Fprintln(os.Stderr, "leasehold:", why)
		send(g.reports, report{Kind: reportStuck})
	}
	if g.orders == nil && !g.alone {
		g.alone = true
		fmt.Fprintln(os.Stderr, "leasehold: leasehold run itself is gone, and nobody renews the lease: "+
			"when its ttl is over, the next holder may run beside the command")
	}
}

// catchUp reads what the runner has sent before the deadline is judged: this
// process may be the one that was late.
func (g *guardian) catchUp() {
	for g.orders != nil {
		select {
		case o, ok := <-g.orders:
			g.obey(o, ok)
		case <-time.After(mostOnItsWay):
			return
		}
	}
}

// rest returns how long nothing will be due.
func (g *guardian) rest(at time.Duration) time.Duration {
	next := g.deadline.Term
	if g.hurried {
		next = g.deadline.Kill
	}
	rest := never
	if g.killed {
		next = g.again
	}
	if next != never {
		rest = min(max(next-at, 0), wakeEvery)
	}
	if !g.leading {
		rest = min(rest, lookEvery)
	}
	return rest
}

// obey does what the runner wants. Where there is no runner any more, nobody
// renews the lease, and the command has to go.
func (g *guardian) obey(o order, ok bool) {
	if !ok {
		g.orders = nil
		o.Kind = orderStop
	}
	switch o.Kind {
	case orderGo:
		g.wanted = true
	case orderDeadline:
		if !g.hurried { // an answer after the line does not bring the lease back
			g.deadline = o.Deadline
		}
	case orderSignal:
		g.pass(syscall.Signal(o.Signal))
	case orderStop:
		g.stop()
	}
}

// pass hands a signal on. Whoever wants the command to end hears each time that
// it cannot be told.
func (g *guardian) pass(s syscall.Signal) {
	err := g.group.signal(s)
	if Ends(s) {
		g.stuck = g.stuck && err == nil
		g.refused(err)
	}
}

// open lets the command begin.
func (g *guardian) open() {
	if g.gate != nil && !g.hurried {
		_, _ = g.gate.Write([]byte{1})
		g.gate.Close()
		g.gate = nil
	}
}

// stop ends the command before its deadline, so this is no report's business.
func (g *guardian) stop() {
	at := now()
	g.deadline = g.deadline.hasten(at, g.grace)
	if !g.hurried {
		g.hurried = true
		g.refused(g.group.terminate())
	}
}

// note takes in what happened to a child.
func (g *guardian) note(c change, ok bool) {
	switch {
	case !ok:
		g.changes = nil
	case c.pid != int(g.group):
	case c.status.Stopped():
		send(g.reports, report{Kind: reportStopped, Signal: int(c.status.StopSignal())})
	case c.status.Exited() || c.status.Signaled():
		g.leading = false
		send(g.reports, report{Kind: reportEnded, Status: uint32(c.status)})
	}
}
