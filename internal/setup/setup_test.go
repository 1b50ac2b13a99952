package setup

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold/internal/jsonedit"
	"pgregory.net/rapid"
)

// tree reads all files and folders below root. A folder is a name with a slash.
func tree(t interface{ Fatal(...any) }, root string) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if d.IsDir() {
			files[name+"/"] = ""
			return nil
		}
		text, err := os.ReadFile(path)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t interface{ Fatal(...any) }, root, name, text string) {
	path := filepath.Join(root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func newRecord() *Record {
	r, _ := LoadRecord("/nowhere/at/all")
	return r
}

// setUp plans and applies, and returns the plan.
func setUp(t interface{ Fatal(...any) }, root string, old *Record, o Options) *Plan {
	p, err := New(root, old, o)
	if err == nil {
		err = p.Apply(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func undo(t interface{ Fatal(...any) }, root string, old *Record, o Options) *Plan {
	p, err := Undo(root, old, o)
	if err == nil {
		err = p.Apply(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var everything = Options{Tools: Tools, MCP: true}

// settings draws what a file may have: nothing, space, or an object of some shape.
func settings(t *rapid.T, label string) (text string, there bool) {
	switch rapid.IntRange(0, 9).Draw(t, label) {
	case 0, 1, 2:
		return "", false
	case 3:
		return rapid.SampledFrom([]string{"", "\n", " \r\n", "{}", "{\n}\n", "{ }"}).Draw(t, "small"), true
	}
	group := rapid.SampledFrom([]string{
		`{"matcher":"Bash","hooks":[{"type":"command","command":"./check.sh"}]}`, `{"hooks":[]}`, `{"command":"a hook claude"}`, `{"matcher": "Edit", "hooks": [ {"type":"command","command":"leasehold hook codex"} ]}`,
	})
	events := rapid.MapOf(rapid.SampledFrom([]string{"PreToolUse", "preToolUse", "SessionEnd", "Stop", "PostToolUse"}), rapid.SliceOfN(group, 0, 3)).Draw(t, "events")
	value := map[string]any{}
	for _, key := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "version", "permissions", "hooks", "mcpServers", "é<>&"}), rapid.ID).Draw(t, "keys") {
		switch key {
		case "hooks":
			hooks := map[string][]json.RawMessage{}
			for event, groups := range events {
				hooks[event] = []json.RawMessage{}
				for _, g := range groups {
					hooks[event] = append(hooks[event], json.RawMessage(g))
				}
			}
			value[key] = hooks
		case "mcpServers":
			value[key] = rapid.SampledFrom([]map[string]any{{}, {"other": 1}}).Draw(t, "servers")
		default:
			value[key] = rapid.SampledFrom([]any{1, "x", []any{}, map[string]any{"allow": []string{"Bash"}}}).Draw(t, "value")
		}
	}
	indent := rapid.SampledFrom([]string{"", "  ", "\t", "    "}).Draw(t, "indent")
	out, _ := json.Marshal(value)
	if indent != "" {
		out, _ = json.MarshalIndent(value, "", indent)
	}
	text = string(out) + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
	if rapid.Bool().Draw(t, "crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text, true
}

var jsonFiles = []string{".claude/settings.json", ".mcp.json", ".codex/hooks.json", ".cursor/hooks.json", ".cursor/mcp.json"}

// Whatever the files have, setting up twice is setting up once, and undoing leaves every
// byte, file and folder as it was.
func TestUndoRestoresEveryByte(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		for _, name := range jsonFiles {
			if text, there := settings(t, name); there {
				write(t, root, name, text)
			}
		}
		if rapid.Bool().Draw(t, "toml") {
			write(t, root, ".codex/config.toml", rapid.SampledFrom([]string{"", "\n", "a = 1", "a = 1\n[x]\n"}).Draw(t, "config"))
		}
		before := tree(t, root)
		o := Options{MCP: rapid.Bool().Draw(t, "mcp"), Store: rapid.SampledFrom([]string{"", "http://h:1/?a=b c"}).Draw(t, "store")}
		o.Tools = rapid.SliceOfDistinct(rapid.SampledFrom(Tools), rapid.ID).Draw(t, "tools")
		record := setUp(t, root, newRecord(), o).Record
		after := tree(t, root)

		again := setUp(t, root, record, o)
		if len(again.Changes) > 0 {
			t.Fatalf("set up again: %d changes, want none: %s", len(again.Changes), again.Changes[0].After)
		}
		if diff := cmp.Diff(record, again.Record); diff != "" {
			t.Fatalf("set up again: the record differs: %s", diff)
		}
		for _, tool := range o.Tools {
			if found, err := Inspect(root, tool); err != nil || len(found.Missing) > 0 {
				t.Fatalf("Inspect(%s) = %+v, %v, want every hook", tool, found, err)
			}
		}
		if len(o.Tools) > 0 && rapid.Bool().Draw(t, "other options") {
			o.FailClosed = true
			record = setUp(t, root, again.Record, o).Record
		}
		left := undo(t, root, record, o)
		if diff := cmp.Diff(before, tree(t, root)); diff != "" {
			t.Fatalf("after undo: %s\nset up:\n%v", diff, after)
		}
		if len(left.Record.Files) > 0 {
			t.Fatalf("after undo the record has %d files, want none", len(left.Record.Files))
		}
	})
}

// What others add meanwhile stays as they wrote it, and only that.
func TestUndoAfterEditsOfOthers(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		const name = ".claude/settings.json"
		text, there := settings(t, name)
		if there && strings.TrimSpace(text) != "" {
			write(t, root, name, text)
		} else {
			write(t, root, name, `{"keep": 1}`)
			text = `{"keep": 1}`
		}
		o := Options{Tools: []Tool{Claude}}
		record := setUp(t, root, newRecord(), o).Record

		foreign := json.RawMessage(`{"matcher":"Task","hooks":[{"type":"command","command":"./other.sh"}]}`)
		edit := func(text string) string {
			d, err := jsonedit.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(d.Append([]string{"hooks", "PreToolUse"}, foreign, &jsonedit.Trace{}), d.Set(nil, "theirs", json.RawMessage("2"), &jsonedit.Trace{})); err != nil {
				t.Fatal(err)
			}
			return string(d.Bytes())
		}
		want := edit(text)
		now, _ := readFile(root, name)
		write(t, root, name, edit(string(now)))
		undo(t, root, record, o)
		got, _ := readFile(root, name)
		if !jsonedit.Same(got, json.RawMessage(want)) {
			t.Fatalf("after undo: %s, want %s", got, want)
		}
	})
}

// A hook that others put into the group of leasehold stays.
func TestUndoOfASharedGroup(t *testing.T) {
	root := t.TempDir()
	o := Options{Tools: []Tool{Claude}}
	record := setUp(t, root, newRecord(), o).Record
	now, _ := readFile(root, ".claude/settings.json")
	shared := strings.Replace(string(now), `"hooks": [
          {`, `"hooks": [
          {"type": "command", "command": "./other.sh"},
          {`, 1)
	if shared == string(now) {
		t.Fatalf("nothing was shared in %s", now)
	}
	write(t, root, ".claude/settings.json", shared)
	undo(t, root, record, o)
	got, _ := readFile(root, ".claude/settings.json")
	want := `{"hooks":{"PreToolUse":[{"matcher":"Edit|MultiEdit|Write|NotebookEdit","hooks":[{"type":"command","command":"./other.sh"}]}]}}`
	if !jsonedit.Same(got, json.RawMessage(want)) {
		t.Errorf("after undo: %s, want %s", got, want)
	}
}

// In another clone there is no record. The hooks are found by their command.
func TestUndoWithoutARecord(t *testing.T) {
	root := t.TempDir()
	write(t, root, ".claude/settings.json", "{\n  \"a\": 1\n}\n")
	setUp(t, root, newRecord(), Options{Tools: []Tool{Claude}, Program: "/opt/bin/leasehold", Store: "http://h:1"})
	undo(t, root, newRecord(), Options{Tools: []Tool{Claude}})
	if got := tree(t, root)[".claude/settings.json"]; got != "{\n  \"a\": 1\n}\n" {
		t.Errorf("after undo: %q, want what was there before", got)
	}
}

// Nothing is written where a file cannot be read, or has another shape.
func TestRefusedShapes(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		".claude/settings.json": {"{\n// a comment\n}", ".claude/settings.json cannot be read, so nothing was changed: line 2"},
		".codex/hooks.json":     {`{"hooks":{"PreToolUse":{}}}`, `.codex/hooks.json: "hooks"."PreToolUse" is no array; nothing was changed`},
		".cursor/hooks.json":    {`[]`, "is no JSON object"},
		".cursor/mcp.json":      {`{"mcpServers":[]}`, `"mcpServers" is no object`},
		".codex/config.toml":    {"mcp_servers = {}\n", "add this to it yourself"},
	} {
		root := t.TempDir()
		write(t, root, name, c.text)
		if _, err := New(root, newRecord(), everything); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New over %s = %v, want %q", name, err, c.want)
		}
		if strings.HasSuffix(name, "json") && !strings.Contains(name, "mcp") {
			record := newRecord()
			record.Files[name] = &FileRecord{Tool: Claude, Added: []Added{{At: []string{"hooks"}}}}
			if _, err := Undo(root, record, everything); err == nil && c.text[0] != '{' {
				t.Errorf("Undo over %s = nil, want an error", name)
			}
		}
		if got := tree(t, root)[name]; got != c.text {
			t.Errorf("%s = %q, want it unchanged", name, got)
		}
	}
}

