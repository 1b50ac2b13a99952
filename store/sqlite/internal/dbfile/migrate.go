package dbfile

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/leasehold/leasehold/engine"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// EngineName is the engine's name among the modules.
const EngineName = "leasehold"

// EngineSchema is the engine's own schema, one file for each step. A released
// file never changes.
var EngineSchema = readSchema()

func readSchema() engine.Module {
	m := engine.Module{Name: EngineName}
	entries, err := schemaFiles.ReadDir("schema") // in order of their names
	if err != nil {
		panic(err) // embedded, so it cannot fail
	}
	for _, e := range entries {
		text, err := schemaFiles.ReadFile(path.Join("schema", e.Name()))
		if err != nil {
			panic(err)
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(e.Name(), ".sql"), "_")
		m.Migrations = append(m.Migrations, engine.Migration{Name: name, SQL: string(text)})
	}
	return m
}

// step is one migration that the file still lacks.
type step struct {
	module  string
	version int
	engine.Migration
}

// Migrate brings the schema up to date, in one transaction: all steps or none. A
// step that fails leaves schema and data as they were; only a row in migrations
// says so, where that table exists already.
func Migrate(conn *sqlite.Conn, file string, modules []engine.Module) error {
	version, err := SchemaVersion(conn, file)
	if err != nil {
		return err
	}
	if known := len(EngineSchema.Migrations); version > known {
		return Newer(file, "schema", version, known)
	}
	steps, err := missingSteps(conn, file, version, append([]engine.Module{EngineSchema}, modules...))
	if err != nil || len(steps) == 0 {
		return err
	}
	failed, err := runSteps(conn, steps)
	if err == nil {
		return nil
	}
	if version > 0 && failed != nil {
		_ = recordStep(conn, *failed, err) // the error itself is what matters
	}
	return err
}

// missingSteps lists the steps to run, and refuses a file with steps that this
// program does not know.
func missingSteps(conn *sqlite.Conn, file string, version int, modules []engine.Module) ([]step, error) {
	done, err := appliedSteps(conn, version)
	if err != nil {
		return nil, err
	}
	var steps []step
	for _, m := range modules {
		if have, know := len(done[m.Name]), len(m.Migrations); have > know {
			return nil, Newer(file, "schema of module "+m.Name, have, know)
		}
		for i, migration := range m.Migrations {
			s := step{m.Name, i + 1, migration}
			switch name, ok := done[m.Name][s.version]; {
			case !ok:
				steps = append(steps, s)
			case name != s.Name:
				return nil, &FileError{Path: file, What: ErrForeign, Detail: fmt.Sprintf(
					"has taken step %d of %s as %q, which this program knows as %q; use the program that it belongs to", s.version, m.Name, name, s.Name)}
			}
		}
	}
	return steps, nil
}

// appliedSteps returns the names of the steps that ran, by module and version.
func appliedSteps(conn *sqlite.Conn, version int) (map[string]map[int]string, error) {
	done := map[string]map[int]string{}
	if version == 0 {
		return done, nil
	}
	err := sqlitex.ExecuteTransient(conn, sqlAppliedMigrations, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		module := s.ColumnText(0)
		if done[module] == nil {
			done[module] = map[int]string{}
		}
		done[module][s.ColumnInt(1)] = s.ColumnText(2)
		return nil
	}})
	return done, err
}

// runSteps runs them in one transaction. If one fails it says which.
func runSteps(conn *sqlite.Conn, steps []step) (failed *step, err error) {
	if err := Run(conn, "BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && !conn.AutocommitEnabled() {
			err = errors.Join(err, Run(conn, "ROLLBACK"))
		}
	}()
	for i, s := range steps {
		if err := s.run(conn); err != nil {
			return &steps[i], fmt.Errorf("migration %d (%s) of %s failed, the schema is as it was: %w", s.version, s.Name, s.module, err)
		}
		if err := recordStep(conn, s, nil); err != nil {
			return nil, err
		}
	}
	if err := writeHeader(conn); err != nil {
		return nil, err
	}
	return nil, Run(conn, "COMMIT")
}

func (s step) run(conn *sqlite.Conn) error {
	if s.module != EngineName {
		if err := conn.SetAuthorizer(restrictTo(s.module)); err != nil {
			return err
		}
		defer conn.SetAuthorizer(nil)
	}
	err := runScript(conn, s.SQL)
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultAuth {
		return fmt.Errorf("a module may only make and change what carries its name, %s_…, and leaves transactions and pragmas alone: %w", s.module, err)
	}
	return err
}

// recordStep writes the result of a step into the table of migrations.
func recordStep(conn *sqlite.Conn, s step, failure error) error {
	status, text := "applied", any(nil)
	if failure != nil {
		status, text = "failed", failure.Error()
	}
	return sqlitex.ExecuteTransient(conn, sqlPutMigration, &sqlitex.ExecOptions{
		Args: []any{s.module, s.version, s.Name, time.Now().UnixMilli(), status, text},
	})
}

func Newer(file, what string, have, know int) error {
	return &FileError{Path: file, What: ErrNewer, Detail: fmt.Sprintf(
		"has version %d of the %s and this program knows only version %d; use the newer program", have, what, know)}
}

// moduleName has no underscore, or the prefixes of "a" and "a_b" would overlap.
var moduleName = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

func CheckModules(modules []engine.Module) error {
	seen := map[string]bool{}
	for _, m := range modules {
		switch {
		case !moduleName.MatchString(m.Name):
			return Invalid("module", "%q is no name for a module; want a-z and 0-9, a letter first, at most 32", m.Name)
		case strings.HasPrefix(m.Name, "lease"), m.Name == "sqlite", m.Name == "migrations":
			return Invalid("module", "%q is reserved; choose another name", m.Name)
		case seen[m.Name]:
			return Invalid("module", "%q is given twice", m.Name)
		}
		seen[m.Name] = true
	}
	return nil
}

// restrictTo allows a module's migrations to change only tables of its own. SQLite
// calls it when a statement is prepared. Reading is allowed, and so are SQLite's
// own tables, which every change of the schema writes and no statement can.
func restrictTo(module string) sqlite.Authorizer {
	own := func(name string) bool {
		return name == "" || strings.HasPrefix(name, module+"_") || strings.HasPrefix(name, "sqlite_")
	}
	return sqlite.AuthorizeFunc(func(a sqlite.Action) sqlite.AuthResult {
		switch a.Type() {
		case sqlite.OpRead, sqlite.OpSelect, sqlite.OpFunction, sqlite.OpRecursive, sqlite.OpAnalyze:
			return sqlite.AuthResultOK
		case sqlite.OpTransaction, sqlite.OpSavepoint, sqlite.OpAttach, sqlite.OpDetach, sqlite.OpPragma:
			if a.Pragma() == "quick_check" { // ALTER TABLE runs it
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
