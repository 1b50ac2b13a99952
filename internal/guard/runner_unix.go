//go:build unix

package guard

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runner is the first role, seen from the process side: what it takes to run a
// command under a lease and a guardian.
type runner struct {
	command *Command
	lease   Lease
	tell    func(string) // for people
	signals chan os.Signal

	guardian int      // its pid
	orders   *os.File // to the guardian
	reports  <-chan report
	pipes    []*os.File // our ends of both
	terminal *terminal

	group    group
	deadline deadline
	asked    bool // somebody asked this process alone to be suspended
	ended    bool // the command has; its group may not be empty
	empty    bool // the group is
	lost     bool
	warned   bool // people know that the command cannot be stopped
	outcome  Outcome
	fault    error // why the command did not begin
	leftover <-chan time.Time
	late     *time.Timer
}

// noticeAfter is how long processes that a command left behind may take to end
// before anybody is told that they are waited for.
const noticeAfter = time.Second

// Signals returns a channel for the signals that are meant for the command. It
// already gets those that would end the program: ask for it early and give it
// to Run, and none is lost in between.
func Signals() chan os.Signal {
	c := make(chan os.Signal, 64)
	hear(c, endings)
	return c
}

// Run runs the command as long as the lease is held, and returns when the
// command has ended and its process group is empty. An error means that there
// was no command, or that its guardian failed; CodeOf knows the code of the
// former. Tell is called with what people should know.
func Run(c *Command, l Lease, signals chan os.Signal, tell func(string)) (Outcome, error) {
	r := &runner{command: c, lease: l, signals: signals, tell: tell, late: time.NewTimer(time.Hour)}
	adopt()
	if err := r.startGuardian(); err != nil {
		return Outcome{}, fmt.Errorf("the guardian cannot be started: %w", err)
	}
	signal.Ignore(syscall.SIGTTOU) // not before: the guardian would inherit it
	hear(signals, others)
	r.terminal = openTerminal()
	defer r.terminal.close()
	r.send(order{Kind: orderPlan, Path: c.Path, Args: c.Args, Grace: c.Grace, Deadline: r.draw()})
	for r.reports != nil {
		r.step()
	}
	r.reap()
	r.outcome.Lost = r.lost
	return r.outcome, r.verdict()
}

func (r *runner) startGuardian() error {
	ordersOut, orders, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ordersOut.Close()
	reportsOut, reports, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reports.Close()
	r.pipes = []*os.File{orders, reportsOut}
	r.guardian, err = start(r.command.Guardian, r.command.Env, new(syscall.SysProcAttr), ordersOut, reports)
	if err != nil {
		r.closePipes()
		return err
	}
	r.orders, r.reports = orders, receive[report](reportsOut)
	return nil
}

func (r *runner) closePipes() {
	for _, p := range r.pipes {
		p.Close()
	}
}

func (r *runner) send(o order) { send(r.orders, o) }

// draw draws the deadline anew. The clock is read before the lease is asked:
// else what passes in between would be counted twice.
func (r *runner) draw() deadline {
	at := now()
	line, end := r.lease.Remaining()
	r.deadline = deadlineOf(at, line, end, r.command.Grace)
	r.watchDeadline(at)
	return r.deadline
}

// watchDeadline has the runner itself look at the moment at which everything
// should be over.
func (r *runner) watchDeadline(at time.Duration) {
	if r.deadline.Kill == never {
		r.late.Stop()
		return
	}
	r.late.Reset(max(r.deadline.Kill-at, 0))
}

// step waits for the next thing to happen and does what it asks for.
func (r *runner) step() {
	lost := r.lease.Lost()
	if r.lost {
		lost = nil
	}
	select {
	case report, ok := <-r.reports:
		if !ok {
			r.reports = nil
			return
		}
		r.hear(report)
	case <-lost:
		r.lose()
	case <-r.lease.Changed():
		if !r.lost {
			r.send(order{Kind: orderDeadline, Deadline: r.draw()})
		}
	case s := <-r.signals:
		r.pass(s.(syscall.Signal))
	case <-r.leftover:
		r.leftover = nil
		r.tell("the command has ended, but processes that it left in its group run on; the lease is held until they end")
	case <-r.late.C:
		r.judge()
	}
}

// lose ends the command because the lease is lost. What was left of the lease
// when last seen bounds its grace.
func (r *runner) lose() {
	r.lost = true
	r.deadline = r.deadline.hasten(now(), r.command.Grace)
	r.watchDeadline(now())
	r.send(order{Kind: orderStop})
}

// judge does the guardian's work if it has not: it may be stopped.
func (r *runner) judge() {
	at := now()
	if at < r.deadline.Kill {
		r.watchDeadline(at)
		return
	}
	r.lost = true
	if r.group == 0 || r.empty {
		return
	}
	switch err := r.group.kill(); {
	case !errors.Is(err, syscall.EPERM) || r.warned:
	case at < r.deadline.Kill+survivesAfter: // the guardian's warning may be under way
		r.late.Reset(wakeEvery)
	default:
		r.warnStuck(err)
	}
}

// warnStuck says what the guardian would, where that does not act.
func (r *runner) warnStuck(refused error) {
	if r.warned {
		return
	}
	if why := r.group.survivors(refused); why != "" {
		r.warned = true
		r.tell(why)
		r.stuck()
	}
}

func (r *runner) stuck() {
	if r.command.Stuck != nil {
		r.command.Stuck()
	}
}

// reap waits for the guardian. If it did not say that the group is empty, it
// died, and what it guarded has to go.
func (r *runner) reap() {
	r.closePipes()
	if !r.empty && r.group != 0 {
		r.clear()
	}
	for {
		var status unix.WaitStatus
		if _, err := unix.Wait4(r.guardian, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// clear kills the group until it is empty.
func (r *runner) clear() {
	for begin := now(); ; {
		err := r.group.kill()
		var status unix.WaitStatus
		_, _ = unix.Wait4(-int(r.group), &status, unix.WNOHANG, nil) // orphans that came to us
		if r.group.empty() {
			return
		}
		if errors.Is(err, syscall.EPERM) || now()-begin >= survivesAfter {
			r.warnStuck(err)
		}
		time.Sleep(lookEvery / 4) // nobody tells when a foreign process ends
	}
}

// verdict says what went wrong besides the command itself.
func (r *runner) verdict() error {
	switch {
	case r.fault != nil:
		return r.fault
	case !r.empty && r.warned:
		return fmt.Errorf("%w, and the command, which could not be killed, ran on until it ended", ErrGuardian)
	case !r.empty:
		return fmt.Errorf("%w, so the command was killed", ErrGuardian)
	}
	return nil
}

// ErrGuardian means that the guardian died before the command ended.
var ErrGuardian = errors.New("the guardian of the command died")