// What somebody has set up by hand is not touched, and is named.
func TestOwnEntriesStay(t *testing.T) {
	root := t.TempDir()
	write(t, root, ".claude/settings.json", `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"/opt/leasehold hook claude --ttl 1h"}]}]}}`)
	write(t, root, ".mcp.json", `{"mcpServers":{"leasehold":{"command":"other"}}}`)
	write(t, root, ".codex/config.toml", "[mcp_servers.leasehold]\ncommand = \"other\"\n")
	p := setUp(t, root, newRecord(), Options{Tools: []Tool{Claude, Codex}, MCP: true})
	slices.Sort(p.Notes)
	want := []string{
		`.claude/settings.json: PreToolUse runs "/opt/leasehold hook claude --ttl 1h" already, which stays as it is`,
		".codex/config.toml: has an MCP server leasehold already, which stays as it is",
		".mcp.json: has an MCP server leasehold already, which stays as it is",
	}
	if diff := cmp.Diff(want, p.Notes); diff != "" {
		t.Errorf("notes: %s", diff)
	}
	undo(t, root, p.Record, everything)
	if got := tree(t, root)[".claude/settings.json"]; !strings.Contains(got, "--ttl 1h") || strings.Contains(got, "PostToolUse") {
		t.Errorf("after undo: %s, want the hook of before alone", got)
	}
}

