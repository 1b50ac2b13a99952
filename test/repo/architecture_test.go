package repo_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestArchitectureNamesWhatExists checks the map for newcomers. In
// docs/architecture.md
//
//   - a code span with a dot or a slash at its end is a file or a folder, by its path
//     from the repository's root: `store.go`, `store/local/`, `azure/server/op_*.go`;
//   - a code span after a Go file in the same line is declared in that file:
//     `Func`, `Type`, `Type.Method`, `Type.field`;
//   - a code span with a space is a command or a request, which is not checked;
//   - a word of the picture that ends in a slash is a folder.
//
// Any other code span is an error, so that no name escapes the check.
func TestArchitectureNamesWhatExists(t *testing.T) {
	const document = "docs/architecture.md"
	text := readText(t, document)
	if n := len(codeSpan.FindAllString(text, -1)); n < 50 {
		t.Fatalf("%s has %d code spans; want a map of the repository", document, n)
	}
	for _, problem := range wrongNames(os.DirFS("."), text) {
		t.Errorf("%s:%s", document, problem)
	}
}

var (
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	goName     = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$`)
	folderName = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)*/$`)
)

// wrongNames returns a line for each file, folder and Go name of a document that
// does not exist in the tree.
func wrongNames(tree fs.FS, document string) (wrong []string) {
	report := func(line int, format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("%d: ", line+1)+fmt.Sprintf(format, args...))
	}
	inside := false // a fenced block
	for i, line := range strings.Split(document, "\n") {
		if strings.HasPrefix(line, "```") {
			inside = !inside
			continue
		}
		if inside {
			for _, word := range strings.Fields(line) {
				if folderName.MatchString(word) && !exists(tree, word) {
					report(i, "the picture has the folder %s, which does not exist", word)
				}
			}
			continue
		}
		file := "" // the last Go file of the line
		for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
			switch name := span[1]; {
			case strings.Contains(name, " "):
			case strings.HasSuffix(name, "/") || isPath(name):
				if !exists(tree, name) {
					report(i, "%s does not exist", name)
				}
				file = name
			case !goName.MatchString(name):
				report(i, "%s is no path and no name", name)
			case path.Ext(file) != ".go":
				report(i, "%s stands after no Go file", name)
			case !declares(tree, file, name):
				report(i, "%s does not declare %s", file, name)
			}
		}
	}
	return wrong
}

// isPath tells a file from `Type.Method`.
func isPath(name string) bool {
	switch path.Ext(name) {
	case ".go", ".sql", ".md", ".html", ".lua", ".txtar", ".js", ".json", ".yaml", ".yml", ".service":
		return true
	}
	return strings.Contains(name, "/")
}

// exists reports whether a pattern matches a file, or a folder where it ends in
// a slash.
func exists(tree fs.FS, name string) bool {
	pattern, wantFolder := strings.CutSuffix(name, "/")
	found, err := fs.Glob(tree, pattern)
	if err != nil || len(found) == 0 {
		return false
	}
	info, err := fs.Stat(tree, found[0])
	return err == nil && info.IsDir() == wantFolder
}

// declares reports whether one of the files that a pattern matches declares a
// function, type, constant or variable, or a method or field of a type.
func declares(tree fs.FS, pattern, name string) bool {
	files, _ := fs.Glob(tree, pattern)
	for _, file := range files {
		source, err := fs.ReadFile(tree, file)
		if err != nil {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err == nil && namesOf(parsed)[name] {
			return true
		}
	}
	return false
}

// namesOf returns what a file declares at its top level.
func namesOf(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names[name.Name] = true
					}
				case *ast.TypeSpec:
					names[s.Name.Name] = true
					for _, member := range membersOf(s.Type) {
						names[s.Name.Name+"."+member] = true
					}
				}
			}
		}
	}
	return names
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// membersOf returns the fields of a struct, or the methods of an interface.
func membersOf(t ast.Expr) (names []string) {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
