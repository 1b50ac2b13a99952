package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		client, input string
		want          event
	}{
		{"claude", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"Edit","tool_input":{"file_path":"/w/a.go","old_string":"a"}}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", cwd: "/w", tool: "Edit", files: []string{"/w/a.go"}}},
		{"claude", `{"hook_event_name":"PreToolUse","session_id":"s","agent_id":"a","cwd":"/w","tool_name":"NotebookEdit","tool_input":{"notebook_path":"n.ipynb"}}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", agent: "a", cwd: "/w", tool: "NotebookEdit", files: []string{"n.ipynb"}}},
		{"claude", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"TodoWrite","tool_input":{"todos":[]}}`,
			event{name: "PreToolUse", session: "s", tool: "TodoWrite"}},
		{"claude", `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Write","tool_input":{"file_path":"a"},"tool_response":{"filePath":1}}`,
			event{kind: afterEdit, name: "PostToolUse", session: "s", tool: "Write", files: []string{"a"}}},
		{"claude", `{"hook_event_name":"SessionEnd","session_id":"s","agent_id":"a","reason":"clear"}`,
			event{kind: ends, name: "SessionEnd", session: "s", children: true}},
		{"claude", `{"hook_event_name":"SubagentStop","session_id":"s","agent_id":"a"}`,
			event{kind: ends, name: "SubagentStop", session: "s", agent: "a", children: true}},
		{"claude", `{"hook_event_name":"SubagentStop","session_id":"s"}`, event{name: "SubagentStop", session: "s", children: true}},
		{"claude", `{"hook_event_name":"Stop","session_id":"s"}`, event{kind: ends, name: "Stop", session: "s"}},
		{"claude", `{"hook_event_name":"SessionStart"}`, event{name: "SessionStart"}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Add File: a b\n*** Add File: a b\n*** Delete File: c\n"}}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", tool: "apply_patch", files: []string{"a b", "c"}}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"apply_patch","tool_input":"*** Begin Patch\n*** Add File: a\n"}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", tool: "apply_patch", files: []string{"a"}}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Edit","tool_input":{"input":"*** Begin Patch\n*** Add File: a\n"}}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", tool: "Edit", files: []string{"a"}}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Write","tool_input":{"file_path":"a"}}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", tool: "Write", files: []string{"a"}}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":["apply_patch","*** Begin Patch\n*** Add File: a\n"]}}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", tool: "Bash", files: []string{"a"}}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"Bash","tool_input":{"command":"cd src && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\nEOF"}}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", cwd: "/w/src", tool: "Bash", files: []string{"a"}}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"Bash","tool_input":{"command":["bash","-lc","cd '/x/a b'&&applypatch <<'EOF'\n*** Begin Patch\n*** Add File: a\nEOF"]}}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", cwd: "/x/a b", tool: "Bash", files: []string{"a"}}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"bash -lc 'cd \"src\" && apply_patch <<EOF\n*** Begin Patch\n*** Add File: a\nEOF'"}}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", cwd: "src", tool: "Bash", files: []string{"a"}}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"Bash","tool_input":{"command":"true && apply_patch <<EOF\n*** Begin Patch\n*** Add File: a\n+cd x && apply_patch\nEOF"}}`,
			event{kind: beforeEdit, name: "PreToolUse", session: "s", cwd: "/w", tool: "Bash", files: []string{"a"}}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"grep 'Begin Patch' *"}}`,
			event{name: "PreToolUse", session: "s", tool: "Bash"}},
		{"codex", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"mcp__x","tool_input":[1]}`,
			event{name: "PreToolUse", session: "s", tool: "mcp__x"}},
		{"codex", `{"hook_event_name":"Stop","session_id":"s"}`, event{kind: ends, name: "Stop", session: "s"}},
		{"cursor", `{"hook_event_name":"preToolUse","conversation_id":"c","workspace_roots":["/w","/x"],"tool_name":"Write","tool_input":{"file_path":"a"}}`,
			event{kind: beforeEdit, name: "preToolUse", session: "c", cwd: "/w", tool: "Write", files: []string{"a"}}},
		{"cursor", `{"hook_event_name":"preToolUse","conversation_id":"c","subagent_id":"x","cwd":"/w","tool_name":"Delete","tool_input":"{\"path\":\"a\"}"}`,
			event{kind: beforeEdit, name: "preToolUse", session: "c", agent: "x", cwd: "/w", tool: "Delete", files: []string{"a"}}},
		{"cursor", `{"hook_event_name":"preToolUse","conversation_id":"c","tool_name":"ApplyPatch","tool_input":{"patch":"*** Begin Patch\n*** Add File: a\n"}}`,
			event{kind: beforeEdit, name: "preToolUse", session: "c", tool: "ApplyPatch", files: []string{"a"}}},
		{"cursor", `{"hook_event_name":"afterFileEdit","conversation_id":"c","file_path":"/w/a","edits":[]}`,
			event{kind: afterEdit, name: "afterFileEdit", session: "c", files: []string{"/w/a"}}},
		{"cursor", `{"hook_event_name":"preToolUse","conversation_id":"c","tool_name":"MCP:write","tool_input":"x"}`,
			event{name: "preToolUse", session: "c", tool: "MCP:write"}},
		{"cursor", `{"hook_event_name":"sessionEnd","session_id":"c"}`, event{kind: ends, name: "sessionEnd", session: "c", children: true}},
	} {
		got, err := clients[tt.client].decode([]byte(tt.input))
		if err != nil {
			t.Errorf("%s: decode(%s): %v", tt.client, tt.input, err)
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(event{})); diff != "" {
			t.Errorf("%s: decode(%s) differs (-want +got):\n%s", tt.client, tt.input, diff)
		}
	}
}

// Bad input is an error: it must not look like a tool that edits nothing.
func TestDecodeBadInput(t *testing.T) {
	for client, inputs := range map[string][]string{
		"claude": {
			"", "x", "[]", "{}", `{"session_id":"s"}`, `{"hook_event_name":"PreToolUse","tool_name":"Edit"}`,
			`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Edit"}`,
			`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Edit","tool_input":{}}`,
			`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Edit","tool_input":{"file_path":7}}`,
			`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Edit","tool_input":[]}`,
			`{"hook_event_name":"SessionEnd"}`, `{"hook_event_name":7}`,
		},
		"codex": {
			`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"apply_patch"}`,
			`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"apply_patch","tool_input":{"command":7}}`,
			`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"apply_patch","tool_input":{"command":"rm"}}`,
			`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n"}}`,
		},
		"cursor": {
			`{"hook_event_name":"preToolUse","conversation_id":"c","tool_name":"Write","tool_input":"x"}`,
			`{"hook_event_name":"preToolUse","tool_name":"Write","tool_input":{"file_path":"a"}}`,
			`{"hook_event_name":"preToolUse","conversation_id":"c","tool_name":"ApplyPatch","tool_input":{"patch":"*** Begin Patch"}}`,
		},
	} {
		for _, input := range inputs {
			if got, err := clients[client].decode([]byte(input)); err == nil {
				t.Errorf("%s: decode(%s) = %+v, want an error", client, input, got)
			}
		}
	}
}

