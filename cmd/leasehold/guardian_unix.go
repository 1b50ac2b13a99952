//go:build unix

package main

import (
	"github.com/leasehold/leasehold/internal/guard"
	"github.com/spf13/cobra"
)

// The other two roles of leasehold run, which only the program itself starts.
var (
	guardianArgs = []string{"leasehold", "__guardian"}
	launcherArgs = []string{"leasehold", "__launch"}
)

func init() { commands = append(commands, newGuardian, newLauncher) }

func newGuardian(*app) *cobra.Command {
	return role(guardianArgs[1], func(args []string) int { return guard.Guardian(args, launcherArgs) })
}

func newLauncher(*app) *cobra.Command { return role(launcherArgs[1], guard.Launcher) }

func role(name string, body func(args []string) int) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := body(args); code != 0 {
				return &exitError{code: code}
			}
			return nil
		},
	}
}
