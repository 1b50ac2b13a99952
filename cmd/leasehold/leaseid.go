package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/spf13/cobra"
)

const leaseIDHelp = `

The lease id is a secret: whoever shows it may renew, transfer or release. It is
taken from --lease-id, else from $LEASEHOLD_LEASE_ID. Other users of the machine
can read a command line with ps, so prefer the environment, or --lease-id - with
the id on standard input.`

// leaseFlags name a lease that the caller holds.
type leaseFlags struct {
	id       string
	resource string
	holder   string
	token    uint64
}

func (f *leaseFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.id, "lease-id", "", "id of the lease; - reads it from standard input (default $LEASEHOLD_LEASE_ID)")
	flags.StringVar(&f.resource, "resource", "", "resource of the lease; needed only for stores that cannot find a lease by its id")
	flags.StringVar(&f.holder, "holder", "", "refuse unless this is the lease's holder")
	flags.Uint64Var(&f.token, "token", 0, "refuse unless this is the lease's fencing token")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return noneEmpty(cmd, "lease-id", "resource", "holder", "token")
	}
}

// lease returns the id of the lease that the user means.
func (a *app) lease(f leaseFlags) (leasehold.ID, error) {
	text := f.id
	switch {
	case text == "-":
		var err error
		if text, err = a.firstLine(); err != nil {
			return leasehold.ID{}, err
		}
	case text == "":
		text = os.Getenv("LEASEHOLD_LEASE_ID")
	}
	if text == "" {
		return leasehold.ID{}, usagef("names no lease; set LEASEHOLD_LEASE_ID, as eval \"$(leasehold acquire …)\" does, or give --lease-id")
	}
	return leasehold.ParseID(text)
}

// proposed returns the id that a flag proposes, zero if none.
func (a *app) proposed(text string) (leasehold.ID, error) {
	if text == "" {
		return leasehold.ID{}, nil
	}
	return a.lease(leaseFlags{id: text})
}

func (a *app) firstLine() (string, error) {
	line, err := bufio.NewReader(io.LimitReader(a.in, 256)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}
