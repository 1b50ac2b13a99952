package hook

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// codex is Codex. All that it edits is a patch.
type codex struct{}

func (codex) decode(text []byte) (event, error) {
	in, e, err := decodeInput(text)
	if err != nil {
		return e, err
	}
	if e.kind != beforeEdit && e.kind != afterEdit {
		return e, nil
	}
	patch := patchText(in.ToolInput)
	switch in.Tool {
	case "apply_patch":
	case "Edit", "Write": // other names for it in hooks.json
	default:
		// A shell command may be apply_patch with a patch, which Codex applies itself.
		if !strings.Contains(patch, patchStart) || !strings.Contains(patch, "apply_patch") && !strings.Contains(patch, "applypatch") {
			return e.edits(false, nil, nil)
		}
	}
	if patch == "" {
		var fields pathFields
		_ = json.Unmarshal(in.ToolInput, &fields) // without a file it is an error below
		return e.edits(true, fields.all(), nil)
	}
	if folder := patchFolder(patch); folder != "" {
		if e.cwd != "" && !filepath.IsAbs(folder) {
			folder = e.cwd + "/" + folder // not cleaned: .. may be behind a symlink
		}
		e.cwd = folder
	}
	files, err := patchFiles(patch)
	return e.edits(true, files, err)
}

// patchFolder returns where a shell command goes before it applies a patch, as in
// cd src && apply_patch <<EOF, which Codex applies itself, too.
func patchFolder(command string) string {
	before, _, _ := strings.Cut(command, patchStart)
	at := strings.LastIndex(before, "&&")
	if at < 0 || !strings.HasPrefix(strings.TrimSpace(before[at+len("&&"):]), "apply") {
		return ""
	}
	words := before[:at]
	cd := strings.LastIndex(words, "cd ")
	if cd < 0 || cd > 0 && !strings.ContainsAny(words[cd-1:cd], "\n\t '\"") {
		return ""
	}
	return strings.Trim(words[cd+len("cd "):], "\t '\"\\")
}

// patchText returns the patch, or command, of a tool's input: a text, or an object with
// one, or with a command line.
func patchText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var fields struct {
		Command json.RawMessage `json:"command"`
		Input   string          `json:"input"`
		Patch   string          `json:"patch"`
	}
	if json.Unmarshal(raw, &fields) != nil {
		return ""
	}
	var words []string
	if json.Unmarshal(fields.Command, &text) != nil && json.Unmarshal(fields.Command, &words) == nil {
		text = strings.Join(words, "\n")
	}
	for _, t := range []string{text, fields.Input, fields.Patch} {
		if t != "" {
			return t
		}
	}
	return ""
}

func (codex) allow(event) answer { return answer{} }

// deny blocks by the exit code, which older versions know, too.
func (codex) deny(_ event, reason string) answer { return answer{err: reason + "\n", code: blocked} }

func (codex) warn(e event, problem string) answer { return claude{}.warn(e, problem) }
