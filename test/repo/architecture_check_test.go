package repo_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// A check that cannot fail is worth nothing: each document here names one thing
// that does not exist, or only what does.
func TestWrongNames(t *testing.T) {
	tree := fstest.MapFS{
		"store.go": {Data: []byte("package a\ntype Store interface{ Acquire() }\ntype Lease struct{ Token int }\nconst Max = 1\n")},
		"b/op_put.go": {Data: []byte("package b\ntype list[K, V any] struct{}\n" +
			"func (l *list[K, V]) add() {}\nfunc (l list[K, V]) last() {}\nfunc open() { var local int; _ = local }\n")},
		"b/op_get.go": {Data: []byte("package b\nvar cache int\n")},
		"b/find.sql":  {},
	}
	for _, tt := range []struct {
		name, document string
		want           []string
	}{
		{"files and folders", "`store.go` and `b/` and `b/find.sql`", nil},
		{"a pattern", "`b/op_*.go`", nil},
		{"a missing file", "see\n`stores.go`", []string{"2: stores.go does not exist"}},
		{"a missing folder", "`c/`", []string{"1: c/ does not exist"}},
		{"a file as a folder", "`store.go/`", []string{"1: store.go/ does not exist"}},
		{"a folder as a file", "`./b`", []string{"1: ./b does not exist"}},
		{"a pattern without a match", "`b/xml_*.go`", []string{"1: b/xml_*.go does not exist"}},

		{"a type, a constant", "- `store.go` `Store`, `Max`", nil},
		{"a method of an interface, a field", "- `store.go` `Store.Acquire` `Lease.Token`", nil},
		{"methods of a generic type, a function", "- `b/op_put.go` `list.add`, `list.last`, `open`", nil},
		{"declared in one of several", "`b/op_*.go` `open` `cache`", nil},
		{"two files in a line", "`store.go` `Store`, `b/op_get.go` `cache`", nil},
		{"a missing function", "`b/op_put.go` `close`", []string{"1: b/op_put.go does not declare close"}},
		{"a missing method", "`b/op_put.go` `list.first`", []string{"1: b/op_put.go does not declare list.first"}},
		{"a method as a function", "`b/op_put.go` `add`", []string{"1: b/op_put.go does not declare add"}},
		{"a local variable", "`b/op_put.go` `local`", []string{"1: b/op_put.go does not declare local"}},
		{"in another file", "`b/op_get.go` `open`", []string{"1: b/op_get.go does not declare open"}},
		{"after the other file", "`store.go` `b/op_get.go` `Store`", []string{"1: b/op_get.go does not declare Store"}},

		{"a name without a file", "`store.go`\n`Store`", []string{"2: Store stands after no Go file"}},
		{"a name after a folder", "`b/` `open`", []string{"1: open stands after no Go file"}},
		{"a command", "`make test` and `POST /v1/leases/acquire`", nil},
		{"something else", "`--flag`", []string{"1: --flag is no path and no name"}},

		{"a picture", "```text\nb/   what b is: a/b, c\n```\n", nil},
		{"a wrong picture", "```text\nb/\n  c/d/  x\n```\n", []string{"3: the picture has the folder c/d/, which does not exist"}},
	} {
		if diff := cmp.Diff(tt.want, wrongNames(tree, tt.document)); diff != "" {
			t.Errorf("wrongNames(%s) differs (-want +got):\n%s", tt.name, diff)
		}
	}
}
