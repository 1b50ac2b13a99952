package main

import "github.com/spf13/cobra"

func newHook(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "hook", GroupID: groupAgents, Args: cobra.ArbitraryArgs, RunE: a.noSubcommand,
		Short: "What coding agents and git run before an edit, a commit or a push",
	}
	cmd.AddCommand(newHookGit(a))
	return cmd
}
