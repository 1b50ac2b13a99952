package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/setup"
)

// Agent checks the hook of a coding agent: it sends what the tool sends before it
// writes a file, with the command of the tool's settings.
func (p *Prover) Agent(ctx context.Context, t setup.Tool, found setup.Inspection) error {
	session, path := synthetic()
	holder := string(t) + ":other-" + session // with the tool's name a token for the tool will do
	call := func(event, command string) (outcome, error) {
		shell, flag := shell()
		return p.run(ctx, []string{"CLAUDE_PROJECT_DIR=" + p.Root}, p.payload(t, event, session, path), shell, flag, command)
	}
	err := p.check(ctx, attempt{
		path: path, holder: holder,
		run:    func(context.Context) (outcome, error) { return call(t.BeforeEvent(), found.Before) },
		denied: func(o outcome) bool { return denied(t, o) },
	})
	// The second run has acquired the path for the session.
	if found.End != "" {
		o, failed := call(t.EndEvent(), found.End)
		if err == nil && failed == nil && o.refused() {
			err = fmt.Errorf("%w: it blocks, but the end of a session may not release its leases; %s", leasehold.ErrForbidden, o.text())
		}
	}
	p.endSession(ctx, string(t)+":"+session)
	return err
}

// endSession releases what a session holds, where its own hook has not. It is a matter
// of tidiness: the leases would end by themselves.
func (p *Prover) endSession(ctx context.Context, holder string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if r, ok := p.Store.(leasehold.HolderReleaser); ok {
		_, _ = r.ReleaseHolder(ctx, holder, "leasehold doctor --prove")
	}
}

// payload is what a tool writes to its hook.
func (p *Prover) payload(t setup.Tool, event, session, path string) string {
	file := filepath.Join(p.Root, filepath.FromSlash(path))
	m := map[string]any{"session_id": session, "hook_event_name": event, "cwd": p.Root, "transcript_path": ""}
	switch t {
	case setup.Claude:
		m["tool_name"], m["tool_input"] = "Write", map[string]any{"file_path": file, "content": "synthetic\n"}
	case setup.Codex:
		m["tool_name"] = "apply_patch"
		m["tool_input"] = map[string]any{"command": fmt.Sprintf("*** Begin Patch\n*** Add File: %s\n+synthetic\n*** End Patch\n", path)}
	case setup.Cursor:
		m["conversation_id"], m["workspace_roots"] = session, []string{p.Root}
		m["tool_name"], m["tool_input"] = "Write", map[string]any{"file_path": file, "content": "synthetic\n"}
	}
	text, _ := json.Marshal(m) // strings and maps
	return string(text)
}

// denied says whether the tool takes the answer for a refusal. All of them do so at
// exit code 2, with a reason on standard error.
func denied(t setup.Tool, o outcome) bool {
	if o.code == 2 {
		return t != setup.Codex || strings.TrimSpace(o.said) != ""
	}
	var answer struct {
		Permission string `json:"permission"`
		Specific   struct {
			Decision string `json:"permissionDecision"`
		} `json:"hookSpecificOutput"`
	}
	if o.code != 0 || json.Unmarshal([]byte(o.out), &answer) != nil {
		return false
	}
	if t == setup.Cursor {
		return answer.Permission == "deny"
	}
	return answer.Specific.Decision == "deny"
}
