package prove

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/gitguard"
	"github.com/leasehold/leasehold/internal/setup"
	"github.com/leasehold/leasehold/store/memory"
)

// flagged writes the holder to a file while the lease is held: the hooks of these tests
// are shell scripts that look there.
type flagged struct {
	leasehold.Store
	file      string
	claimless bool
}

func (f flagged) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if f.claimless && r.Claims != nil {
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnsupported}
	}
	if err := os.WriteFile(f.file, []byte(r.Holder), 0o600); err != nil {
		return leasehold.Grant{}, err
	}
	return f.Store.Acquire(ctx, r)
}

func (f flagged) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	_ = os.Remove(f.file)
	return f.Store.Release(ctx, r)
}

func newProver(t *testing.T) (*Prover, string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the hooks of this test are shell scripts")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	root := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	store := memory.New()
	t.Cleanup(func() { store.Close() })
	file := filepath.Join(t.TempDir(), "held")
	return &Prover{
		Store: flagged{Store: store, file: file}, Root: root, Namespace: "shop",
		Git: gitguard.Git{Dir: root}, Env: []string{"HELD=" + file},
	}, file
}

const (
	denyJSON   = `printf '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"held by %s"}}' "$(cat "$HELD")"`
	denyCursor = `printf '{"permission":"deny","agent_message":"held by %s"}' "$(cat "$HELD")"`
	denyCode   = `cat "$HELD" >&2; exit 2`
	whenHeld   = `cat >/dev/null; if [ -e "$HELD" ]; then `
)

func TestAgent(t *testing.T) {
	p, _ := newProver(t)
	for name, c := range map[string]struct {
		tool    setup.Tool
		command string
		want    string // of the error; empty: it blocks
	}{
		"claude":           {setup.Claude, whenHeld + denyJSON + "; fi", ""},
		"claude, code 2":   {setup.Claude, whenHeld + denyCode + "; fi", ""},
		"codex":            {setup.Codex, whenHeld + denyCode + "; fi", ""},
		"codex, JSON":      {setup.Codex, whenHeld + denyJSON + "; fi", ""},
		"cursor":           {setup.Cursor, whenHeld + denyCursor + "; fi", ""},
		"lets all pass":    {setup.Claude, "echo hello", "it let a change of a path pass that another holds; it exited with 0 and said hello"},
		"fails":            {setup.Claude, "exit 1", "it exited with 1 and said nothing"},
		"codex in silence": {setup.Codex, "exit 2", "let a change"},
		"form of another":  {setup.Cursor, whenHeld + denyJSON + "; fi", "let a change"},
		"refuses all":      {setup.Claude, `echo "$(cat "$HELD" 2>/dev/null)" >&2; exit 2`, "it also refused a change of a path that is free"},
		"other reason":     {setup.Claude, "echo no server >&2; exit 2", "for another reason"},
	} {
		err := p.Agent(t.Context(), c.tool, setup.Inspection{Before: c.command, End: "exit 1"})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: Agent = %v, want nil", name, err)
		case c.want != "" && (!errors.Is(err, ErrNotProven) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: Agent = %v, want %q", name, err, c.want)
		}
	}
	for _, command := range []string{
		`cat >/dev/null; echo "Leasehold did not check this edit: acquire: the caller may not do this; ask an operator for a role that may"`,
		`cat >/dev/null; echo "acquire: the caller is not known; send valid credentials" >&2; exit 2`,
	} {
		err := p.Agent(t.Context(), setup.Claude, setup.Inspection{Before: command})
		if !errors.Is(err, leasehold.ErrForbidden) || errors.Is(err, ErrNotProven) {
			t.Errorf("Agent with %s = %v, want ErrForbidden and not ErrNotProven", command, err)
		}
	}
	const refuses = `cat >/dev/null; echo "not released: force-release: the caller may not do this; ask an operator for a role that may" >&2`
	if err := p.Agent(t.Context(), setup.Claude, setup.Inspection{Before: whenHeld + denyJSON + "; fi", End: refuses}); !errors.Is(err, leasehold.ErrForbidden) {
		t.Errorf("Agent whose session may not release = %v, want ErrForbidden", err)
	}
	p.Store = flagged{Store: p.Store, file: p.Store.(flagged).file, claimless: true}
	if err := p.Agent(t.Context(), setup.Claude, setup.Inspection{Before: whenHeld + denyJSON + "; fi"}); err != nil {
		t.Errorf("Agent on a store without path sets = %v, want nil", err)
	}
	page, err := p.Store.(flagged).Store.(flagged).Store.(leasehold.Lister).List(t.Context(), leasehold.ListRequest{})
	if err != nil || len(page.Leases) > 0 {
		t.Errorf("left over: %v, %v, want nothing", page.Leases, err)
	}
}

