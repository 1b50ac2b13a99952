// Cron runs a command once a day, on whichever machine comes first. Put it into
// the crontab of all of them:
//
//	0 2 * * * cron report -- /usr/local/bin/send-report
//
// The store is $LEASEHOLD_STORE, or the server on this machine.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
)

// spread is how much the machines' clocks may differ, and the limit of the job:
// for so long after a start no other machine starts the job of the same day.
const spread = time.Hour

func main() {
	if len(os.Args) < 4 || os.Args[2] != "--" {
		log.Fatal("usage: cron NAME -- COMMAND [ARG…]")
	}
	url := cmp.Or(os.Getenv("LEASEHOLD_STORE"), "http://127.0.0.1:8105")
	if err := run(context.Background(), url, os.Args[1], os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, name string, command []string) error {
	store, err := open.Store(ctx, url, nil)
	if err != nil {
		return err
	}
	defer store.Close()

	host, err := os.Hostname()
	if err != nil {
		return err
	}
	// The day is in the name: tomorrow's job is another resource.
	day := fmt.Sprintf("cron:%s:%s", name, time.Now().UTC().Format(time.DateOnly))
	grant, err := store.Acquire(ctx, leasehold.AcquireRequest{
		Resource: day, Holder: fmt.Sprintf("%s:%d", host, os.Getpid()), TTL: spread,
	})
	if e := (*leasehold.Error)(nil); errors.Is(err, leasehold.ErrHeld) && errors.As(err, &e) {
		fmt.Printf("%s: left to %s\n", day, e.Current.Holder)
		return nil
	}
	if err != nil {
		return err
	}

	// A lease that nobody renews ends by itself, so the job must end before.
	ctx, cancel := context.WithTimeout(ctx, spread*9/10)
	defer cancel()
	job := exec.CommandContext(ctx, command[0], command[1:]...)
	job.Env = append(os.Environ(), fmt.Sprintf("LEASEHOLD_TOKEN=%d", grant.Token))
	job.Stdout, job.Stderr = os.Stdout, os.Stderr
	if err := job.Run(); err != nil {
		// Another machine, or the next start, may try again.
		_, release := store.Release(context.WithoutCancel(ctx), leasehold.ReleaseRequest{ID: grant.ID, Resource: day})
		return errors.Join(err, release)
	}
	// The lease stays: a machine whose clock is late must find the job done.
	return nil
}
