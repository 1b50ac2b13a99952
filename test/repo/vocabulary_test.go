package repo_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// refused are the words that stand in no name: each needs explaining where an
// ordinary word of this field does not. The value is the word to use.
var refused = map[string]string{
	"ask": "acquisition, request", "campaign": "acquisition, wait loop", "want": "options",
	"passenger": "pending call", "fate": "result", "seat": "batch", "trip": "call, batch", "flight": "renewal",
	"crew": "manager", "crowd": "waiters, clients", "keeper": "engine, timers", "tend": "expire",
	"porch": "middleware", "rooms": "backend", "house": "server", "door": "listener, API",
	"party": "client", "prize": "target", "boxwork": "operation", "craft": "operation", "feat": "operation",
	"unbuilt": "unsupported", "contest": "contention", "whoever": "caller", "validity": "deadline",
}

// refusedVerbs begin no name of a function: each would mean many things.
var refusedVerbs = map[string]string{
	"take": "acquire, pop, read", "leave": "dequeue, cancel", "tell": "notify, write", "settle": "complete",
	"judge": "decide", "begin": "start", "explain": "describe the error", "do": "the operation's own verb",
}

// allowed are exceptions, "file: name" or "name", each with its reason.
var allowed = map[string]string{
	"want":      "what a test expects: the word of package testing's own examples",
	"Do":        "the usual name where a function is handed in: http.Client.Do, sync.Once.Do",
	"RoundTrip": "the method of http.RoundTripper",
}

// TestVocabulary splits every declared name and every file name into words and
// refuses those that only we would understand.
func TestVocabulary(t *testing.T) {
	files := goFiles(t)
	if len(files) < 100 {
		t.Fatalf("git knows %d Go files; the names of nothing were checked", len(files))
	}
	for _, file := range files {
		for _, problem := range badNames(t, file, nil) {
			t.Error(problem)
		}
	}
}

func goFiles(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	return strings.Fields(string(out))
}

// badNames returns a line for each refused word among the names that a file
// declares, and in its own name.
func badNames(t *testing.T, file string, source any) []string {
	t.Helper()
	var bad []string
	for _, word := range splitName(strings.TrimSuffix(filepath.Base(file), ".go")) {
		if better, ok := refusedWord(word); ok {
			bad = append(bad, fmt.Sprintf("%s: the file's name has %q; write %s", file, word, better))
		}
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for name, isFunc := range declared(parsed) {
		if problem := badName(file, name.Name, isFunc); problem != "" {
			bad = append(bad, fmt.Sprintf("%s: %s", set.Position(name.Pos()), problem))
		}
	}
	slices.Sort(bad)
	return bad
}

func badName(file, name string, isFunc bool) string {
	if allowed[name] != "" || allowed[file+": "+name] != "" {
		return ""
	}
	words := splitName(name)
	for _, word := range words {
		if word == "want" && strings.HasPrefix(name, word) {
			continue // wantCode, wantErr: what a test expects
		}
		if better, ok := refusedWord(word); ok {
			return fmt.Sprintf("%s has the word %q; write %s", name, word, better)
		}
	}
	if better := refusedVerbs[words[0]]; isFunc && better != "" {
		return fmt.Sprintf("func %s begins with %q; write %s", name, words[0], better)
	}
	return ""
}

// refusedWord knows a noun in the plural too.
func refusedWord(word string) (better string, ok bool) {
	if better, ok = refused[word]; ok {
		return better, true
	}
	single := strings.TrimSuffix(word, "s")
	if stem, isPlural := strings.CutSuffix(word, "ies"); isPlural {
		single = stem + "y"
	}
	better, ok = refused[single]
	return better, ok
}

// declared yields the names that a file declares: of packages, types, functions,
// fields, constants, variables, parameters.
func declared(file *ast.File) map[*ast.Ident]bool {
	names := map[*ast.Ident]bool{file.Name: false}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names[n.Name] = true
		case *ast.TypeSpec:
			names[n.Name] = false
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names[name] = false
			}
		case *ast.Field:
			_, isFunc := n.Type.(*ast.FuncType)
			for _, name := range n.Names {
				names[name] = isFunc
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, left := range n.Lhs {
					if name, ok := left.(*ast.Ident); ok {
						names[name] = false
					}
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
type Want struct{ seats int }
func (w Want) leave(prizes []int, ask func()) {
	for passenger := range prizes { fate := passenger; _ = fate }
}
func want(t, question, task int) {}
func wantSeat() {}
`
	bad := strings.Join(badNames(t, "crash_party_test.go", source), "\n")
	for _, name := range []string{`"party"`, "house", "Want", "seats", "func leave", "prizes", "ask", "passenger", "fate", "wantSeat"} {
		if !strings.Contains(bad, name) {
			t.Errorf("badNames() does not name %s; it says:\n%s", name, bad)
		}
	}
	for _, name := range []string{"question", "task"} {
		if strings.Contains(bad, name) {
			t.Errorf("badNames() refuses %s:\n%s", name, bad)
		}
	}
}
