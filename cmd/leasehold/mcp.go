package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"os"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/hook"
	"github.com/leasehold/leasehold/internal/repo"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/server/mcp"
	"github.com/spf13/cobra"
)

const mcpHelp = `Offer leases to a coding agent as tools of the Model Context Protocol, on standard
input and output: lease_acquire, lease_renew, lease_release, lease_status,
lease_history and lease_break. The agent's configuration starts the command; see
docs/mcp.md. A server also has the tools at /mcp.

The holder is --holder, else $LEASEHOLD_HOLDER, else that of the hooks in a session of
Claude Code ($CLAUDE_CODE_SESSION_ID), else a name of this process; the model cannot
choose it. Paths belong to the git repository of the working directory, by
the name that the hooks of coding agents use, unless --namespace. Leases end by their ttl unless the agent renews them. When
the agent ends the session, those that it still holds are released, unless --keep.`

func newMCP(a *app) *cobra.Command {
	var o mcp.Options
	var stream mcp.Stream
	cmd := &cobra.Command{
		Use: "mcp", GroupID: groupHold, Args: exactArgs(0),
		Short: "Offer leases to a coding agent, as an MCP server", Long: mcpHelp,
		Example: "  claude mcp add leasehold -- leasehold mcp\n  leasehold mcp --holder reviewer:1 --namespace shop",
		PreRunE: func(cmd *cobra.Command, _ []string) error { return refuseEmpty(cmd, "holder", "namespace") },
	}
	flags := cmd.Flags()
	flags.StringVar(&stream.Identity.Holder, "holder", "", "who the agent is (default $LEASEHOLD_HOLDER, else the session of Claude Code or a name of this process)")
	flags.StringVar(&stream.Identity.Namespace, "namespace", "", "what paths belong to where the agent names no namespace (default: the git repository here)")
	flags.Var(newTTLFlag(&o.TTL), "ttl", "how long a lease lasts where the agent does not say, or infinite (default: the store's setting "+leasehold.SettingDefaultTTL+")")
	flags.BoolVar(&stream.Keep, "keep", false, "let leases live on until their ttl when the session ends")
	cmd.RunE = a.onStore(func(ctx context.Context, s leasehold.Store, _ []string) error {
		o.Version = readBuildInfo().Version
		stream.Identity.Holder = agentName(stream.Identity.Holder)
		stream.Identity.Namespace = cmp.Or(stream.Identity.Namespace, repositoryHere())
		stream.Identity.Caller = auth.Local // the store itself, or its server, decides what is allowed
		stream.In, stream.Out = a.in, a.out
		return mcp.New(s, &o).ServeStream(ctx, stream)
	})
	return cmd
}

// agentName returns the holder: in a session of Claude Code the one of its hooks, which
// would else refuse the edits of what the agent has acquired here. A generated name has
// a random part: two agents in containers may well have the same process id, and must not
// be the same holder.
func agentName(flag string) string {
	name := holderName(flag, os.Getpid())
	if flag != "" || os.Getenv("LEASEHOLD_HOLDER") != "" {
		return name
	}
	if session := os.Getenv("CLAUDE_CODE_SESSION_ID"); session != "" {
		return hook.Holder("claude", session)
	}
	return name + "-" + strings.ToLower(rand.Text()[:6])
}

// repositoryHere returns the namespace of the working directory's repository; "" outside
// of one.
func repositoryHere() string {
	r, err := repo.Find(".")
	if err != nil || r == nil {
		return ""
	}
	return r.Identity
}
