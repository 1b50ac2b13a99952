package server

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentNamesEveryOperation keeps the table of docs/azure-blob.md true.
func TestDocumentNamesEveryOperation(t *testing.T) {
	data, err := os.ReadFile("../../docs/azure-blob.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(data)), " ")
	for _, o := range operations {
		name, action, isLease := strings.Cut(o.Name, ": ")
		if !strings.Contains(text, name) || isLease && !strings.Contains(text, action) {
			t.Errorf("docs/azure-blob.md does not name the operation %s", o.Name)
		}
	}
	built, missing, _ := strings.Cut(text, "Not built,")
	for _, name := range unsupported {
		if !strings.Contains(missing, name) || strings.Contains(built, name) {
			t.Errorf("docs/azure-blob.md does not say that %s is not built", name)
		}
	}
}
