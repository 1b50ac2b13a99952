package hook

import (
	"encoding/json"
	"fmt"
	"strings"
)

// cursor is Cursor.
type cursor struct{}

// cursorEdits are parts of the names of tools that edit: Write, StrReplace, Delete,
// EditNotebook, ApplyPatch.
var cursorEdits = []string{"edit", "write", "replace", "delete", "patch"}

func isCursorEdit(tool string) bool {
	lower := strings.ToLower(tool)
	if strings.HasPrefix(lower, "mcp:") || strings.Contains(lower, "todo") {
		return false
	}
	for _, part := range cursorEdits {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

func (cursor) decode(text []byte) (event, error) {
	in, e, err := decodeInput(text)
	if err != nil {
		return e, err
	}
	if in.FilePath != "" { // afterFileEdit
		return e.edits(true, []string{in.FilePath}, nil)
	}
	if !isCursorEdit(in.Tool) {
		return e.edits(false, nil, nil)
	}
	if patch := patchText(in.ToolInput); strings.Contains(patch, patchStart) {
		files, err := patchFiles(patch)
		return e.edits(true, files, err)
	}
	raw := in.ToolInput
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil { // some versions send JSON as text
		raw = json.RawMessage(quoted)
	}
	var fields pathFields
	if err = json.Unmarshal(raw, &fields); err != nil {
		err = fmt.Errorf("the input of the tool %.64q: %w", in.Tool, err)
	}
	return e.edits(true, fields.all(), err)
}

func (c cursor) allow(e event) answer {
	if !c.decides(e) {
		return answer{out: "{}\n"}
	}
	return answer{out: encode(map[string]string{"permission": "allow"})}
}

func (cursor) deny(_ event, reason string) answer {
	return answer{refusal: reason, out: encode(map[string]string{"permission": "deny", "agent_message": reason, "user_message": reason})}
}

func (c cursor) warn(e event, problem string) answer {
	if e.name != "" && !c.decides(e) {
		return answer{out: "{}\n", err: problem + "\n"}
	}
	return answer{out: encode(map[string]string{"permission": "allow", "agent_message": problem, "user_message": problem}), err: problem + "\n"}
}

// decides says whether the event is one that a hook decides.
func (cursor) decides(e event) bool { return strings.EqualFold(e.name, "preToolUse") }