// The payload names the synthetic path as each tool does.
func TestPayload(t *testing.T) {
	p := &Prover{Root: "/shop"}
	for _, tool := range setup.Tools {
		var got map[string]any
		if err := json.Unmarshal([]byte(p.payload(tool, tool.BeforeEvent(), "s", "x/y.txt")), &got); err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(got["tool_input"]); !strings.Contains(string(text), "x/y.txt") || got["cwd"] != "/shop" || got["hook_event_name"] != tool.BeforeEvent() {
			t.Errorf("payload of %s = %v", tool, got)
		}
	}
}

func TestStoreFails(t *testing.T) {
	p, file := newProver(t)
	p.Store.Close()
	err := p.Agent(t.Context(), setup.Claude, setup.Inspection{Before: "true"})
	if !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Agent with a closed store = %v, want ErrUnavailable", err)
	}
	_ = file
}

func TestGitHook(t *testing.T) {
	p, _ := newProver(t)
	bin := t.TempDir()
	program := filepath.Join(bin, "leasehold")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// It refuses only if the synthetic path is there, as the real one.
	blocks := `
if [ "$4" = pre-push ] || [ "$3" = pre-push ]; then
	read -r ref new rest || exit 0
	names=$(git show --name-only --format= "$new")
else
	names=$(git diff --cached --name-only)
fi
case "$names" in *.leasehold-doctor/*) ;; *) echo "no synthetic path in $names" >&2; exit 0;; esac
if [ -e "$HELD" ]; then cat "$HELD" >&2; exit 1; fi`
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := os.MkdirAll(filepath.Join(p.Root, ".git/hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(p.Root, ".git/hooks/pre-commit"), "exit 1") // from before; it is not run
	if _, err := p.Git.Install(t.Context(), gitguard.Options{}, false); err != nil {
		t.Fatal(err)
	}
	hooks, err := p.Git.Hooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []bool{true, false} {
		if !first {
			cmd := exec.Command("git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--no-verify", "--allow-empty", "-m", "first")
			cmd.Dir = p.Root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git commit: %v: %s", err, out)
			}
		}
		for _, h := range hooks {
			write(program, blocks)
			if err := p.GitHook(t.Context(), h); err != nil {
				t.Errorf("GitHook(%s) = %v, want nil", h.Name, err)
			}
			write(program, "exit 0")
			if err := p.GitHook(t.Context(), h); !errors.Is(err, ErrNotProven) {
				t.Errorf("GitHook(%s) that lets all pass = %v, want ErrNotProven", h.Name, err)
			}
		}
	}
	out, err := exec.Command("git", "-C", p.Root, "count-objects").Output()
	if err != nil || !strings.HasPrefix(string(out), "2 objects") { // the first commit and its tree
		t.Errorf("git count-objects = %s, %v, want the two of the first commit", out, err)
	}
	if err := p.GitHook(t.Context(), gitguard.Hook{Name: "pre-commit", Path: filepath.Join(p.Root, "nowhere")}); !errors.Is(err, ErrNotProven) {
		t.Errorf("GitHook without a file = %v, want ErrNotProven", err)
	}
	p.Root = t.TempDir()
	if err := p.GitHook(t.Context(), hooks[0]); !errors.Is(err, gitguard.ErrNoRepository) {
		t.Errorf("GitHook elsewhere = %v, want ErrNoRepository", err)
	}
}
