package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tool is a coding agent.
type Tool string

// The coding agents, by the names that leasehold hook has for them.
const (
	Claude Tool = "claude"
	Codex  Tool = "codex"
	Cursor Tool = "cursor"
)

// Tools are all of them.
var Tools = []Tool{Claude, Codex, Cursor}

// spec is what is known of a tool.
type spec struct {
	title    string
	settings string   // the file with its hooks
	mcp      string   // the file with its MCP servers
	events   []event  // the events that leasehold hook handles; the first is before an edit
	traces   []string // files of a repository that show that the tool is used
	programs []string
	grouped  bool // whether hooks stand in groups with a matcher
}

// event is an event of a tool, and the tools of the model for which it fires.
type event struct{ name, matcher string }

// The tools of the model that edit files.
const (
	claudeEdits = "Edit|MultiEdit|Write|NotebookEdit"
	codexEdits  = "apply_patch|Edit|Write"
	codexShell  = "|Bash" // may be apply_patch with a patch, of which Codex says no more
	cursorEdits = "Write|Edit|StrReplace|MultiEdit|EditNotebook|Delete|ApplyPatch"
)

var specs = map[Tool]spec{
	Claude: {
		title: "Claude Code", settings: ".claude/settings.json", mcp: ".mcp.json", grouped: true,
		events: []event{
			{"PreToolUse", claudeEdits}, {"PostToolUse", claudeEdits},
			{"SubagentStop", ""}, {"SessionEnd", ""},
		},
		traces: []string{".claude", "CLAUDE.md"}, programs: []string{"claude"},
	},
	Codex: {
		title: "Codex", settings: ".codex/hooks.json", mcp: ".codex/config.toml", grouped: true,
		events: []event{
			{"PreToolUse", codexEdits + codexShell}, {"PostToolUse", codexEdits},
			{"SubagentStop", ""}, {"SessionEnd", ""},
		},
		traces: []string{".codex"}, programs: []string{"codex"},
	},
	Cursor: {
		title: "Cursor", settings: ".cursor/hooks.json", mcp: ".cursor/mcp.json",
		events: []event{
			{"preToolUse", cursorEdits}, {"postToolUse", cursorEdits},
			{"subagentStop", ""}, {"sessionEnd", ""},
		},
		traces: []string{".cursor", ".cursorrules"}, programs: []string{"cursor", "cursor-agent"},
	},
}

// Title is the tool's name for people.
func (t Tool) Title() string { return specs[t].title }

// Settings is the file of a repository that has the tool's hooks, with slashes.
func (t Tool) Settings() string { return specs[t].settings }

// Detect returns the tools that a repository or this machine has.
func Detect(root string, lookPath func(string) (string, error)) (found []Tool) {
	for _, t := range Tools {
		used := slices.ContainsFunc(specs[t].traces, func(name string) bool {
			_, err := os.Stat(filepath.Join(root, name))
			return err == nil
		})
		installed := slices.ContainsFunc(specs[t].programs, func(name string) bool {
			_, err := lookPath(name)
			return err == nil
		})
		if used || installed {
			found = append(found, t)
		}
	}
	return found
}

// InRepository says whether the repository has settings of the tool.
func (t Tool) InRepository(root string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.Dir(filepath.FromSlash(t.Settings()))))
	return err == nil
}

// Options say what is written.
type Options struct {
	Tools      []Tool
	MCP        bool   // also the MCP server
	Program    string // how hooks call leasehold; empty: leasehold
	Store      string // their --store; empty: that of the environment
	FailClosed bool   // deny edits while the server cannot be asked
}

func (o Options) program() string {
	if o.Program == "" {
		return "leasehold"
	}
	return o.Program
}

// Command is what the tool runs at an event, for its shell.
func (o Options) Command(t Tool) string {
	command := quote(o.program()) + " hook " + string(t)
	if o.FailClosed {
		command += " --fail-closed"
	}
	if o.Store != "" {
		command += " --store " + quote(o.Store)
	}
	return command
}

// server is the MCP server: program and arguments.
func (o Options) server() (program string, args []string) {
	args = []string{"mcp"}
	if o.Store != "" {
		args = append(args, "--store", o.Store)
	}
	return o.program(), args
}

// quote makes one word of s for a shell.
func quote(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\"'\\$`&|;<>()*?[]#~!{}", r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// entry is the value for an event: of a grouped tool a group with one hook.
func (o Options) entry(t Tool, e event) json.RawMessage {
	command := encode(o.Command(t))
	switch {
	case specs[t].grouped && e.matcher != "":
		return json.RawMessage(`{"matcher":` + encode(e.matcher) + `,"hooks":[{"type":"command","command":` + command + `,"timeout":10}]}`)
	case specs[t].grouped:
		return json.RawMessage(`{"hooks":[{"type":"command","command":` + command + `,"timeout":10}]}`)
	case e.matcher != "" && o.FailClosed:
		return json.RawMessage(`{"command":` + command + `,"matcher":` + encode(e.matcher) + `,"timeout":10,"failClosed":true}`)
	case e.matcher != "":
		return json.RawMessage(`{"command":` + command + `,"matcher":` + encode(e.matcher) + `,"timeout":10}`)
	}
	return json.RawMessage(`{"command":` + command + `,"timeout":10}`)
}

func encode(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string has no error
	return strings.TrimSpace(b.String())
}
