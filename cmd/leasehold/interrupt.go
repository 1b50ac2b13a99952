package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruption is the signal that ended a command.
type interruption struct{ signal os.Signal }

func (i *interruption) Error() string { return "ended by " + i.signal.String() }

// code is what a shell says of a program that a signal ended.
func (i *interruption) code() int {
	if n, ok := i.signal.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitInternal
}

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP ends,
// with an *interruption as its cause. A hangup that was ignored when the program
// started, as nohup has it, stays ignored. The second one ends the process: whoever asks
// twice does not want to wait.
func interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals) // before anybody hears of the first, the second must count
			cancel(&interruption{s})
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, func() { cancel(nil) }
}
