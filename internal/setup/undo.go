package setup

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/leasehold/leasehold/internal/jsonedit"
)

// Undo plans to take back what was added for the tools. Without a record of it, as in
// another clone, it removes the hooks of leasehold and what they leave empty.
func Undo(root string, old *Record, o Options) (*Plan, error) {
	p := &Plan{Record: old.clone()}
	for _, t := range o.Tools {
		if p.Record.Files[t.Settings()] == nil {
			p.Record.Files[t.Settings()] = o.assumed(t)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Record.Files)) {
		f := p.Record.Files[name]
		if !slices.Contains(o.Tools, f.Tool) {
			continue
		}
		if err := p.undoFile(root, name, f); err != nil {
			return nil, err
		}
		delete(p.Record.Files, name)
	}
	return p, nil
}

// assumed is the record of a tool's hooks where none was kept.
func (o Options) assumed(t Tool) *FileRecord {
	f := &FileRecord{Tool: t, Trace: jsonedit.Trace{Made: [][]string{{"hooks"}}}}
	for _, e := range specs[t].events {
		at := []string{"hooks", e.name}
		f.Added = append(f.Added, Added{At: at})
		f.Trace.Made = append(f.Trace.Made, at)
	}
	return f
}

func (p *Plan) undoFile(root, name string, f *FileRecord) error {
	before, err := readFile(root, name)
	if err != nil || before == nil {
		return err // nothing is left of it
	}
	var after []byte
	if f.Text != "" {
		text, ok := removeTable(before, f)
		if !ok {
			p.Notes = append(p.Notes, name+": the table of leasehold was edited and stays as it is")
			return nil
		}
		if after = text; len(after) == 0 && f.Created {
			after = nil
		}
	} else if after, err = p.undoJSON(name, before, f); err != nil {
		return err
	}
	if after == nil || string(after) != string(before) {
		p.Changes = append(p.Changes, Change{Path: name, Before: before, After: after, Folder: after == nil && f.Folder})
	}
	return nil
}

// undoJSON removes from a file what was added to it. Nil: the whole file.
func (p *Plan) undoJSON(name string, before []byte, f *FileRecord) ([]byte, error) {
	d, err := jsonedit.Parse(before)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read, so nothing was changed: %w", name, err)
	}
	removed := 0
	for _, a := range slices.Backward(f.Added) {
		n := f.remove(d, a)
		if n == 0 && a.Value != nil && d.Value(append(slices.Clone(a.At), a.Key)...) != nil && a.Key != "" {
			p.Notes = append(p.Notes, fmt.Sprintf("%s: %s was edited and stays as it is", name, a.Key))
		}
		removed += n
	}
	if removed > 0 {
		d.Tidy(f.Trace)
	}
	switch {
	case d.Empty() && f.Created:
		return nil, nil
	case d.Empty() && f.Blank != nil:
		return []byte(*f.Blank), nil
	}
	return d.Bytes(), nil
}

// remove removes one value, or what is left of it: a hook keeps its command in a group
// that others have edited.
func (f *FileRecord) remove(d *jsonedit.Document, a Added) int {
	if a.Key != "" {
		if d.Unset(a.At, a.Key, a.Value) {
			return 1
		}
		return 0
	}
	if a.Value == nil {
		return removeCommand(d, a.At, func(command string) bool { return isHook(command, f.Tool) })
	}
	if n := d.RemoveElements(a.At, func(e json.RawMessage) bool { return jsonedit.Same(e, a.Value) }); n > 0 {
		return n
	}
	own := map[string]bool{}
	for _, command := range commandsOf(a.Value) {
		own[command] = true
	}
	return removeCommand(d, a.At, func(command string) bool { return own[command] })
}

// commandsOf returns all commands of an element.
func commandsOf(element json.RawMessage) (all []string) {
	var h handler
	if json.Unmarshal(element, &h) != nil {
		return nil
	}
	for _, one := range append(h.Hooks, h) {
		if one.Command != "" {
			all = append(all, one.Command)
		}
	}
	return all
}
