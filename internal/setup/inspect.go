package setup

import (
	"fmt"
	"strings"

	"github.com/leasehold/leasehold/internal/jsonedit"
)

// Inspection is how the hooks of a tool stand.
type Inspection struct {
	// Before and End are the commands before an edit and at the end of a session,
	// empty where there is none.
	Before, End string

	// Missing are the events without a hook.
	Missing []string

	// There says that there is a hook for some event.
	There bool
}

// Inspect reads the hooks of a tool from the repository's settings.
func Inspect(root string, t Tool) (Inspection, error) {
	var found Inspection
	text, err := readFile(root, t.Settings())
	if err != nil {
		return found, err
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		text = []byte("{}")
	}
	d, err := jsonedit.Parse(text)
	if err != nil {
		return found, fmt.Errorf("%s cannot be read: %w", t.Settings(), err)
	}
	events := specs[t].events
	for i, e := range events {
		command := ""
		for _, element := range d.Elements("hooks", e.name) {
			for _, c := range commands(element, t) {
				command = c
			}
		}
		switch {
		case command == "":
			found.Missing = append(found.Missing, e.name)
			continue
		case i == 0:
			found.Before = command
		case i == len(events)-1:
			found.End = command
		}
		found.There = true
	}
	return found, nil
}

// BeforeEvent is the name of the event before an edit, and EndEvent that of the end of
// a session.
func (t Tool) BeforeEvent() string { return specs[t].events[0].name }

// EndEvent is the event at the end of a session.
func (t Tool) EndEvent() string { return specs[t].events[len(specs[t].events)-1].name }
