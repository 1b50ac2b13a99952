package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/gitguard"
	"github.com/leasehold/leasehold/internal/prove"
	"github.com/leasehold/leasehold/internal/repo"
	"github.com/leasehold/leasehold/internal/setup"
	"github.com/spf13/cobra"
)

const doctorHelp = `Check what a repository is set up with: the server, the name of the repository, the
hooks of coding agents and of git.

With --prove each hook has to show that it blocks: somebody else takes a lease on a path
that does not exist, the command of the settings is run as the tool or git would run it,
and must refuse; when the lease is released it must allow. Nothing in the work tree, the
index or git's objects changes.

A hook is missing if leasehold init has set it up here, if the repository has a folder
of that tool, or if a flag names it; with such a flag only the named hooks are checked.
Exit code 69 without a server, 78 if a hook is missing, broken or does not block, 77 if
the server does not let the token do what the hooks need.`

// The states of a check.
const (
	checkOK      = "ok"
	checkBlocks  = "blocks"
	checkNotSet  = "not set up"
	checkMissing = "missing"
	checkBroken  = "broken"
	checkPasses  = "does not block"
	checkDown    = "unreachable"
	checkRefused = "not allowed"
)

// check is one line of the doctor.
type check struct {
	Name   string `json:"check"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Next   string `json:"next_step,omitempty"`
}

// isFine says whether the check is no reason to fail.
func (c check) isFine() bool {
	return c.Status == checkOK || c.Status == checkBlocks || c.Status == checkNotSet
}

type doctorFlags struct {
	toolFlags
	prove bool
}

func newDoctor(a *app) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use: "doctor", GroupID: groupAgents, Args: exactArgs(0),
		Short: "Check the set-up of a repository; with --prove, that it blocks", Long: doctorHelp,
		Example: "  leasehold doctor\n  leasehold doctor --prove --json\n  leasehold doctor --prove --claude --git",
	}
	f.add(cmd, "only the hooks")
	cmd.Flags().BoolVar(&f.prove, "prove", false, "fire a conflicting change through each hook")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		return interruptionOr(ctx, a.examine(ctx, f))
	}
	return cmd
}

// doctor is one examination.
type doctor struct {
	*repository
	app    *app
	flags  doctorFlags
	prover *prove.Prover // nil: nothing is proven
	checks []check
}

func (a *app) examine(ctx context.Context, f doctorFlags) error {
	r, err := openRepository(ctx)
	if err != nil {
		return err
	}
	d := &doctor{app: a, repository: r, flags: f}
	d.checkVersions(ctx)
	namespace := d.checkIdentity()
	store := d.checkServer(ctx, namespace)
	if store != nil {
		defer store.Close()
		if f.prove {
			d.prover = &prove.Prover{Store: store, Root: r.root, Namespace: namespace, Git: r.git}
		}
	}
	for _, t := range setup.Tools {
		if f.none() || *f.named[t] {
			d.checkAgent(ctx, t)
		}
	}
	if f.none() || f.git {
		d.checkGuard(ctx)
	}
	return d.print()
}

func (d *doctor) add(name, status, detail, next string) {
	d.checks = append(d.checks, check{name, status, detail, next})
}

func (d *doctor) checkVersions(ctx context.Context) {
	info := readBuildInfo()
	d.add("leasehold", checkOK, strings.TrimSpace(info.Version+" "+info.Commit), "")
	if v, err := d.git.Version(ctx); err == nil {
		d.add("git", checkOK, v, "")
	}
}

// checkIdentity returns the namespace of the repository's paths.
func (d *doctor) checkIdentity() string {
	found, err := repo.Find(d.root)
	if err == nil && found == nil {
		err = gitguard.ErrNoRepository
	}
	if err != nil {
		d.add("repository", checkBroken, err.Error(), "")
		return ""
	}
	d.add("repository", checkOK, found.Identity+", in "+d.root, "")
	return found.Identity
}

// checkServer returns the store if it answers what hooks ask of it.
func (d *doctor) checkServer(ctx context.Context, namespace string) leasehold.Store {
	const name, next = "server", "leasehold serve starts one; LEASEHOLD_STORE names another"
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, guardLimit)
	defer cancel()
	store, err := d.app.open(ctx, "leasehold doctor")
	if err != nil {
		d.add(name, checkDown, err.Error(), next)
		return nil
	}
	lister, err := power[leasehold.Lister](store, "list")
	if err == nil {
		_, err = lister.List(ctx, leasehold.ListRequest{Namespace: namespace, Limit: 1})
		if errors.Is(err, leasehold.ErrUnsupported) { // a store without path sets has plain names
			_, err = lister.List(ctx, leasehold.ListRequest{Prefix: namespace + "/", Limit: 1})
		}
	}
	switch {
	case leasehold.ReasonOf(err) == leasehold.ReasonForbidden: // hooks of agents do without a list
		d.add(name, checkRefused, err.Error(), "the git guard needs a token that has the role reader, too")
		return store
	case errors.Is(err, leasehold.ErrForbidden):
		d.add(name, checkRefused, err.Error(), nextToken)
		store.Close()
		return nil
	}
	if err != nil {
		d.add(name, checkDown, err.Error(), next)
		store.Close()
		return nil
	}
	d.add(name, checkOK, fmt.Sprintf("%s answers in %s", d.app.url(), span(time.Since(started))), "")
	return store
}

// nextToken is what to do where the server does not know the caller, or not as one that
// may do what a hook does.
const nextToken = "--token-file or LEASEHOLD_TOKEN_FILE names a token with the roles holder and reader, and with --holders for what they hold: leasehold token new makes one"

// expects says whether a hook that is not there is missing.
func (d *doctor) expects(named bool, recorded bool, there bool) bool {
	return named || d.flags.none() && (recorded || there)
}

// checkAgent examines the hooks of one tool.
func (d *doctor) checkAgent(ctx context.Context, t setup.Tool) {
	next := "leasehold init --" + string(t)
	found, err := setup.Inspect(d.root, t)
	switch {
	case err != nil:
		d.add(string(t), checkBroken, err.Error(), next)
	case !found.There && d.expects(*d.flags.named[t], slices.Contains(d.record.Tools(), t), t.InRepository(d.root)):
		d.add(string(t), checkMissing, "no hook in "+t.Settings(), next)
	case !found.There:
		d.add(string(t), checkNotSet, "", "")
	case found.Before == "":
		d.add(string(t), checkMissing, "no hook for "+t.BeforeEvent()+" in "+t.Settings(), next)
	default:
		d.proveAgent(ctx, t, found)
	}
}

func (d *doctor) proveAgent(ctx context.Context, t setup.Tool, found setup.Inspection) {
	status, detail, next := checkOK, t.Settings()+" runs "+found.Before, ""
	if program := firstWord(found.Before); !strings.Contains(program, "$") {
		if _, err := exec.LookPath(program); err != nil {
			d.add(string(t), checkBroken, detail+", but there is no program "+program, "put it into PATH, or leasehold init --command PATH")
			return
		}
	}
	if d.prover != nil {
		status, detail, next = d.verdict(d.prover.Agent(ctx, t, found), detail)
	}
	if len(found.Missing) > 0 && status != checkPasses && status != checkBroken {
		status, next = checkMissing, "leasehold init --"+string(t)
		detail += "; no hook for " + strings.Join(found.Missing, ", ")
	}
	d.add(string(t), status, detail, next)
}

// firstWord is the program of a command line: quoted, if its path has a space.
func firstWord(command string) string {
	command = strings.TrimSpace(command)
	for _, quote := range []string{"'", `"`} {
		if rest, ok := strings.CutPrefix(command, quote); ok {
			word, _, _ := strings.Cut(rest, quote)
			return word
		}
	}
	word, _, _ := strings.Cut(command, " ")
	return word
}

