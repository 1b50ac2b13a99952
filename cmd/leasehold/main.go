// Command leasehold serves leases and asks for them: a durable lease service,
// and a client of it that feels like flock.
package main

import (
	"context"
	"os"
)

func main() {
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	os.Exit(a.run(context.Background(), os.Args[1:]))
}
