package repo_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// refused are words that no name may have: a reader would need an explanation
// where an ordinary word of this field needs none. The value is what to write.
var refused = map[string]string{
	"ask": "acquisition, request", "campaign": "acquisition, wait loop", "want": "options",
	"passenger": "pending call", "fate": "result", "seat": "batch", "trip": "call, batch", "flight": "renewal",
	"crew": "manager", "crowd": "waiters, clients", "keeper": "engine, timers", "tend": "expire",
	"porch": "middleware", "rooms": "backend", "house": "server", "door": "listener, API",
	"party": "client", "prize": "target", "boxwork": "operation", "craft": "operation", "feat": "operation",
	"unbuilt": "unsupported", "contest": "contention", "whoever": "caller", "validity": "deadline",
}

// refusedVerbs start no name of a function: each means too many things.
var refusedVerbs = map[string]string{
	"take": "acquire, pop, read", "leave": "dequeue, cancel", "tell": "notify, write", "settle": "complete",
	"judge": "decide", "begin": "start", "explain": "describe the error", "do": "the operation's own verb",
}

// allowed are exceptions, "file: name" or "name", each with its reason. One that
// no name needs fails the test.
var allowed = map[string]string{
	"want": "what a test expects: the word of package testing's own examples",
	"Do":   "the usual name where a function is handed in: http.Client.Do, sync.Once.Do",
}

// fieldTerms are pairs of words that this field uses together, each with its
// source. The second word is fine after the first.
var fieldTerms = map[string]string{
	"round trip": "http.RoundTripper, and the usual name of a test that encodes and decodes",
}

// TestVocabulary splits into words every name that a Go file declares, and the
// names of all files and folders, and refuses the words above.
func TestVocabulary(t *testing.T) {
	files := repositoryFiles(t)
	if len(files) < 100 {
		t.Fatalf("found %d files; the names of nothing were checked", len(files))
	}
	unused := maps.Clone(allowed)
	for _, problem := range badPaths(files) {
		t.Error(problem)
	}
	for _, file := range files {
		if path.Ext(file) != ".go" {
			continue
		}
		for _, problem := range badNames(t, file, nil, unused) {
			t.Error(problem)
		}
	}
	for exception := range unused {
		t.Errorf("no name needs the exception %q", exception)
	}
}

// badPaths returns a line for each file or folder with a refused word in its own
// name.
func badPaths(files []string) (bad []string) {
	checked := map[string]bool{".": true}
	for _, file := range files {
		for ; !checked[file]; file = path.Dir(file) {
			checked[file] = true
			for _, word := range splitName(path.Base(file)) {
				if better, ok := refusedWord(word); ok {
					bad = append(bad, fmt.Sprintf("%s: the path has the word %q; write %s", file, word, better))
				}
			}
		}
	}
	return bad
}

// badNames returns a line for each refused word in the names that a file
// declares. The exceptions that it needs are deleted from unused.
func badNames(t *testing.T, file string, source any, unused map[string]string) (bad []string) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for name, isFunc := range declared(parsed) {
		problem := badName(name.Name, isFunc)
		if problem == "" {
			continue
		}
		if exception := exceptionFor(file, name.Name); exception != "" {
			delete(unused, exception)
			continue
		}
		bad = append(bad, fmt.Sprintf("%s: %s", set.Position(name.Pos()), problem))
	}
	slices.Sort(bad)
	return bad
}

func exceptionFor(file, name string) string {
	for _, exception := range []string{name, file + ": " + name} {
		if allowed[exception] != "" {
			return exception
		}
	}
	return ""
}

func badName(name string, isFunc bool) string {
	words := splitName(name)
	for i, word := range words {
		if word == "want" && strings.HasPrefix(name, word) && name != word {
			continue // wantCode, wantErr: what a test expects
		}
		if i > 0 && fieldTerms[words[i-1]+" "+word] != "" {
			continue
		}
		if better, ok := refusedWord(word); ok {
			return fmt.Sprintf("%s has the word %q; write %s", name, word, better)
		}
	}
	if better := refusedVerbs[words[0]]; isFunc && better != "" {
		return fmt.Sprintf("func %s starts with %q; write %s", name, words[0], better)
	}
	return ""
}