// verdict is what a proof says about a hook.
func (d *doctor) verdict(err error, detail string) (status, text, next string) {
	switch {
	case err == nil:
		return checkBlocks, detail + "; refused while held, allowed after release", ""
	case errors.Is(err, prove.ErrNotProven):
		return checkPasses, strings.TrimPrefix(err.Error(), prove.ErrNotProven.Error()+": "), "run it by hand; it must use " + d.app.url() + " and the repository's own name"
	case errors.Is(err, leasehold.ErrForbidden):
		return checkRefused, err.Error(), nextToken
	}
	return checkBroken, err.Error(), ""
}

// checkGuard examines the hooks of git.
func (d *doctor) checkGuard(ctx context.Context) {
	hooks, err := d.git.Hooks(ctx)
	if err != nil {
		d.add("git guard", checkBroken, err.Error(), "")
		return
	}
	there := slices.ContainsFunc(hooks, func(h gitguard.Hook) bool { return h.Status != gitguard.Absent })
	for _, h := range hooks {
		const next = "leasehold guard install"
		switch {
		case h.Status == gitguard.Absent && d.expects(d.flags.git, d.record.Git, there):
			d.add(h.Name, checkMissing, "no guard in "+h.Path, next)
		case h.Status == gitguard.Absent:
			d.add(h.Name, checkNotSet, "", "")
		case h.Status != gitguard.Installed:
			d.add(h.Name, checkBroken, h.Path+" is "+string(h.Status), next+" says what to do")
		case d.prover == nil:
			d.add(h.Name, checkOK, h.Path, "")
		default:
			status, detail, next := d.verdict(d.prover.GitHook(ctx, h), h.Path)
			d.add(h.Name, status, detail, next)
		}
	}
}

// code is the exit code: of what stands in the way of all else first.
func (d *doctor) code() int {
	code := exitOK
	for _, c := range d.checks {
		switch {
		case c.Status == checkDown:
			return exitUnavailable
		case c.Status == checkRefused && code == exitOK:
			code = exitForbidden
		case c.Status != checkRefused && !c.isFine():
			code = exitConfig
		}
	}
	return code
}

// print writes the checks, and fails if one of them is not fine.
func (d *doctor) print() error {
	code := d.code()
	var err error
	if d.app.json {
		err = d.app.printJSON(map[string]any{"ok": code == exitOK, "proved": d.prover != nil, "checks": d.checks})
	} else {
		rows := [][]string{{"CHECK", "STATUS", "DETAIL"}}
		for _, c := range d.checks {
			rows = append(rows, []string{c.Name, c.Status, orDash(visible(c.Detail))})
		}
		err = table(d.app.out, rows)
		for _, c := range d.checks {
			if c.Next != "" {
				d.app.note("%s: %s\n  → %s", c.Name, c.Status, c.Next)
			}
		}
	}
	if err != nil {
		return err
	}
	return exitIf(code != exitOK, code)
}
