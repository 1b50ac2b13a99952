package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/leasehold/leasehold"
)

// kind is what an event asks for.
type kind uint8

const (
	otherEvent kind = iota // nothing
	beforeEdit             // acquire
	afterEdit              // renew
	ends                   // release
)

// event is what a tool says.
type event struct {
	kind     kind
	name     string // as the tool calls it
	session  string
	agent    string // the sub-agent, if it is one
	children bool   // ends: the sub-agents' leases, too
	cwd      string
	tool     string
	files    []string // as the tool names them
}

// input is the JSON of all three tools, which differ in few fields.
type input struct {
	Event        string   `json:"hook_event_name"`
	Session      string   `json:"session_id"`
	Conversation string   `json:"conversation_id"` // Cursor's session
	Agent        string   `json:"agent_id"`
	Subagent     string   `json:"subagent_id"` // Cursor's
	CWD          string   `json:"cwd"`
	Roots        []string `json:"workspace_roots"`
	Tool         string   `json:"tool_name"`

	ToolInput json.RawMessage `json:"tool_input"`
	FilePath  string          `json:"file_path"` // Cursor's afterFileEdit
}

// decodeInput reads what all tools have in common. Before and after an edit it needs a
// session: without one there is nobody to hold the lease.
func decodeInput(text []byte) (in input, e event, err error) {
	if err := json.Unmarshal(text, &in); err != nil {
		return in, e, fmt.Errorf("it is not the JSON of a hook: %w", err)
	}
	e = event{name: in.Event, session: in.Session, agent: in.Agent, cwd: in.CWD, tool: in.Tool}
	switch {
	case in.Event == "":
		return in, e, errors.New("it has no hook_event_name")
	case e.session == "":
		e.session = in.Conversation
	}
	if e.agent == "" {
		e.agent = in.Subagent
	}
	if e.cwd == "" && len(in.Roots) > 0 {
		e.cwd = in.Roots[0]
	}
	switch strings.ToLower(in.Event) {
	case "pretooluse":
		e.kind = beforeEdit
	case "posttooluse", "afterfileedit":
		e.kind = afterEdit
	case "sessionend":
		e.kind, e.agent, e.children = ends, "", true
	case "subagentstop":
		if e.kind, e.children = ends, true; e.agent == "" {
			e.kind = otherEvent // whose end it is cannot be known
		}
	case "stop":
		e.kind = ends // of a turn: sub-agents may go on in the background
	}
	if e.kind != otherEvent && e.session == "" {
		return in, e, errors.New("it has no session_id")
	}
	return in, e, nil
}

// edits keeps the files of an event before or after an edit. An edit of no known file is
// an error; a tool that edits nothing is another event.
func (e event) edits(isEdit bool, files []string, err error) (event, error) {
	if e.kind != beforeEdit && e.kind != afterEdit {
		return e, nil
	}
	if !isEdit {
		e.kind = otherEvent
		return e, nil
	}
	seen := map[string]bool{"": true}
	for _, file := range files {
		if !seen[file] {
			seen[file] = true
			e.files = append(e.files, file)
		}
	}
	if err == nil && len(e.files) == 0 {
		err = fmt.Errorf("the tool %.64q names no file", e.tool)
	}
	return e, err
}

// pathFields are the fields of a tool's input that name the file.
type pathFields struct {
	FilePath       string   `json:"file_path"`
	NotebookPath   string   `json:"notebook_path"`
	Path           string   `json:"path"`
	TargetFile     string   `json:"target_file"`
	TargetNotebook string   `json:"target_notebook"`
	FilePaths      []string `json:"file_paths"`
}

func (f pathFields) all() []string {
	return append([]string{f.FilePath, f.NotebookPath, f.Path, f.TargetFile, f.TargetNotebook}, f.FilePaths...)
}

// maxName bounds the parts of a holder's name, which has 256 bytes at most.
const maxName = 110

// Holder returns the holder of a session's main agent.
func Holder(client, session string) string { return event{session: session}.holder(client) }

// holder returns client:session, or client:session/agent for a sub-agent.
func (e event) holder(client string) string {
	name := client + ":" + holderPart(e.session)
	if e.agent != "" {
		name += "/" + holderPart(e.agent)
	}
	if leasehold.CheckHolder(name) != nil {
		return client + ":" + digest(name)
	}
	return name
}

// holderPart makes a part of a holder's name of an id: without a slash, which would make
// it a sub-agent of another.
func holderPart(id string) string {
	clean := strings.Map(func(c rune) rune {
		if c == '/' || unicode.IsControl(c) {
			return '_'
		}
		return c
	}, strings.ToValidUTF8(id, "_"))
	if clean != id || len(id) > maxName {
		return strings.ToValidUTF8(clean[:min(len(clean), 64)], "") + "#" + digest(id)
	}
	return id
}