// refusedWord also knows the plural.
func refusedWord(word string) (better string, ok bool) {
	if better, ok = refused[word]; ok {
		return better, true
	}
	singular := strings.TrimSuffix(word, "s")
	if stem, isPlural := strings.CutSuffix(word, "ies"); isPlural {
		singular = stem + "y"
	}
	better, ok = refused[singular]
	return better, ok
}

// declared returns the names that a file declares, wherever they stand: packages
// and local names of imports, types and type parameters, fields and methods,
// constants, variables, parameters, results and labels. The value tells whether
// the name is called as a function.
func declared(file *ast.File) map[*ast.Ident]bool {
	names := map[*ast.Ident]bool{file.Name: false}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names[n.Name] = true
		case *ast.TypeSpec:
			names[n.Name] = false
		case *ast.ImportSpec:
			if n.Name != nil {
				names[n.Name] = false
			}
		case *ast.LabeledStmt:
			names[n.Label] = false
		case *ast.ValueSpec:
			for i, name := range n.Names {
				names[name] = isFuncType(n.Type) || i < len(n.Values) && isFuncLit(n.Values[i])
			}
		case *ast.Field:
			for _, name := range n.Names {
				names[name] = isFuncType(n.Type)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					names[name] = len(n.Lhs) == len(n.Rhs) && isFuncLit(n.Rhs[i])
				}
			}
		case *ast.RangeStmt:
			for _, left := range []ast.Expr{n.Key, n.Value} {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					names[name] = false
				}
			}
		}
		return true
	})
	return names
}

func isFuncType(e ast.Expr) bool { _, ok := e.(*ast.FuncType); return ok }
func isFuncLit(e ast.Expr) bool  { _, ok := e.(*ast.FuncLit); return ok }

// splitName returns the words of a name, in lower case: "crashHand_test2" is
// crash, hand, test.
func splitName(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			end()
			continue
		}
		nextLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(r) && len(word) > 0 && (!unicode.IsUpper(word[len(word)-1]) || nextLower) {
			end()
		}
		word = append(word, r)
	}
	if end(); len(words) == 0 {
		return []string{name}
	}
	return words
}

func TestVocabularyIsChecked(t *testing.T) {
	const source = `package house
import porch "fmt"
type Want[craft any] struct{ seats int; tell func() }
type rooms interface{ settle() }
func (w Want[T]) leave(prizes []int, ask func()) (trip error) {
feats:
	for passenger := range prizes { fate := passenger; _ = fate; continue feats }
	take := func() {}
	var judge = func() {}
	take(); judge(); porch.Print()
	return nil
}
func want(t, question, task int) { taken, do, Do := 1, 2, 3; want := taken }
func wantSeat() {}
func RoundTrip() {}
`
	unused := maps.Clone(allowed)
	bad := strings.Join(badNames(t, "a_test.go", source, unused), "\n")
	for _, name := range []string{
		"house", "porch", "Want", "craft", "seats", "func tell", "rooms", "func settle", "func leave", "prizes", "ask", "trip", "feats",
		"passenger", "fate", "func take", "func judge", "wantSeat",
	} {
		if !strings.Contains(bad, " "+name+" ") {
			t.Errorf("badNames() does not name %s; it says:\n%s", name, bad)
		}
	}
	if n := strings.Count(bad, "\n") + 1; n != 18 {
		t.Errorf("badNames() has %d lines, want 18; it says:\n%s", n, bad)
	}
	if len(unused) != len(allowed)-1 || unused["want"] != "" {
		t.Errorf("after a file with want and Do the exceptions %v are unused, want all but want", unused)
	}
	bad = strings.Join(badPaths([]string{"a/crash_party_test.go", "a/b.go", "door/c/put_crowd.sql", "door/rooms.txtar", "doors/task.js"}), "\n")
	for _, name := range []string{"a/crash_party_test.go:", "door:", "door/c/put_crowd.sql:", "door/rooms.txtar:", "doors:"} {
		if !strings.Contains(bad, name) {
			t.Errorf("badPaths() does not name %s; it says:\n%s", name, bad)
		}
	}
	if n := strings.Count(bad, "\n") + 1; n != 5 {
		t.Errorf("badPaths() has %d lines, want 5; it says:\n%s", n, bad)
	}
}
