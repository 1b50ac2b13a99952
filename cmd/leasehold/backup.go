package main

import (
	"context"
	"fmt"
	"os"

	"github.com/leasehold/leasehold"
	"github.com/spf13/cobra"
)

func newBackup(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup FILE", GroupID: groupOperate, Args: exactArgs(1),
		Short: "Copy a running store into a file",
		Long: "Write a consistent copy of a store to a new file on this machine, while the store\n" +
			"goes on. The copy holds lease ids, which are secrets: only you can read it, and\n" +
			"so it should stay. leasehold restore puts it back.",
		Example: "  leasehold backup /var/backups/leases-$(date +%F).db\n  leasehold backup copy.db --store sqlite:leasehold-data/leases.db",
	}
	cmd.RunE = a.onStore(func(ctx context.Context, s leasehold.Store, args []string) error {
		b, err := power[leasehold.Backuper](s, "backup")
		if err != nil {
			return err
		}
		if _, err := os.Lstat(args[0]); err == nil {
			return &exitError{exitExists, args[0] + " exists already; name another file, or move it away"}
		}
		if err := b.Backup(ctx, args[0]); err != nil {
			return err
		}
		return a.printFile("backup", args[0])
	})
	return cmd
}

// printFile prints the name of a file that was written.
func (a *app) printFile(what, path string) error {
	if a.json {
		return a.printJSON(map[string]string{what: path})
	}
	_, err := fmt.Fprintln(a.out, path)
	return err
}
