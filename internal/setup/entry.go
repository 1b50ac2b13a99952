package setup

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/internal/jsonedit"
)

// handler is what an element of a tool's list of hooks has: a command, or a group of
// hooks that have one.
type handler struct {
	Command string    `json:"command"`
	Hooks   []handler `json:"hooks"`
}

// commands returns the commands of an element that are leasehold hook for a tool.
func commands(element json.RawMessage, t Tool) (found []string) {
	var h handler
	if json.Unmarshal(element, &h) != nil {
		return nil
	}
	for _, one := range append(h.Hooks, h) {
		if isHook(one.Command, t) {
			found = append(found, one.Command)
		}
	}
	return found
}

// isHook says whether a command is leasehold hook for a tool, wherever the program is
// and whatever flags it has.
func isHook(command string, t Tool) bool {
	words := strings.Fields(command)
	for i := range words {
		words[i] = strings.Trim(words[i], `'"`)
	}
	at := slices.Index(words, "hook")
	if at < 1 || at+1 >= len(words) || words[at+1] != string(t) {
		return false
	}
	return slices.ContainsFunc(words[:at], func(word string) bool {
		name := path.Base(strings.ReplaceAll(word, `\`, "/"))
		return name == "leasehold" || name == "leasehold.exe"
	})
}

// removeCommand removes the hooks with a command that drop names from the list at a
// path: a whole element, or, where others share its group, the one hook of it.
func removeCommand(d *jsonedit.Document, at []string, drop func(string) bool) (removed int) {
	removed = d.RemoveElements(at, func(element json.RawMessage) bool {
		var h handler
		if json.Unmarshal(element, &h) != nil {
			return false
		}
		all := append(h.Hooks, h)
		return !slices.ContainsFunc(all, func(one handler) bool { return one.Command != "" && !drop(one.Command) }) &&
			slices.ContainsFunc(all, func(one handler) bool { return one.Command != "" })
	})
	for i, element := range d.Elements(at...) {
		group, err := jsonedit.Parse(element)
		if err != nil {
			continue
		}
		n := group.RemoveElements([]string{"hooks"}, func(inner json.RawMessage) bool {
			var h handler
			return json.Unmarshal(inner, &h) == nil && h.Command != "" && drop(h.Command)
		})
		if n > 0 {
			d.ReplaceElement(at, i, group.Bytes())
			removed += n
		}
	}
	return removed
}
