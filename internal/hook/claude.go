package hook

import (
	"encoding/json"
	"fmt"
	"strings"
)

// claude is Claude Code.
type claude struct{}

var claudeEdits = map[string]bool{"Edit": true, "Write": true, "MultiEdit": true, "NotebookEdit": true}

func (claude) decode(text []byte) (event, error) {
	in, e, err := decodeInput(text)
	if err != nil {
		return e, err
	}
	var fields pathFields
	isEdit := claudeEdits[in.Tool]
	if isEdit && len(in.ToolInput) > 0 {
		if err = json.Unmarshal(in.ToolInput, &fields); err != nil {
			err = fmt.Errorf("the input of the tool %.64q: %w", in.Tool, err)
		}
	}
	return e.edits(isEdit, fields.all(), err)
}

// allow prints nothing: "allow" would skip the user's own permissions.
func (claude) allow(event) answer { return answer{} }

func (claude) deny(_ event, reason string) answer {
	return answer{refusal: reason, out: encode(map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
	}})}
}

// warn shows the user a message.
func (claude) warn(_ event, problem string) answer {
	return answer{out: encode(map[string]string{"systemMessage": problem}), err: problem + "\n"}
}

// encode writes JSON, and < and > as they are.
func encode(v any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // maps of strings
	}
	return text.String()
}