// A server leasehold of one's own is seen however TOML writes it: a second table of that
// name would be an error, with which Codex does not start.
func TestOwnTableInTOML(t *testing.T) {
	const note = ".codex/config.toml: has an MCP server leasehold already, which stays as it is"
	for text, own := range map[string]bool{
		"[mcp_servers.leasehold]\n":                              true,
		"[ mcp_servers . 'leasehold' ]\n":                        true,
		"[\"mcp_servers\".\"leasehold\"]\n":                      true,
		"[mcp_servers.leasehold.env]\nA = \"b\"\n":               true,
		"mcp_servers.leasehold.command = \"x\"\n":                true,
		"mcp_servers.leasehold = { command = \"x\" }\n":          true,
		"[mcp_servers]\nleasehold = { command = \"x\" }\n":       true,
		"[mcp_servers]\n  \"leasehold\".command = \"x\"\n":       true,
		"# [mcp_servers.leasehold]\n":                            false,
		"[mcp_servers.leasehold2]\n":                             false,
		"[projects.\"/home/anna/leasehold\"]\ntrust = \"yes\"\n": false,
		"[mcp_servers]\nother = { command = \"leasehold\" }\n":   false,
	} {
		root := t.TempDir()
		write(t, root, ".codex/config.toml", text)
		p, err := New(root, &Record{}, Options{Tools: []Tool{Codex}, MCP: true})
		if err != nil {
			t.Errorf("New() with %q: %v", text, err)
			continue
		}
		added := slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Path == ".codex/config.toml" })
		if added == own || slices.Contains(p.Notes, note) != own {
			t.Errorf("New() with %q adds a table: %t, notes %q, want its own server seen: %t", text, added, p.Notes, own)
		}
	}
}

