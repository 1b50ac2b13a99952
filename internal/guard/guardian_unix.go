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
	// pollEvery is how often it checks whether the group of a command that has
	// ended is empty: no event says so.
	pollEvery = 20 * time.Millisecond
	// deliveryTime bounds the way of a message from the pipe to its handler.
	deliveryTime = 2 * time.Millisecond
)

// guardian is the second role.
type guardian struct {
	orders   <-chan order
	reports  *os.File
	children <-chan childEvent
	grace    time.Duration
	deadline deadline

	group      group
	mayStart   bool          // the runner has sent orderGo
	gate       *os.File      // lets the launcher go on; nil once it may
	started    <-chan report // whether the command has; nil once that is known
	leading    bool          // the command itself has not ended
	terminated bool          // SIGTERM was sent
	killed     bool          // SIGKILL was sent
	killedAt   time.Duration // when first
	killAgain  time.Duration // when to repeat it
	stuck      bool          // a warning said that the command cannot be stopped
	alone      bool          // a warning said that the runner is gone as well
}

// Guardian is the second role. The last two arguments are the pipes from and to
// the runner; launcher is how this program is started in the third role.
func Guardian(args, launcher []string) int {
	files, err := inherited(args, 2)
	if err != nil {
		fmt.Fprintln(os.Stderr, "leasehold:", err)
		return 64
	}
	runtime.LockOSThread() // the command dies with the thread that starts it
	rename("leasehold-guard")
	ignored := make(chan os.Signal, 1) // nothing but SIGKILL ends a guardian early
	catch(ignored, endings)
	catch(ignored, others)
	catch(ignored, []os.Signal{syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE})
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
	CloseStdio()
	g.watch()
	send(g.reports, report{Kind: reportEmpty})
	return 0
}

// watch handles events until the group is empty.
func (g *guardian) watch() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for g.leading || g.started != nil || !g.group.empty() {
		g.enforceDeadline(now())
		timer.Reset(g.untilDue(now()))
		select {
		case o, ok := <-g.orders:
			g.handleOrder(o, ok)
		case c, ok := <-g.children:
			g.handleChild(c, ok)
		case r := <-g.started:
			g.started = nil
			send(g.reports, r)
		case <-timer.C:
		}
	}
}

func (g *guardian) enforceDeadline(at time.Duration) {
	if at >= g.deadline.Term && !g.terminated {
		g.catchUp()
	}
	if at >= g.deadline.Term && !g.terminated {
		g.terminated = true
		g.checkSent(g.group.terminate())
		send(g.reports, report{Kind: reportLate})
	}
	if at >= g.deadline.Kill {
		g.kill(at)
	}
	if g.mayStart && !g.terminated { // nothing starts after its safety line
		g.openGate()
	}
}

// kill repeats SIGKILL until the group is empty: a process that may not be
// signalled now may be later.
func (g *guardian) kill(at time.Duration) {
	switch {
	case !g.killed:
		g.killed, g.killedAt = true, at
	case at < g.killAgain:
		return
	}
	g.killAgain = at + wakeEvery
	switch err := g.group.kill(); {
	case errors.Is(err, syscall.EPERM):
		g.checkSent(err)
	case at-g.killedAt >= survivesAfter:
		g.warnStuck(nil)
	}
}

// checkSent warns if a signal that should end the command could not be sent.
func (g *guardian) checkSent(err error) {
	if errors.Is(err, syscall.EPERM) {
		g.warnStuck(err)
	}
}

// warnStuck warns once that the command runs on, and once more when nobody is left
// to renew its lease. It writes itself: the runner may be stopped or gone.
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

// catchUp handles what the runner has sent before the deadline counts: this process
// may be the one that is late.
func (g *guardian) catchUp() {
	for g.orders != nil {
		select {
		case o, ok := <-g.orders:
			g.handleOrder(o, ok)
		case <-time.After(deliveryTime):
			return
		}
	}
}

// untilDue returns how long nothing is due.
func (g *guardian) untilDue(at time.Duration) time.Duration {
	next := g.deadline.Term
	if g.terminated {
		next = g.deadline.Kill
	}
	pause := never
	if g.killed {
		next = g.killAgain
	}
	if next != never {
		pause = min(max(next-at, 0), wakeEvery)
	}
	if !g.leading {
		pause = min(pause, pollEvery)
	}
	return pause
}

// handleOrder obeys the runner. Without a runner nobody renews the lease, and the
// command has to go.
func (g *guardian) handleOrder(o order, ok bool) {
	if !ok {
		g.orders = nil
		o.Kind = orderStop
	}
	switch o.Kind {
	case orderGo:
		g.mayStart = true
	case orderDeadline:
		if !g.terminated { // a renewal after the safety line comes too late
			g.deadline = o.Deadline
		}
	case orderSignal:
		g.pass(syscall.Signal(o.Signal))
	case orderStop:
		g.stop()
	}
}

// pass sends a signal on. One that should end the command warns each time that it
// cannot be sent.
func (g *guardian) pass(s syscall.Signal) {
	err := g.group.signal(s)
	if Ends(s) {
		g.stuck = g.stuck && err == nil
		g.checkSent(err)
	}
}

// openGate lets the command start.
func (g *guardian) openGate() {
	if g.gate != nil {
		_, _ = g.gate.Write([]byte{1})
		g.gate.Close()
		g.gate = nil
	}
}

// stop ends the command before its deadline. The runner knows why, so it reports
// nothing.
func (g *guardian) stop() {
	at := now()
	g.deadline = g.deadline.startingAt(at, g.grace)
	if !g.terminated {
		g.terminated = true
		g.checkSent(g.group.terminate())
	}
}

func (g *guardian) handleChild(c childEvent, ok bool) {
	switch {
	case !ok:
		g.children = nil
	case c.pid != int(g.group):
	case c.status.Stopped():
		send(g.reports, report{Kind: reportStopped, Signal: int(c.status.StopSignal())})
	case c.status.Exited() || c.status.Signaled():
		g.leading = false
		send(g.reports, report{Kind: reportEnded, Status: uint32(c.status)})
	}
}
