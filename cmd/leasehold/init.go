package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/internal/fsutil"
	"github.com/leasehold/leasehold/internal/gitguard"
	"github.com/leasehold/leasehold/internal/setup"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
)

const initHelp = `Set up a repository so that coding agents and people do not edit the same files at the
same time: hooks for Claude Code, Codex and Cursor, and the git guard.

Without --claude, --codex, --cursor and --git it is the git guard, and the tools that
the repository or this machine has. It shows the change, and then asks. What the files
have already stays: nothing is added twice, and no other key or order changes.

--undo takes back exactly what was added, also after others have edited the files.`

// initFlags say what to set up.
type initFlags struct {
	toolFlags
	setup.Options
	yes, dry, undo bool
}

// toolFlags name tools.
type toolFlags struct {
	named map[setup.Tool]*bool
	git   bool
}

func (f *toolFlags) add(cmd *cobra.Command, what string) {
	f.named = map[setup.Tool]*bool{}
	for _, t := range setup.Tools {
		f.named[t] = cmd.Flags().Bool(string(t), false, what+" of "+t.Title())
	}
	cmd.Flags().BoolVar(&f.git, "git", false, what+" of git")
}

func (f *toolFlags) tools() (all []setup.Tool) {
	for _, t := range setup.Tools {
		if *f.named[t] {
			all = append(all, t)
		}
	}
	return all
}

func (f *toolFlags) none() bool { return len(f.tools()) == 0 && !f.git }

func newInit(a *app) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use: "init", GroupID: groupAgents, Args: exactArgs(0),
		Short: "Set up a repository for coding agents and git", Long: initHelp,
		Example: "  leasehold init\n  leasehold init --claude --git --yes\n  leasehold init --mcp --dry-run\n  leasehold init --undo",
	}
	f.add(cmd, "the hooks")
	flags := cmd.Flags()
	flags.BoolVar(&f.MCP, "mcp", false, "also the MCP server, leasehold mcp, for the tools")
	flags.StringVar(&f.Program, "command", "leasehold", "how the hooks call this program")
	flags.BoolVar(&f.FailClosed, "fail-closed", false, "refuse edits, commits and pushes while the server cannot be asked")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&f.dry, "dry-run", false, "only show the change")
	flags.BoolVar(&f.undo, "undo", false, "take back what was added")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return refuseEmpty(cmd, "command", "store") }
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f.Store = a.storeURL
		return a.initialize(cmd.Context(), f)
	}
	return cmd
}

// refusePassword refuses a store URL with a password where it would be written into
// files: others read hooks, and settings are committed.
func refusePassword(store string) error {
	_, rest, _ := strings.Cut(store, "://")
	at := strings.LastIndex(rest, "@")
	if at < 0 || !strings.Contains(rest[:at], ":") {
		return nil
	}
	return usagef("--store has a password, and hooks and settings are files that others read; leave --store out and set LEASEHOLD_STORE where the tools run, or give the password there as LEASEHOLD_STORE_SECRET")
}

func (a *app) initialize(ctx context.Context, f initFlags) error {
	if err := refusePassword(f.Store); err != nil && !f.undo {
		return err
	}
	r, err := openRepository(ctx)
	if err != nil {
		return err
	}
	if f.yes { // nobody is asked, so another one need not wait for an answer
		unlock, err := r.lock()
		if err != nil {
			return err
		}
		defer unlock()
		if r.record, err = r.loadRecord(); err != nil {
			return err
		}
	}
	f.choose(r)
	var plan *setup.Plan
	if f.undo {
		plan, err = setup.Undo(r.root, r.record, f.Options)
	} else {
		plan, err = setup.New(r.root, r.record, f.Options)
	}
	if err != nil {
		return &exitError{exitConfig, err.Error()}
	}
	hooks, err := f.guard(ctx, r, true)
	if err != nil {
		return guardFailure(err)
	}
	if f.git {
		plan.Record.Git = !f.undo
	}
	if err := a.confirm(f, plan, hooks); err != nil || f.dry {
		return err
	}
	if !f.yes {
		unlock, err := r.lock()
		if err != nil {
			return err
		}
		defer unlock()
		if now, err := r.loadRecord(); err != nil || !reflect.DeepEqual(now, r.record) {
			return cmp.Or(err, error(&exitError{exitConfig, "another leasehold init was here in the meantime; nothing was written, run it again"}))
		}
	}
	// The guard refuses more often than a file cannot be written: it comes first.
	if _, err := f.guard(ctx, r, false); err != nil {
		return guardFailure(err)
	}
	if err := plan.Apply(r.root); err != nil {
		if errors.Is(err, setup.ErrChanged) {
			return &exitError{exitConfig, err.Error()}
		}
		return err
	}
	if err := plan.Record.Save(r.recordPath); err != nil {
		return err
	}
	a.noteNext(f, len(plan.Changes)+len(hooks) > 0)
	return nil
}

