package sqlite

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/leasehold/leasehold/engine"
	"zombiezen.com/go/sqlite"
)

// A module's name has no underscore, or the tables of "a" and "a_b" could be
// taken for each other's.
var moduleName = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

func checkModules(modules []engine.Module) error {
	seen := map[string]bool{}
	for _, m := range modules {
		switch {
		case !moduleName.MatchString(m.Name):
			return invalid("module", fmt.Sprintf("%q is no name for a module; want a-z and 0-9, a letter first, at most 32", m.Name))
		case strings.HasPrefix(m.Name, "lease"), m.Name == "sqlite", m.Name == "migrations":
			return invalid("module", fmt.Sprintf("%q is reserved; choose another name", m.Name))
		case seen[m.Name]:
			return invalid("module", fmt.Sprintf("%q is given twice", m.Name))
		}
		seen[m.Name] = true
	}
	return nil
}

// fence keeps a module's migrations to tables of its own. It is asked when a
// statement is prepared; reading is free, and so are SQLite's own tables, which
// every change of the schema writes to and no statement can.
func fence(module string) sqlite.Authorizer {
	own := func(name string) bool {
		return name == "" || strings.HasPrefix(name, module+"_") || strings.HasPrefix(name, "sqlite_")
	}
	return sqlite.AuthorizeFunc(func(a sqlite.Action) sqlite.AuthResult {
		switch a.Type() {
		case sqlite.OpRead, sqlite.OpSelect, sqlite.OpFunction, sqlite.OpRecursive, sqlite.OpAnalyze:
			return sqlite.AuthResultOK
		case sqlite.OpTransaction, sqlite.OpSavepoint, sqlite.OpAttach, sqlite.OpDetach, sqlite.OpPragma:
			if a.Pragma() == "quick_check" { // what ALTER TABLE asks for by itself
				return sqlite.AuthResultOK
			}
			return sqlite.AuthResultDeny // it would end the one transaction, or change the file's settings
		}
		for _, name := range []string{a.Table(), a.Index(), a.View(), a.Trigger()} {
			if !own(name) {
				return sqlite.AuthResultDeny
			}
		}
		return sqlite.AuthResultOK
	})
}
