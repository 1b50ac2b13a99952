package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/leasehold/leasehold/server/auth"
	"github.com/spf13/cobra"
)

const tokenHelp = `Manage the tokens that a server knows its callers by. They are kept as hashes in
the file that leasehold serve --token-file names; a running server notices a
change within two seconds.

Roles: reader (lists, history, events), holder (acquire, renew, release,
transfer), operator (break, force-release, settings, backup). --holders and
--resources narrow the role holder: exact names, or prefixes that end in *.`

func newToken(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "token", GroupID: groupOperate, Args: exactArgs(0),
		Short: "Make, list and revoke tokens of a server", Long: tokenHelp,
		Example: "  leasehold token new ci --role holder --holders 'ci:*' --token-file tokens > ci.secret\n" +
			"  leasehold token list --token-file tokens\n" +
			"  leasehold token revoke ci --token-file tokens\n" +
			"  leasehold acquire deploy --holder ci:1 --token-file ci.secret",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	// It hides the flag of the same name that all commands have, which names the
	// caller's own secret.
	cmd.PersistentFlags().StringVar(&file, "token-file", "", "the server's token file (required)")
	cmd.AddCommand(newTokenNew(a, &file), newTokenList(a, &file), newTokenRevoke(a, &file))
	return cmd
}

func needFile(file string) error {
	if file == "" {
		return usagef("names no token file; give --token-file FILE, the one that leasehold serve was given")
	}
	return nil
}

func newTokenNew(a *app, file *string) *cobra.Command {
	var spec auth.TokenSpec
	var roles []string
	var expires string
	cmd := &cobra.Command{
		Use: "new NAME", Args: exactArgs(1),
		Short: "Make a token and print its secret, this once",
		Long: "Make a token and print its secret. It is not kept anywhere: save it now, in a file\n" +
			"that only its owner can read. With --cert a client certificate of that name stands\n" +
			"for the token, and there is no secret.",
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&roles, "role", []string{string(auth.RoleHolder)}, "reader, holder, operator (repeatable)")
	flags.StringArrayVar(&spec.Holders, "holders", nil, "holder that it may act for, or a prefix with * (repeatable; default any)")
	flags.StringArrayVar(&spec.Resources, "resources", nil, "resource that it may hold, or a prefix with * (repeatable; default any)")
	flags.StringVar(&expires, "expires", "", "when it ends: 720h from now, or a time in RFC 3339 (default never)")
	flags.StringVar(&spec.Cert, "cert", "", "name in the client certificate that stands for it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := needFile(*file); err != nil {
			return err
		}
		if err := refuseEmpty(cmd, "expires", "cert"); err != nil {
			return err
		}
		spec.Name = args[0]
		for _, r := range roles {
			spec.Roles = append(spec.Roles, auth.Role(r))
		}
		var err error
		if spec.Expires, err = parseExpiry(expires, time.Now()); err != nil {
			return err
		}
		secret, err := auth.CreateToken(*file, spec)
		if err != nil {
			return err
		}
		return a.printSecret(spec.Name, secret)
	}
	return cmd
}

// parseExpiry reads a time: a duration from now, or RFC 3339. Empty is never,
// which is nil.
func parseExpiry(s string, now time.Time) (*time.Time, error) {
	if s == "" {
		return nil, nil
	}
	if d, err := parseDuration(s); err == nil {
		return new(now.Add(d)), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, usagef("--expires is %q; want a duration such as 720h, or a time such as 2026-12-31T00:00:00Z", s)
	}
	return &t, nil
}

func (a *app) printSecret(name, secret string) error {
	if a.json {
		return a.printJSON(map[string]string{"name": name, "secret": secret})
	}
	if secret == "" {
		a.note("made %s; its certificate stands for it", name)
		return nil
	}
	a.note("made %s; this is its secret, which cannot be shown again:", name)
	_, err := fmt.Fprintln(a.out, secret)
	return err
}

func newTokenList(a *app, file *string) *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: exactArgs(0), Short: "List the tokens, without their secrets",
		RunE: func(*cobra.Command, []string) error {
			if err := needFile(*file); err != nil {
				return err
			}
			tokens, err := auth.ListTokens(*file)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string][]auth.Token{"tokens": append([]auth.Token{}, tokens...)})
			}
			return table(a.out, tokenRows(tokens, time.Now()))
		},
	}
}

func tokenRows(tokens []auth.Token, now time.Time) [][]string {
	rows := [][]string{{"NAME", "ROLES", "HOLDERS", "RESOURCES", "CREATED", "EXPIRES", "CERTIFICATE"}}
	for _, t := range tokens {
		var roles []string
		for _, r := range t.Roles {
			roles = append(roles, string(r))
		}
		rows = append(rows, []string{
			t.Name, strings.Join(roles, ","), orAny(t.Holders), orAny(t.Resources),
			ago(t.Created, now), expiry(t, now), t.Cert,
		})
	}
	return rows
}

func orAny(patterns []string) string {
	if len(patterns) == 0 {
		return "any"
	}
	return strings.Join(patterns, ",")
}

func expiry(t auth.Token, now time.Time) string {
	switch {
	case t.Expires == nil:
		return "never"
	case t.Expired(now):
		return "expired " + span(now.Sub(*t.Expires)) + " ago"
	}
	return "in " + span(t.Expires.Sub(now))
}

func newTokenRevoke(a *app, file *string) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Args: exactArgs(1), Short: "Remove a token",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := needFile(*file); err != nil {
				return err
			}
			if err := auth.RevokeToken(*file, args[0]); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"revoked": args[0]})
			}
			a.note("revoked %s; servers notice within two seconds", args[0])
			return nil
		},
	}
}
