package postgres

import (
	"embed"
	"strings"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the SQL of one schema, by the names of their files.
type statements map[string]string

// newStatements reads all files. A schema's name is checked before.
func newStatements(schema string) statements {
	all := statements{}
	files, _ := sqlFiles.ReadDir("sql")
	for _, file := range files {
		text, _ := sqlFiles.ReadFile("sql/" + file.Name())
		all[strings.TrimSuffix(file.Name(), ".sql")] = forSchema(string(text), schema)
	}
	return all
}

// forSchema puts the schema's name in, and leaves comments out: the server would
// parse them each time where statements cannot be prepared.
func forSchema(text, schema string) string {
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if !strings.HasPrefix(line, "--") {
			kept = append(kept, line)
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(strings.Join(kept, "\n")), "{s}", `"`+schema+`"`)
}
