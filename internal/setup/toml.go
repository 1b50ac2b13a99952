package setup

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Codex reads its MCP servers from TOML. A table can be put at the end of any TOML
// file, so the text is added there and taken from there, without reading the rest.
var (
	// ownServer is a line that defines a server leasehold, in any of TOML's ways: a table, a
	// key with dots, a key of the table of servers.
	ownServer = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*(?:\[[ \t]*)?(?:["']?mcp_servers["']?[ \t]*\.[ \t]*)?["']?leasehold["']?[ \t]*[\].=]`)
	})
	inlineTable = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*["']?mcp_servers["']?[ \t]*=`)
	})
)

// table is the MCP server in TOML.
func (o Options) table() string {
	program, args := o.server()
	list, _ := json.Marshal(args) // strings; TOML writes them as JSON does
	return "# leasehold init --undo removes this table\n[mcp_servers.leasehold]\ncommand = " + encode(program) + "\nargs = " + string(list) + "\n"
}

// addTable adds the MCP server to a TOML file.
func (p *Plan) addTable(root string, t Tool, o Options) error {
	name := specs[t].mcp
	before, err := readFile(root, name)
	if err != nil {
		return err
	}
	f := p.Record.Files[name]
	switch text := string(before); {
	case ownServer().MatchString(text):
		if f == nil || !strings.Contains(text, o.table()) {
			p.Notes = append(p.Notes, name+": has an MCP server leasehold already, which stays as it is")
		}
		return nil
	case inlineTable().MatchString(text):
		return fmt.Errorf("%s has mcp_servers as one value, to which no table can be added; add this to it yourself:\n%s", name, o.table())
	}
	added := o.table()
	switch {
	case len(before) > 0 && before[len(before)-1] != '\n':
		added = "\n\n" + added
	case len(before) > 0:
		added = "\n" + added
	}
	if f == nil {
		f = &FileRecord{Tool: t, Created: before == nil}
		if f.Created {
			_, err := os.Stat(filepath.Join(root, filepath.Dir(name)))
			f.Folder = err != nil
		}
	}
	f.Text = added
	p.Record.Files[name] = f
	p.Changes = append(p.Changes, Change{Path: name, Before: before, After: append(append([]byte{}, before...), added...)})
	return nil
}

// removeTable takes the text back.
func removeTable(before []byte, f *FileRecord) (after []byte, ok bool) {
	at := strings.LastIndex(string(before), f.Text)
	if at < 0 {
		return before, false
	}
	return []byte(string(before[:at]) + string(before[at+len(f.Text):])), true
}