// What was edited since stays, and is named.
func TestEditedEntriesStay(t *testing.T) {
	root := t.TempDir()
	record := setUp(t, root, newRecord(), everything).Record
	for _, name := range []string{".mcp.json", ".codex/config.toml"} {
		text, _ := readFile(root, name)
		write(t, root, name, strings.Replace(string(text), `"mcp"`, `"mcp", "--json"`, 1))
	}
	text, _ := readFile(root, ".claude/settings.json")
	write(t, root, ".claude/settings.json", strings.Replace(string(text), `"timeout": 10`, `"timeout": 99`, 1))
	o := everything
	o.FailClosed = true
	if p := setUp(t, root, record, o); !slices.Contains(p.Notes, ".claude/settings.json: PreToolUse was edited and stays as it is") {
		t.Errorf("other options: notes %q, want the edited hook", p.Notes)
	}
	p := undo(t, root, record, everything)
	want := []string{".codex/config.toml: the table of leasehold was edited and stays as it is", ".mcp.json: leasehold was edited and stays as it is"}
	if diff := cmp.Diff(want, p.Notes); diff != "" {
		t.Errorf("notes: %s", diff)
	}
}

// Somebody removed a hook by hand: setting up again adds it.
func TestRemovedHookComesBack(t *testing.T) {
	root := t.TempDir()
	o := Options{Tools: []Tool{Cursor}}
	record := setUp(t, root, newRecord(), o).Record
	before := tree(t, root)
	text, _ := readFile(root, ".cursor/hooks.json")
	d, err := jsonedit.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	d.RemoveElements([]string{"hooks", "sessionEnd"}, func(json.RawMessage) bool { return true })
	write(t, root, ".cursor/hooks.json", string(d.Bytes()))
	if found, _ := Inspect(root, Cursor); !slices.Equal(found.Missing, []string{"sessionEnd"}) || found.Before == "" || found.End != "" {
		t.Errorf("Inspect = %+v, want sessionEnd missing", found)
	}
	record = setUp(t, root, record, o).Record
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("set up again: %s", diff)
	}
	undo(t, root, record, o)
	if got := tree(t, root); len(got) > 0 {
		t.Errorf("after undo: %v, want nothing", got)
	}
}

func TestApplyRefusesWhatChanged(t *testing.T) {
	root := t.TempDir()
	p, err := New(root, newRecord(), everything)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, ".mcp.json", "{}")
	before := tree(t, root)
	if err := p.Apply(root); !errors.Is(err, ErrChanged) {
		t.Errorf("Apply = %v, want ErrChanged", err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("Apply changed something: %s", diff)
	}
}

// A symlink stays one, and the mode stays.
func TestApplyKeepsSymlinkAndMode(t *testing.T) {
	root := t.TempDir()
	write(t, root, "shared/settings.json", "{}")
	if err := errors.Join(os.Mkdir(filepath.Join(root, ".claude"), 0o755), os.Symlink("../shared/settings.json", filepath.Join(root, ".claude/settings.json"))); err != nil {
		t.Skip("this system has no symlinks for us:", err)
	}
	setUp(t, root, newRecord(), Options{Tools: []Tool{Claude}})
	info, err := os.Lstat(filepath.Join(root, ".claude/settings.json"))
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the symlink is %v, %v", info, err)
	}
	target, err := os.Stat(filepath.Join(root, "shared/settings.json"))
	if err != nil || target.Mode().Perm() != 0o600 || target.Size() < 100 {
		t.Errorf("the file is %v, %v, want it changed, with mode 600", target, err)
	}
}

func TestRecordOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.json")
	root := t.TempDir()
	p := setUp(t, root, newRecord(), everything)
	p.Record.Git = true
	if err := p.Record.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := LoadRecord(path)
	if err != nil || !slices.Equal(got.Tools(), Tools) || !got.Git || !got.Has(Cursor) || newRecord().Has(Cursor) {
		t.Errorf("LoadRecord = %+v, %v, want all tools", got, err)
	}
	undo(t, root, got, everything)
	if left := tree(t, root); len(left) > 0 {
		t.Errorf("undone by the record on disk: %v is left", left)
	}
	if err := errors.Join(newRecord().Save(path), newRecord().Save(path)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty record is a file: %v", err)
	}
	for _, text := range []string{"", "{}", `{"version":2,"files":{}}`, `{"version":1,"files":{"x":null}}`, `{"version":1,"files":{"x":{"tool":"emacs"}}}`} {
		write(t, filepath.Dir(path), "record.json", text)
		if _, err := LoadRecord(path); err == nil {
			t.Errorf("LoadRecord of %q = nil, want an error", text)
		}
	}
}

