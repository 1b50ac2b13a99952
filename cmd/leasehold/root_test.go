package main

import (
	"strings"
	"testing"

	"github.com/leasehold/leasehold/open"
)

// The help names every kind of store that there is: the error of a URL of none lists
// them.
func TestHelpNamesEveryStore(t *testing.T) {
	_, err := open.Store(t.Context(), "nosuch:", nil)
	if err == nil {
		t.Fatal(`open.Store("nosuch:") = a store, want an error`)
	}
	_, list, ok := strings.Cut(err.Error(), "want one of ")
	if !ok {
		t.Fatalf("open.Store(%q) = %q, want it to list what there is", "nosuch:", err)
	}
	for _, syntax := range strings.Split(list, ", ") {
		scheme := open.Scheme(strings.TrimSpace(syntax)) + ":"
		if !strings.Contains(rootHelp, scheme) {
			t.Errorf("leasehold --help does not name the stores at %s", scheme)
		}
	}
	if !strings.Contains(rootHelp, "mode=shared") {
		t.Error("leasehold --help does not name a file of several processes")
	}
}
