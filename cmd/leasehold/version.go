package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the release build: -ldflags "-X main.version=v1.2.3".
var version = ""

// buildInfo is what version prints.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Args: exactArgs(0),
		Short: "Print the program's version",
		RunE: func(*cobra.Command, []string) error {
			info := readBuildInfo()
			if a.json {
				return a.printJSON(info)
			}
			line := fmt.Sprintf("leasehold %s %s %s", info.Version, info.Go, info.Platform)
			if info.Commit != "" {
				line += " " + info.Commit
			}
			_, err := fmt.Fprintln(a.out, line)
			return err
		},
	}
}

func readBuildInfo() buildInfo {
	info := buildInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok {
		if info.Version == "" {
			info.Version = build.Main.Version
		}
		for _, s := range build.Settings {
			if s.Key == "vcs.revision" {
				info.Commit = s.Value
			}
		}
	}
	if info.Version == "" || info.Version == "(devel)" {
		info.Version = "dev"
	}
	return info
}
