package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/serve"
	"github.com/leasehold/leasehold/store/sqlite"
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
		if _, err := os.Stat(filepath.Dir(args[0])); err != nil {
			return err
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

const restoreHelp = `Put a backup in place as the store of a server that is not running: whatever
happens, there is the old file or the new one.

Leases stand as they stood at the time of the backup, with the time they then had
left. Fencing tokens go on 2^32 further, so that none given out since is given
out again.`

func newRestore(a *app) *cobra.Command {
	var data string
	var replace bool
	cmd := &cobra.Command{
		Use: "restore BACKUP", GroupID: groupOperate, Args: exactArgs(1),
		Short: "Put a backup in place", Long: restoreHelp,
		Example: "  leasehold restore leases-2026-01-31.db\n  leasehold restore copy.db --data /var/lib/leasehold --replace",
	}
	cmd.Flags().StringVar(&data, "data", serve.Defaults().Data, "data directory of the server, or a database file")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace the database that is there")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		if _, err := os.Stat(args[0]); err != nil {
			return err
		}
		file, err := restoreTarget(data)
		if err != nil {
			return err
		}
		if err := sqlite.Restore(ctx, args[0], file, &sqlite.RestoreOptions{Replace: replace}); err != nil {
			return adviseFile(err, stopFirst, "")
		}
		return a.printFile("restored", file)
	}
	return cmd
}

// restoreTarget returns the database in a data directory, or the file itself. What
// does not exist is a file if its name ends in .db.
func restoreTarget(data string) (string, error) {
	info, err := os.Stat(data)
	switch {
	case err == nil && info.IsDir():
	case err == nil || filepath.Ext(data) == ".db":
		return data, nil
	default:
		if err := os.MkdirAll(data, 0o700); err != nil {
			return "", err
		}
	}
	return serve.DatabaseFile(data), nil
}
