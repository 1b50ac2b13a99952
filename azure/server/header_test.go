package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// exact are the functions that look for a header, or set one, without respelling
// its name.
var exact = map[string]bool{"first": true, "number": true, "sequence": true, "time": true, "leaseID": true, "mustHaveID": true, "set": true}

// TestHeaderNames: a header that is looked for under another spelling than
// net/http's is never found, and the condition that it states never kept.
func TestHeaderNames(t *testing.T) {
	names := namesInCalls(t)
	for _, u := range unsupportedHeaders {
		names = append(names, u.name)
	}
	for _, n := range []conditionNames{plainConditions, sourceConditions, blobConditions} {
		names = append(names, n.match, n.noneMatch, n.modified, n.unmodified, n.tags)
	}
	for _, name := range names {
		if want := http.CanonicalHeaderKey(name); name != want {
			t.Errorf("a header is looked for as %q, want %q", name, want)
		}
	}
}

// namesInCalls are the names in the arguments of all calls of exact functions,
// as they stand there or as constants of the same function.
func namesInCalls(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && exact[calledName(call)] {
				for _, argument := range call.Args {
					names = append(names, literals(argument)...)
				}
			}
			return true
		})
	}
	if len(names) < 25 {
		t.Errorf("found only %d names: %q", len(names), names)
	}
	return names
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// literals are the values of a literal or of a constant.
func literals(e ast.Expr) (found []string) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			found = append(found, text)
		}
	case *ast.Ident:
		if e.Obj == nil {
			return nil
		}
		if spec, ok := e.Obj.Decl.(*ast.ValueSpec); ok {
			for _, value := range spec.Values {
				found = append(found, literals(value)...)
			}
		}
	}
	return found
}
