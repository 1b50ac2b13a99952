package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", GroupID: groupOperate, Args: exactArgs(0),
		Short:   "Read and change run-time settings",
		Long:    "Read and change the run-time settings. They are kept in the store, take effect at\nonce and survive restarts.",
		Example: "  leasehold config list\n  leasehold config get default_ttl_seconds\n  leasehold config set default_ttl_seconds 60",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigList(a), newConfigGet(a), newConfigSet(a))
	return cmd
}

func newConfigList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: exactArgs(0), Short: "List every setting",
		RunE: a.onStoreBriefly(func(ctx context.Context, s leasehold.Store, _ []string) error {
			settings, err := settingsOf(ctx, s)
			if err != nil {
				return err
			}
			return a.printSettings(settings)
		}),
	}
}

func newConfigGet(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get KEY", Args: exactArgs(1), Short: "Print the value of a setting", ValidArgs: settingKeys(),
		RunE: a.onStoreBriefly(func(ctx context.Context, s leasehold.Store, args []string) error {
			settings, err := settingsOf(ctx, s)
			if err != nil {
				return err
			}
			for _, setting := range settings {
				if setting.Key == args[0] {
					return a.printSetting(setting)
				}
			}
			return noSetting(args[0], settings)
		}),
	}
}

func newConfigSet(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "set KEY VALUE", Args: exactArgs(2), Short: "Change a setting", ValidArgs: settingKeys(),
		RunE: a.onStoreBriefly(func(ctx context.Context, s leasehold.Store, args []string) error {
			c, err := power[leasehold.Configurer](s, "configure")
			if err != nil {
				return err
			}
			setting, err := c.SetSetting(ctx, args[0], settingValue(args[1]))
			if err != nil {
				return err
			}
			if setting.RequiresRestart {
				a.note("takes effect when the server is started again")
			}
			return a.printSetting(setting)
		}),
	}
}

func settingsOf(ctx context.Context, s leasehold.Store) ([]leasehold.Setting, error) {
	c, err := power[leasehold.Configurer](s, "settings")
	if err != nil {
		return nil, err
	}
	return c.Settings(ctx)
}

// settingValue decodes a JSON value; other text stays text, which the store
// refuses in its own words.
func settingValue(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

func noSetting(key string, settings []leasehold.Setting) error {
	var known []string
	for _, s := range settings {
		known = append(known, s.Key)
	}
	return usagef("there is no setting %q; there are %s", key, strings.Join(known, ", "))
}

// settingKeys returns the keys for completion, which must not need a server.
func settingKeys() []string {
	var keys []string
	for _, s := range leasehold.DefaultSettings() {
		keys = append(keys, s.Key+"\t"+s.Description)
	}
	return keys
}

func (a *app) printSetting(s leasehold.Setting) error {
	if a.json {
		return a.printJSON(wire.FromSetting(s))
	}
	_, err := fmt.Fprintln(a.out, s.Value)
	return err
}

func (a *app) printSettings(settings []leasehold.Setting) error {
	if a.json {
		w := wire.Settings{Settings: make([]wire.Setting, len(settings))}
		for i, s := range settings {
			w.Settings[i] = wire.FromSetting(s)
		}
		return a.printJSON(w)
	}
	rows := [][]string{{"KEY", "VALUE", "DEFAULT", "MEANING"}}
	for _, s := range settings {
		rows = append(rows, []string{s.Key, fmt.Sprint(s.Value), fmt.Sprint(s.Default), s.Description})
	}
	return table(a.out, rows)
}