func TestDetect(t *testing.T) {
	root := t.TempDir()
	write(t, root, ".cursor/rules", "")
	write(t, root, "CLAUDE.md", "")
	look := func(name string) (string, error) {
		if name == "codex" {
			return "/bin/codex", nil
		}
		return "", os.ErrNotExist
	}
	if got := Detect(root, look); !slices.Equal(got, Tools) {
		t.Errorf("Detect = %v, want all", got)
	}
	if got := Detect(t.TempDir(), func(string) (string, error) { return "", os.ErrNotExist }); len(got) > 0 {
		t.Errorf("Detect = %v, want none", got)
	}
	if !Cursor.InRepository(root) || Codex.InRepository(root) || Claude.Title() != "Claude Code" || Codex.BeforeEvent() != "PreToolUse" || Cursor.EndEvent() != "sessionEnd" {
		t.Error("what is known of the tools is wrong")
	}
}

func TestIsHook(t *testing.T) {
	for command, want := range map[string]bool{
		"leasehold hook claude":                     true,
		"/opt/bin/leasehold hook claude --store x":  true,
		"'/my bin/leasehold' --store x hook claude": true,
		`"C:\bin\leasehold.exe" hook claude`:        true,
		"env A=1 leasehold hook claude":             true,
		"leasehold hook codex":                      false,
		"leasehold hook":                            false,
		"hook claude":                               false,
		"my-leasehold hook claude":                  false,
		"echo leasehold; ./hook claude leasehold":   false,
		"": false,
	} {
		if got := isHook(command, Claude); got != want {
			t.Errorf("isHook(%q) = %v, want %v", command, got, want)
		}
	}
}

func TestCommand(t *testing.T) {
	o := Options{Program: "/my bin/leasehold", Store: "http://h:1/?a=1&b", FailClosed: true}
	want := `'/my bin/leasehold' hook codex --fail-closed --store 'http://h:1/?a=1&b'`
	if got := o.Command(Codex); got != want {
		t.Errorf("Command = %s, want %s", got, want)
	}
	if got := quote("it's"); got != `'it'\''s'` {
		t.Errorf("quote = %s", got)
	}
}

// A symlink to nothing is not replaced: Undo could not bring it back.
func TestSymlinkToNothing(t *testing.T) {
	for _, name := range []string{".claude/settings.json", ".codex/config.toml", ".mcp.json", ".cursor"} {
		root := t.TempDir()
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink("nowhere/at/all", path)); err != nil {
			t.Fatal(err)
		}
		for what, plan := range map[string]func(string, *Record, Options) (*Plan, error){"New": New, "Undo": Undo} {
			old := newRecord()
			if what == "Undo" {
				old.Files[".mcp.json"] = &FileRecord{Tool: Claude}
				old.Files[".codex/config.toml"] = &FileRecord{Tool: Codex, Text: "x"}
			}
			if p, err := plan(root, old, everything); err == nil || !strings.Contains(err.Error(), "is a symlink to nothing") {
				t.Errorf("%s with the symlink %s = %+v, %v, want an error", what, name, p, err)
			}
		}
		// Made while the user was asked.
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		p, err := New(root, newRecord(), everything)
		if err == nil {
			err = os.Symlink("nowhere/at/all", path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(root); err == nil {
			t.Errorf("Apply with the symlink %s = nil, want an error", name)
		}
		if target, err := os.Readlink(path); err != nil || target != "nowhere/at/all" {
			t.Errorf("after that %s is %q, %v, want the symlink", name, target, err)
		}
	}
	record := filepath.Join(t.TempDir(), "record.json")
	if err := os.Symlink("nowhere", record); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadRecord(record); err == nil {
		t.Error("LoadRecord of a symlink to nothing = nil, want an error")
	}
	if _, err := readOptional(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Errorf("readOptional of a folder = %v, want an error", err)
	}
}
