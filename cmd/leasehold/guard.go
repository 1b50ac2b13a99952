package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/leasehold/leasehold/internal/gitguard"
	"github.com/spf13/cobra"
)

const guardHelp = `Keep commits and pushes away from paths that others hold.

The guard is a pre-commit and a pre-push hook of git. A hook that is there already goes
on running, before the guard, with its arguments, its input and its exit code. Where
hooks are, git says: core.hooksPath and worktrees are honoured.`

func newGuard(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "guard", GroupID: groupAgents, Args: cobra.ArbitraryArgs, RunE: a.noSubcommand,
		Short: "Install the git guard", Long: guardHelp,
		Example: "  leasehold guard install\n  leasehold guard status\n  leasehold guard uninstall",
	}
	cmd.AddCommand(newGuardInstall(a), newGuardUninstall(a), newGuardStatus(a))
	return cmd
}

// noSubcommand runs for a command that has only subcommands.
func (a *app) noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("there is no command %q; see %s --help", cmd.CommandPath()+" "+args[0], cmd.CommandPath())
	}
	return cmd.Help()
}

func newGuardInstall(a *app) *cobra.Command {
	var o gitguard.Options
	var dry bool
	cmd := &cobra.Command{
		Use: "install", Args: exactArgs(0),
		Short: "Install the hooks; hooks that are there go on running",
		Long: "Install the pre-commit and pre-push hooks. Installing again changes nothing. With\n" +
			"--store the hooks use that store, else the one of the environment in which git runs.",
	}
	cmd.Flags().BoolVar(&o.FailClosed, "fail-closed", false, "refuse commits and pushes while the server cannot be asked")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would change")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := refusePassword(a.storeURL); err != nil {
			return err
		}
		git := gitguard.Git{}
		o.Store, o.Program = a.storeURL, ownProgram()
		changes, err := git.Install(cmd.Context(), o, dry)
		if err != nil {
			return guardFailure(err)
		}
		if git.HooksPathFrom(cmd.Context()) == "global" && len(changes) > 0 {
			a.note("core.hooksPath is set in your global configuration: the guard is for all repositories that use it")
		}
		return a.printChanges(changes, "the guard is installed already", dry)
	}
	return cmd
}

// ownProgram is the path of this program, for hooks that run without its PATH.
func ownProgram() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

func newGuardUninstall(a *app) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "uninstall", Args: exactArgs(0),
		Short: "Remove the hooks and put back those of before",
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would change")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		changes, err := gitguard.Git{}.Uninstall(cmd.Context(), dry)
		if err != nil {
			return guardFailure(err)
		}
		return a.printChanges(changes, "the guard is not installed", dry)
	}
	return cmd
}

// guardFailure gives the errors of gitguard their exit codes.
func guardFailure(err error) error {
	switch {
	case errors.Is(err, gitguard.ErrNoRepository):
		return &exitError{exitNotFound, err.Error()}
	case errors.Is(err, gitguard.ErrChanged), errors.Is(err, gitguard.ErrNoHooks):
		return &exitError{exitConfig, err.Error()}
	}
	return err
}

// changeView is a change in JSON.
type changeView struct {
	Path   string `json:"path"`
	Change string `json:"change"`
}

func (a *app) printChanges(changes []gitguard.Change, none string, dry bool) error {
	if a.json {
		views := []changeView{}
		for _, c := range changes {
			views = append(views, changeView{c.Path, c.What})
		}
		return a.printJSON(map[string]any{"changes": views, "dry_run": dry})
	}
	if len(changes) == 0 {
		a.note("%s", none)
	}
	for _, c := range changes {
		if _, err := fmt.Fprintf(a.out, "%s: %s\n", c.Path, c.What); err != nil {
			return err
		}
	}
	return nil
}

// hookView is a hook of the guard in JSON.
type hookView struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Status string `json:"status"`
	Kept   string `json:"kept,omitempty"`
}

func newGuardStatus(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Args: exactArgs(0),
		Short: "Show the hooks; exit code 78 unless both are installed",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		hooks, err := gitguard.Git{}.Hooks(cmd.Context())
		if err != nil {
			return guardFailure(err)
		}
		all := true
		views := []hookView{}
		rows := [][]string{{"HOOK", "STATUS", "PATH", "RUNS FIRST"}}
		for _, h := range hooks {
			all = all && h.Status == gitguard.Installed
			views = append(views, hookView{h.Name, h.Path, string(h.Status), h.Kept})
			rows = append(rows, []string{h.Name, string(h.Status), h.Path, orDash(h.Kept)})
		}
		if a.json {
			err = a.printJSON(map[string]any{"installed": all, "hooks": views})
		} else {
			err = table(a.out, rows)
		}
		if err != nil {
			return err
		}
		return exitIf(!all, exitConfig)
	}
	return cmd
}