// repository is where init and doctor work.
type repository struct {
	git        gitguard.Git
	root       string
	record     *setup.Record
	recordPath string
}

func openRepository(ctx context.Context) (*repository, error) {
	r := &repository{}
	var err error
	if r.root, err = r.git.Root(ctx); err != nil {
		return nil, guardFailure(err)
	}
	if r.recordPath, err = r.git.Path(ctx, "leasehold-init.json"); err != nil {
		return nil, err
	}
	r.record, err = r.loadRecord()
	return r, err
}

func (r *repository) loadRecord() (*setup.Record, error) {
	record, err := setup.LoadRecord(r.recordPath)
	if err != nil {
		return nil, &exitError{exitConfig, err.Error()}
	}
	return record, nil
}

// lock waits until no other init writes to the repository: it would overwrite the record
// of this one, and --undo would take back a part.
func (r *repository) lock() (unlock func(), err error) {
	return fsutil.LockDir(filepath.Dir(r.recordPath))
}

// choose finds the tools where none is named.
func (f *initFlags) choose(r *repository) {
	f.Tools = f.tools()
	switch {
	case !f.none():
	case f.undo:
		f.git = true
		for _, t := range setup.Tools {
			if slices.Contains(r.record.Tools(), t) || t.InRepository(r.root) || r.record.Has(t) {
				f.Tools = append(f.Tools, t)
			}
		}
	default:
		f.git, f.Tools = true, setup.Detect(r.root, exec.LookPath)
	}
}

// guard installs or uninstalls the git guard, or says what that would change.
func (f *initFlags) guard(ctx context.Context, r *repository, dry bool) ([]gitguard.Change, error) {
	switch {
	case !f.git:
		return nil, nil
	case f.undo:
		return r.git.Uninstall(ctx, dry)
	}
	return r.git.Install(ctx, gitguard.Options{Program: ownProgram(), Store: f.Store, FailClosed: f.FailClosed}, dry)
}

// fileView is a change of a file in JSON.
type fileView struct {
	Path   string `json:"path"`
	Change string `json:"change"`
	Diff   string `json:"diff,omitempty"`
}

// confirm shows the change and asks whether to make it.
func (a *app) confirm(f initFlags, plan *setup.Plan, hooks []gitguard.Change) error {
	views := []fileView{}
	for _, c := range plan.Changes {
		views = append(views, fileView{c.Path, changeKind(c), changeDiff(c)})
	}
	for _, h := range hooks {
		views = append(views, fileView{Path: h.Path, Change: h.What})
	}
	if a.json {
		if !f.yes && !f.dry {
			return usagef("with --json nobody is asked; give --yes or --dry-run")
		}
		return a.printJSON(map[string]any{"changes": views, "notes": slices.Concat([]string{}, plan.Notes), "dry_run": f.dry})
	}
	for _, v := range views {
		if _, err := fmt.Fprintf(a.out, "%s: %s\n%s", v.Path, v.Change, v.Diff); err != nil {
			return err
		}
	}
	for _, note := range plan.Notes {
		a.note("%s", note)
	}
	if len(views) == 0 || f.dry || f.yes {
		return nil
	}
	fmt.Fprint(a.err, "Make this change? [y/N] ")
	answer, err := a.firstLine()
	if err != nil {
		return err
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return usagef("not confirmed, so nothing was changed; --yes makes the change without asking")
	}
	return nil
}

func changeKind(c setup.Change) string {
	switch {
	case c.Before == nil:
		return "new"
	case c.After == nil:
		return "removed"
	}
	return "changed"
}

// changeDiff shows a change line by line.
func changeDiff(c setup.Change) string {
	text := string(diff.Diff(c.Path, c.Before, c.Path, c.After))
	_, text, _ = strings.Cut(text, "\n") // the line with "diff"
	return text
}

func (a *app) noteNext(f initFlags, changed bool) {
	switch {
	case !changed && f.undo:
		a.note("there is nothing to take back")
		return
	case !changed:
		a.note("everything is set up already")
	case f.undo:
		return
	}
	if _, err := exec.LookPath(filepath.FromSlash(f.Program)); err != nil && len(f.Tools) > 0 {
		a.note("warning: the hooks call %s, which is not in PATH here; put it there, or give --command", f.Program)
	}
	if slices.Contains(f.Tools, setup.Codex) {
		a.note("Codex runs new hooks only after you have reviewed them: open /hooks in it")
	}
	a.note("leasehold doctor --prove shows that the hooks block")
}
