// Command leasehold serves leases and is a client of leases: a durable lease
// service, and a command line that feels like flock.
//
// Each command has a file of its own, with its flags, its help and its output;
// subcommands are with their parent (token.go, config.go, blob.go). The commands
// share:
//
//   - root.go: the list of commands, the flags that all have, and app, which holds
//     those flags and the streams.
//   - store.go: opening the store, or calling the server, that --store names.
//   - flags.go: values of flags: durations, times, metadata, lease ids, holders.
//   - format.go, progress.go: output for people and for programs.
//   - exit.go: exit codes, error messages with hints, signals.
//
// leasehold serve only reads flags here: package serve assembles the server. The
// part of leasehold run that ends a command in time is package guard.
//
// testdata/script has a script for each use; test/cmd tries the built program.
package main

import (
	"context"
	"os"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable() // of the Redis client: the command's own error says what failed, and where
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	if isHook(os.Args[1:]) {
		os.Exit(a.hook(os.Args[2:]))
	}
	os.Exit(a.run(context.Background(), os.Args[1:]))
}
