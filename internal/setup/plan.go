package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/internal/jsonedit"
)

// Change is one file before and after. A nil Before means that there is none, a nil
// After that it is removed.
type Change struct {
	Path          string // relative to the root, with slashes
	Before, After []byte
	Folder        bool // remove its folder, too, if it is empty then
}

// Plan is what to do, and what to remember of it.
type Plan struct {
	Changes []Change
	Record  *Record
	Notes   []string // what is left as it is, and why
}

// New plans to add what the options say. What is there already is not added again. It
// fails where a file has another shape than its tool can read.
func New(root string, old *Record, o Options) (*Plan, error) {
	p := &Plan{Record: old.clone()}
	for _, t := range o.Tools {
		if err := p.addHooks(root, t, o); err != nil {
			return nil, err
		}
		if !o.MCP {
			continue
		}
		add := p.addServer
		if strings.HasSuffix(specs[t].mcp, ".toml") {
			add = p.addTable
		}
		if err := add(root, t, o); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// readFile returns nil for a file that is not there.
func readFile(root, name string) ([]byte, error) {
	for folder := filepath.Dir(filepath.FromSlash(name)); folder != "."; folder = filepath.Dir(folder) {
		if err := checkLink(filepath.Join(root, folder)); err != nil {
			return nil, err
		}
	}
	text, err := readOptional(filepath.Join(root, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}

// readOptional is os.ReadFile, for which a symlink to nothing is no missing file: to
// write would replace it, and nothing could bring it back. What is no file is not read: a
// pipe would never end.
func readOptional(path string) ([]byte, error) {
	if err := checkLink(path); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		if err == nil {
			err = fmt.Errorf("%s is no file", path)
		}
		return nil, err
	}
	return os.ReadFile(path)
}

// checkLink fails for a symlink to nothing.
func checkLink(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is a symlink to nothing; mend or delete it", path)
	}
	return nil
}

// edit runs a change of one JSON file. Where there is none, it starts as {}.
func (p *Plan) edit(root, name string, t Tool, change func(*jsonedit.Document, *FileRecord) error) error {
	before, err := readFile(root, name)
	if err != nil {
		return err
	}
	f := p.Record.Files[name]
	if f == nil {
		f = &FileRecord{Tool: t}
	}
	text := before
	if len(bytes.TrimSpace(before)) == 0 {
		text = []byte("{}\n")
	}
	d, err := jsonedit.Parse(text)
	if err != nil {
		return fmt.Errorf("%s cannot be read, so nothing was changed: %w", name, err)
	}
	if err := change(d, f); err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", name, err)
	}
	after := d.Bytes()
	if bytes.Equal(text, after) {
		return nil
	}
	switch {
	case before == nil:
		_, err := os.Stat(filepath.Join(root, filepath.Dir(filepath.FromSlash(name))))
		f.Created, f.Folder = true, err != nil
	case len(bytes.TrimSpace(before)) == 0:
		blank := string(before)
		f.Blank = &blank
	}
	p.Record.Files[name] = f
	p.Changes = append(p.Changes, Change{Path: name, Before: before, After: after})
	return nil
}

// addHooks adds the hooks of a tool to its settings.
func (p *Plan) addHooks(root string, t Tool, o Options) error {
	return p.edit(root, t.Settings(), t, func(d *jsonedit.Document, f *FileRecord) error {
		if t == Cursor && d.Value("version") == nil {
			if err := f.set(d, nil, "version", json.RawMessage("1")); err != nil {
				return err
			}
		}
		for _, e := range specs[t].events {
			if err := p.addHook(d, f, t, o, e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *Plan) addHook(d *jsonedit.Document, f *FileRecord, t Tool, o Options, e event) error {
	at, entry := []string{"hooks", e.name}, o.entry(t, e)
	var there []string
	for _, element := range d.Elements(at...) {
		there = append(there, commands(element, t)...)
	}
	mine := slices.IndexFunc(f.Added, func(a Added) bool { return a.Key == "" && slices.Equal(a.At, at) })
	switch {
	case len(there) == 0 && mine >= 0: // somebody removed it
		f.Added = slices.Delete(f.Added, mine, mine+1)
	case len(there) == 0:
	case mine >= 0 && !jsonedit.Same(f.Added[mine].Value, entry):
		// Other options than before. The list keeps its place.
		old := f.Added[mine]
		if n := d.RemoveElements(at, func(element json.RawMessage) bool { return jsonedit.Same(element, old.Value) }); n == 0 {
			p.Notes = append(p.Notes, fmt.Sprintf("%s: %s was edited and stays as it is", t.Settings(), e.name))
			return nil
		}
		f.Added[mine].Value = entry
		return d.Append(at, entry, &jsonedit.Trace{})
	default:
		if !slices.Contains(there, o.Command(t)) {
			p.Notes = append(p.Notes, fmt.Sprintf("%s: %s runs %q already, which stays as it is", t.Settings(), e.name, there[0]))
		}
		return nil
	}
	if err := d.Append(at, entry, &f.Trace); err != nil {
		return err
	}
	f.Added = append(f.Added, Added{At: at, Value: entry})
	return nil
}

// set adds a member and remembers it.
func (f *FileRecord) set(d *jsonedit.Document, at []string, key string, value json.RawMessage) error {
	if err := d.Set(at, key, value, &f.Trace); err != nil {
		return err
	}
	f.Added = append(f.Added, Added{At: at, Key: key, Value: value})
	return nil
}

// addServer adds the MCP server to a JSON file.
func (p *Plan) addServer(root string, t Tool, o Options) error {
	name := specs[t].mcp
	program, args := o.server()
	list, err := json.Marshal(args)
	if err != nil {
		return err
	}
	value := json.RawMessage(`{"command":` + encode(program) + `,"args":` + string(list) + `}`)
	return p.edit(root, name, t, func(d *jsonedit.Document, f *FileRecord) error {
		at := []string{"mcpServers"}
		there := d.Value("mcpServers", "leasehold")
		switch {
		case there == nil:
			f.Added = slices.DeleteFunc(f.Added, func(a Added) bool { return a.Key == "leasehold" })
			return f.set(d, at, "leasehold", value)
		case !jsonedit.Same(there, value):
			p.Notes = append(p.Notes, name+": has an MCP server leasehold already, which stays as it is")
		}
		return nil
	})
}