func TestHolderNames(t *testing.T) {
	long := strings.Repeat("x", 500)
	seen := map[string]event{}
	for _, e := range []event{
		{session: "s"}, {session: "s", agent: "a"}, {session: "s/a"}, {session: "s_a"}, {session: "s", agent: "a/b"},
		{session: long}, {session: long + "y"}, {session: long, agent: long}, {session: long, agent: long + "y"},
		{session: "a\nb"}, {session: "\xff"}, {session: "ü"},
	} {
		name := e.holder("claude")
		if err := leasehold.CheckHolder(name); err != nil {
			t.Errorf("holder(%q, %q) = %q: %v", e.session, e.agent, name, err)
		}
		if other, twice := seen[name]; twice {
			t.Errorf("holder(%+v) = holder(%+v)", e, other)
		}
		seen[name] = e
		if got, want := strings.Count(name, "/"), min(len(e.agent), 1); got != want {
			t.Errorf("holder(%q, %q) = %q, want %d slashes", e.session, e.agent, name, want)
		}
	}
	if got, want := (event{session: "s", agent: "a"}).holder("codex"), "codex:s/a"; got != want {
		t.Errorf("holder() = %q, want %q", got, want)
	}
}

// FuzzDecode shows that no input makes the decoders panic, and that an edit that is not
// an error has a holder and a file.
func FuzzDecode(f *testing.F) {
	f.Add(`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Edit","tool_input":{"file_path":"a"}}`)
	f.Add(`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"apply_patch","tool_input":{"command":["*** Begin Patch\n*** Add File: a\n"]}}`)
	f.Add(`{"hook_event_name":"preToolUse","conversation_id":"c","tool_name":"Write","tool_input":"{\"path\":\"a\"}"}`)
	f.Fuzz(func(t *testing.T, input string) {
		for name, c := range clients {
			e, err := c.decode([]byte(input))
			if err == nil && (e.kind == beforeEdit || e.kind == afterEdit) && (e.session == "" || len(e.files) == 0) {
				t.Errorf("%s: decode(%q) = %+v", name, input, e)
			}
			if err := leasehold.CheckHolder(e.holder(name)); err != nil {
				t.Errorf("%s: holder of %q: %v", name, input, err)
			}
		}
	})
}
