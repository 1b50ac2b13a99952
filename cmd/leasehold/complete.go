package main

import (
	"context"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
	"github.com/spf13/cobra"
)

const (
	completionLimit = 50
	completionTime  = time.Second
)

// completeResource offers the resources that are leased now. A store that does
// not answer soon offers nothing: whoever pressed Tab is waiting.
func (a *app) completeResource(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	// To open a database file would make it, or take it from its server.
	if len(args) > 0 || !strings.HasPrefix(open.Scheme(a.url()), "http") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	store, err := a.open(ctx, cmd.CommandPath())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer store.Close()
	lister, ok := store.(leasehold.Lister)
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	page, _ := lister.List(ctx, leasehold.ListRequest{Prefix: begun, Limit: completionLimit})
	var names []string
	for _, l := range page.Leases {
		names = append(names, l.Resource+"\theld by "+l.Holder)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
