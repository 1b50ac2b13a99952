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

// runner is the first role: it runs a command under a lease and a guardian.
type runner struct {
	command *Command
	lease   Lease
	warn    func(string) // for people
	signals chan os.Signal

	guardian int      // its pid
	orders   *os.File // to the guardian
	reports  <-chan report
	pipes    []*os.File // this process's ends of both
	terminal *terminal

	group        group
	deadline     deadline
	suspendAlone bool // SIGTSTP came to this process, not to its group
	ended        bool // the command has; its group may not be empty
	empty        bool // the group is
	lost         bool
	warned       bool // of a command that cannot be stopped
	outcome      Outcome
	startErr     error            // why the command did not start
	leftover     <-chan time.Time // time to mention what the command left behind
	late         *time.Timer      // at deadline.Kill
}

// noticeAfter is how long processes that a command left behind may take to end
// before the user learns that they are waited for.
const noticeAfter = time.Second

// Signals returns a channel for Run, of the signals that are meant for the command.
// Call it early: from then on it receives those that would end the program.
func Signals() chan os.Signal {
	c := make(chan os.Signal, 64)
	catch(c, endings)
	return c
}

// Run runs the command as long as the lease is held, and returns when the command
// has ended and its process group is empty. An error means that the command did
// not start, and CodeOf has its exit code, or that its guardian died: ErrGuardian.
// Warn is called with messages for the user.
func Run(c *Command, l Lease, signals chan os.Signal, warn func(string)) (Outcome, error) {
	r := &runner{command: c, lease: l, signals: signals, warn: warn, late: time.NewTimer(time.Hour)}
	adopt()
	if err := r.startGuardian(); err != nil {
		return Outcome{}, fmt.Errorf("the guardian cannot be started: %w", err)
	}
	signal.Ignore(syscall.SIGTTOU) // not before: the guardian would inherit it
	catch(signals, others)
	r.terminal = openTerminal()
	defer r.terminal.close()
	r.send(order{Kind: orderPlan, Path: c.Path, Args: c.Args, Grace: c.Grace, Deadline: r.updateDeadline()})
	for r.reports != nil {
		r.step()
	}
	r.waitForGuardian()
	r.outcome.Lost = r.lost
	return r.outcome, r.failure()
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

// updateDeadline computes the deadline from the lease. It reads the clock first:
// time that passes in between must not extend the deadline.
func (r *runner) updateDeadline() deadline {
	at := now()
	line, end := r.lease.Remaining()
	r.deadline = deadlineOf(at, line, end, r.command.Grace)
	r.setTimer(at)
	return r.deadline
}

// setTimer has the runner check at the deadline that the command is gone.
func (r *runner) setTimer(at time.Duration) {
	if r.deadline.Kill == never {
		r.late.Stop()
		return
	}
	r.late.Reset(max(r.deadline.Kill-at, 0))
}

// step handles the next event.
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
		r.handle(report)
	case <-lost:
		r.stopCommand()
	case <-r.lease.Changed():
		if !r.lost {
			r.send(order{Kind: orderDeadline, Deadline: r.updateDeadline()})
		}
	case s := <-r.signals:
		r.pass(s.(syscall.Signal))
	case <-r.leftover:
		r.leftover = nil
		r.warn("the command has ended, but processes that it left in its group run on; the lease is held until they end")
	case <-r.late.C:
		r.enforceDeadline()
	}
}

// stopCommand ends the command because the lease is lost. The last known end of the
// lease bounds its grace.
func (r *runner) stopCommand() {
	r.lost = true
	r.deadline = r.deadline.startingAt(now(), r.command.Grace)
	r.setTimer(now())
	r.send(order{Kind: orderStop})
}

// enforceDeadline kills the command if the guardian has not: it may be stopped.
func (r *runner) enforceDeadline() {
	at := now()
	if at < r.deadline.Kill {
		r.setTimer(at)
		return
	}
	r.lost = true
	if r.group == 0 || r.empty {
		return
	}
	switch err := r.group.kill(); {
	case !errors.Is(err, syscall.EPERM) || r.warned:
	case at < r.deadline.Kill+survivesAfter: // the guardian may still warn
		r.late.Reset(wakeEvery)
	default:
		r.warnStuck(err)
	}
}

// warnStuck warns in the guardian's place.
func (r *runner) warnStuck(refused error) {
	if r.warned {
		return
	}
	if why := r.group.survivors(refused); why != "" {
		r.warned = true
		r.warn(why)
		r.stuck()
	}
}

func (r *runner) stuck() {
	if r.command.Stuck != nil {
		r.command.Stuck()
	}
}

// waitForGuardian waits until the guardian has ended. If it did not report that the
// group is empty it died, and the command has to go.
func (r *runner) waitForGuardian() {
	r.closePipes()
	if !r.empty && r.group != 0 {
		r.killGroup()
	}
	for {
		var status unix.WaitStatus
		if _, err := unix.Wait4(r.guardian, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// killGroup repeats SIGKILL until the group is empty.
func (r *runner) killGroup() {
	for start := now(); ; {
		err := r.group.kill()
		var status unix.WaitStatus
		_, _ = unix.Wait4(-int(r.group), &status, unix.WNOHANG, nil) // orphans that this process adopted
		if r.group.empty() {
			return
		}
		if errors.Is(err, syscall.EPERM) || now()-start >= survivesAfter {
			r.warnStuck(err)
		}
		time.Sleep(pollEvery / 4) // no event says when a foreign process ends
	}
}

// failure returns what went wrong besides the command itself.
func (r *runner) failure() error {
	switch {
	case r.startErr != nil:
		return r.startErr
	case !r.empty && r.warned:
		return fmt.Errorf("%w, and the command, which could not be killed, ran on until it ended", ErrGuardian)
	case !r.empty:
		return fmt.Errorf("%w, so the command was killed", ErrGuardian)
	}
	return nil
}

// ErrGuardian means that the guardian died before the command ended.
var ErrGuardian = errors.New("the guardian of the command died")
