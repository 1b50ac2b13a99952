package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestToolsGolden: the tools, their schemas and annotations, as models see them, are
// testdata/tools.json. go test ./server/mcp -run Golden -update writes it.
func TestToolsGolden(t *testing.T) {
	w := newWorld(t, nil, Options{Version: "v0"})
	defer w.end()
	a, _ := w.stream(Stream{Identity: Identity{Holder: "anna"}}, "")
	tools, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(tools.Tools, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "tools.json", append(got, '\n'))
}

// TestResultsGolden: what a model gets for a grant, a conflict, a wait and a deadlock.
func TestResultsGolden(t *testing.T) {
	var results map[string]Result
	synctest.Test(t, func(t *testing.T) { results = sampleResults(t) })
	got, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "results.json", append(withoutTimes(got), '\n'))
}

func sampleResults(t *testing.T) map[string]Result {
	w := newWorld(t, nil, Options{})
	defer w.end()
	anna, _ := w.stream(Stream{Identity: Identity{Holder: "anna", Namespace: "shop"}}, "")
	ben, _ := w.stream(Stream{Identity: Identity{Holder: "ben", Namespace: "shop"}}, "")
	id := func(n string) string { return "00000000-0000-4000-8000-00000000000" + n }
	results := map[string]Result{}
	results["granted"] = anna.call("lease_acquire", args{"paths": []string{"src/auth/**"}, "task": "new login", "ttl_seconds": 600, "lease_id": id("1")})
	results["held"] = ben.call("lease_acquire", args{"paths": []string{"src/*/login.go"}, "lease_id": id("2")})
	results["queued"] = ben.call("lease_acquire", args{"paths": []string{"src/*/login.go"}, "lease_id": id("2"), "wait_seconds": 50})
	results["own"] = anna.call("lease_acquire", args{"paths": []string{"src/auth/login.go"}, "lease_id": id("3")})
	results["renewed"] = anna.call("lease_renew", args{"lease_id": id("1")})
	results["deadlock"] = anna.call("lease_acquire", args{"paths": []string{"src/auth/login.go"}, "lease_id": id("4"), "wait_seconds": 50})
	results["status"] = ben.call("lease_status", args{"path": "src/auth/token.go"})
	results["released"] = anna.call("lease_release", args{"lease_id": id("1"), "note": "tests are red"})
	results["invalid"] = anna.failure("lease_renew", args{"lease_id": "nonsense"})
	return results
}

// withoutTimes replaces what differs from run to run.
func withoutTimes(text []byte) []byte {
	var lines [][]byte
	for _, line := range bytes.Split(text, []byte("\n")) {
		key, _, _ := bytes.Cut(line, []byte(":"))
		comma := ""
		if bytes.HasSuffix(line, []byte(",")) {
			comma = ","
		}
		switch strings.Trim(string(key), ` "`) {
		case "expires_at", "since", "remaining_seconds", "retry_after_seconds":
			line = []byte(string(key) + `: "…"` + comma)
		case "message", "next_step":
			line = []byte(durations.ReplaceAllString(string(line), "…s"))
		}
		lines = append(lines, line)
	}
	return bytes.Join(lines, []byte("\n"))
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); -update writes it anew:\n%s", file, diff)
	}
}

// TestModelHasNoIdentity: no tool has an argument by which a model could say who it is.
func TestModelHasNoIdentity(t *testing.T) {
	w := newWorld(t, nil, Options{})
	defer w.end()
	a, _ := w.stream(Stream{Identity: Identity{Holder: "anna"}}, "")
	tools, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		schema := tool.InputSchema.(map[string]any)
		if schema["additionalProperties"] == nil {
			t.Errorf("%s accepts any argument", tool.Name)
		}
		for property := range schema["properties"].(map[string]any) {
			for _, word := range []string{"holder", "agent", "caller", "owner", "user", "client", "token", "identity"} {
				if strings.Contains(property, word) {
					t.Errorf("%s has the argument %s", tool.Name, property)
				}
			}
		}
		for _, argument := range []string{"holder", "agent_id", "Holder"} {
			out, isError, err := a.try(t.Context(), tool.Name, args{"resources": []string{"r"}, argument: "ben"})
			if err != nil || !isError || !strings.Contains(out.Message, argument) {
				t.Errorf("%s with %s = %+v, %v, want that it is refused by name", tool.Name, argument, out, err)
			}
		}
	}
	want := []string{"lease_acquire", "lease_break", "lease_history", "lease_release", "lease_renew", "lease_status"}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("the tools are %q, want %q", names, want)
	}
	if s := w.status("r"); s.Locked() {
		t.Errorf("r is held by %q, want that a refused call changes nothing", s.Lease.Holder)
	}
}

// TestAnnotations: clients decide by them what to run without a question.
func TestAnnotations(t *testing.T) {
	w := newWorld(t, nil, Options{})
	defer w.end()
	a, _ := w.stream(Stream{Identity: Identity{Holder: "anna"}}, "")
	tools, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	readOnly := map[string]bool{"lease_status": true, "lease_history": true}
	for _, tool := range tools.Tools {
		hints := tool.Annotations
		destructive := !hints.ReadOnlyHint && (hints.DestructiveHint == nil || *hints.DestructiveHint)
		if hints.ReadOnlyHint != readOnly[tool.Name] || destructive != (tool.Name == "lease_break") || *hints.OpenWorldHint {
			t.Errorf("%s has %+v", tool.Name, hints)
		}
		if hints.IdempotentHint == (tool.Name == "lease_break") {
			t.Errorf("%s: idempotent = %t", tool.Name, hints.IdempotentHint)
		}
	}
	if i := a.session.InitializeResult(); i.ServerInfo.Name != "leasehold" || !strings.Contains(i.Instructions, "next_step") || i.Capabilities.Tools == nil {
		t.Errorf("the server says of itself %+v", i)
	}
}
