package repo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/leasehold/leasehold"

// importRule forbids that From imports To, directly or through other packages.
//
// Both are paths inside the module ("." is the root, "store/..." that package
// and all below it, "..." all), or, for To, such a path outside it, or one of the
// words below. Except lists the pairs "from>to" that are allowed all the same,
// separated by spaces.
type importRule struct{ From, To, Except string }

const (
	otherModules = "any other module" // every package outside this module
	directly     = "directly: "       // prefix of To: only the package's own imports count

	testsOnly = "storetest/...>... bench/...>..." // what only tests import may import test libraries

	// What several stores are made of: the engine of the embedded ones, the SQLite file
	// of both its modes, what the networked ones share, compare-and-swap, transactions.
	sharedByStores = "store/memory>store/local/... store/sqlite/...>store/local/... store/local>store/local/... store/...>store/internal/... " +
		"store/sqlite/...>store/sqlite/... store/sqlite/shared>store/sqltx store/postgres>store/sqltx " +
		"store/cosmos>store/cas store/etcd>store/cas store/surreal>store/cas"
)

// rules are the direction of the imports, each with its reason.
var rules = map[importRule]string{
	{From: ".", To: otherModules}:                                  "an application that imports leasehold must not inherit our choices: the root is standard library only",
	{From: ".", To: "..."}:                                         "every package uses the root's types, so the root imports none of them",
	{From: "machine", To: "...", Except: "machine>."}:              "the rules must run inside any store's atomic step, so they know no store",
	{From: "machine", To: otherModules}:                            "the rules are plain Go",
	{From: "engine", To: "...", Except: "engine>. engine>machine"}: "an API joins the engine without seeing a store",
	{From: "engine", To: otherModules}:                             "an API that sees a driver's types is tied to that driver",
	{From: "fence", To: "..."}:                                     "the fence runs where the data is, often in a program that holds no lease",
	{From: "fence", To: otherModules}:                              "the fence runs in programs that must not inherit our choices",

	{From: "internal/past", To: "...", Except: "internal/past>. internal/past>machine"}: "the past is read from the records of any store",
	{From: "internal/past", To: otherModules}:                                           "the past is read by plain Go",

	{From: "machine", To: directly + "context"}:      "a pure function has nothing to wait for",
	{From: "machine", To: directly + "sync"}:         "a pure function has nothing to lock",
	{From: "machine", To: directly + "os"}:           "a pure function does no I/O",
	{From: "machine", To: directly + "io"}:           "a pure function does no I/O",
	{From: "machine", To: directly + "net"}:          "a pure function does no I/O",
	{From: "machine", To: directly + "math/rand/v2"}: "fresh ids and tokens are arguments, so that a decision can be repeated",
	{From: "machine", To: directly + "crypto/rand"}:  "fresh ids and tokens are arguments, so that a decision can be repeated",

	{From: "azure/content", To: "...", Except: "azure/content>internal/fsutil"}:          "content is bytes on a disk: it knows neither blobs nor leases",
	{From: "azure/content", To: otherModules}:                                            "content is bytes on a disk",
	{From: "azure/sign", To: "...", Except: "azure/sign>azure/azerr"}:                    "a signature is checked without a server",
	{From: "azure/catalog", To: "azure/server"}:                                          "the catalog keeps blobs for any API",
	{From: "azure/...", To: otherModules, Except: "azure/server>golang.org/x/time/rate"}: "the protocol is plain Go; Azure's SDK is for tests",

	{From: "server/...", To: "store/..."}:      "an API serves any store; only open and internal/serve know which",
	{From: "server/console", To: "server/api"}: "the console shows a store; it is no part of the API",
	{From: "server/api", To: "server/console"}: "an API serves programs, without pages",
	{From: "server/mcp", To: "server/api"}:     "the tools call the store, as the JSON API does; neither knows the other",
	{From: "...", To: directly + "github.com/modelcontextprotocol/go-sdk/mcp", Except: "server/mcp>github.com/modelcontextprotocol/go-sdk/mcp"}: "the protocol's package stays behind server/mcp",
	{From: "server/internal/rest", To: "server/api"}:                            "it describes and decodes the endpoints of any API",
	{From: "server/...", To: "open"}:                                            "an API serves any store; only the program knows which",
	{From: "server/...", To: "azure/..."}:                                       "the JSON API and the Azure API do not know each other",
	{From: "azure/...", To: "store/..."}:                                        "an API serves any store; only open and internal/serve know which",
	{From: "azure/...", To: "open"}:                                             "an API serves any store; only the program knows which",
	{From: "azure/...", To: "server/api"}:                                       "the JSON API and the Azure API do not know each other",
	{From: "store/...", To: "server/..."}:                                       "a store must be usable without any API",
	{From: "store/...", To: "azure/..."}:                                        "a store must be usable without any API",
	{From: "open", To: "server/..."}:                                            "opening a store starts no API",
	{From: "open", To: "azure/..."}:                                             "opening a store starts no API",
	{From: "...", To: "internal/serve", Except: "cmd/leasehold>internal/serve"}: "only the program assembles a server",
	{From: "internal/fsutil", To: "..."}:                                        "every package may import it",
	{From: "internal/sleep", To: "..."}:                                         "every package may import it",
	{From: "store/...", To: "open"}:                                             "open knows the stores, not the other way round",
	{From: "wire", To: "store/..."}:                                             "the JSON is shared by the client and the API",
	{From: "wire", To: "server/..."}:                                            "the JSON is shared by the client and the API",
	{From: "telemetry", To: "...", Except: "telemetry>."}:                       "telemetry wraps any store, in programs without a server",
	{From: "telemetry", To: "go.opentelemetry.io/otel/sdk/..."}:                 "the program chooses the SDK; a library uses OpenTelemetry's API alone",
	{From: "server/...", To: "go.opentelemetry.io/..."}:                         "an API has hooks of plain Go, which internal/observe implements",
	{From: "azure/...", To: "go.opentelemetry.io/..."}:                          "an API has hooks of plain Go, which internal/observe implements",
	{From: "store/...", To: "go.opentelemetry.io/..."}:                          "telemetry wraps a store from outside",
	{From: "wire", To: "go.opentelemetry.io/..."}:                               "a trace context is text on the wire",
	{From: "open", To: "go.opentelemetry.io/..."}:                               "opening a store starts no telemetry",
	{From: "...", To: "internal/observe/otlptest", Except: testsOnly}:           "a receiver for tests is started by tests",
	{From: "health", To: "...", Except: "health>."}:                             "health checks any store",
	{From: "health", To: otherModules}:                                          "a program that checks its store must not inherit our choices",

	{From: "internal/move", To: "...", Except: "internal/move>. internal/move>machine internal/move>internal/sleep"}: "a move knows no store: each offers what it needs",

	{From: "store/...", To: "store/...", Except: sharedByStores}:                              "a store imports no other store, only what several are made of",
	{From: "internal/jsonedit", To: "..."}:                                                    "it edits text and knows nothing of what the text means",
	{From: "internal/setup", To: "...", Except: "internal/setup>internal/jsonedit"}:           "what is written into settings needs no store and no server",
	{From: "internal/gitguard", To: "store/..."}:                                              "the guard lists the leases of any store",
	{From: "internal/prove", To: "store/..."}:                                                 "a proof acquires from any store, as the hooks do",
	{From: "internal/prove", To: "internal/hook"}:                                             "a proof runs the command of the settings, never the hook's code",
	{From: "...", To: "internal/testserver", Except: testsOnly}:                               "servers for tests are started by tests",
	{From: "...", To: "internal/pipenet", Except: testsOnly}:                                  "a network for tests",
	{From: "...", To: "internal/testchild", Except: testsOnly}:                                "a child is started by tests",
	{From: "...", To: "internal/testbuffer", Except: testsOnly}:                               "a buffer for tests",
	{From: "internal/repo", To: "...", Except: "internal/repo>."}:                             "what a file is called has nothing to do with stores",
	{From: "internal/repo", To: "os/exec"}:                                                    "a hook has no time to start git",
	{From: "internal/hook", To: "...", Except: "internal/hook>. internal/hook>internal/repo"}: "a hook uses any store; the program opens it",

	{From: "...", To: "storetest/...", Except: testsOnly}:                                                  "the conformance suite is for tests",
	{From: "...", To: "github.com/google/go-cmp/cmp", Except: testsOnly}:                                   "a test library in the product is a mistake",
	{From: "...", To: "pgregory.net/rapid", Except: testsOnly}:                                             "a test library in the product is a mistake",
	{From: "...", To: "github.com/anishathalye/porcupine", Except: testsOnly}:                              "a test library in the product is a mistake",
	{From: "...", To: "go.uber.org/goleak", Except: testsOnly + " internal/testserver>go.uber.org/goleak"}: "a test library in the product is a mistake",
	{From: "...", To: "github.com/chromedp/chromedp", Except: testsOnly}:                                   "a test library in the product is a mistake",
	{From: "...", To: "testing", Except: testsOnly}:                                                        "package testing registers flags in whatever program imports it",
}

// pkg is what `go list -deps -json` prints about one package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string // its own
	Deps       []string // those it reaches
}

func TestDependencyRules(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages; the rules were checked on nothing", len(packages))
	}
	for _, broken := range brokenRules(packages, rules) {
		t.Error(broken)
	}
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps", "./...").Output()
	if err != nil {
		if e := (*exec.ExitError)(nil); errors.As(err, &e) {
			t.Fatalf("go list: %v\n%s", err, e.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var packages []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}

// brokenRules returns a line for every import that a rule forbids.
func brokenRules(packages []pkg, rules map[importRule]string) []string {
	known := make(map[string]pkg, len(packages))
	for _, p := range packages {
		known[p.ImportPath] = p
	}
	var broken []string
	for _, from := range packages {
		for rule, why := range rules {
			for _, to := range rule.reached(from) {
				if rule.forbids(from, to, known[to]) {
					broken = append(broken, fmt.Sprintf("%s imports %s%s: %s", short(from.ImportPath), short(to), route(known, from, to), why))
				}
			}
		}
	}
	slices.Sort(broken)
	return broken
}

// reached returns the packages that the rule looks at.
func (a importRule) reached(from pkg) []string {
	if strings.HasPrefix(a.To, directly) {
		return from.Imports
	}
	return from.Deps
}

func (a importRule) forbids(from pkg, to string, target pkg) bool {
	f, t := short(from.ImportPath), short(to)
	if !inModule(from.ImportPath) || !matches(a.From, f) || f == t {
		return false
	}
	for _, e := range strings.Fields(a.Except) {
		if a, b, _ := strings.Cut(e, ">"); matches(a, f) && matches(b, t) {
			return false
		}
	}
	switch want := strings.TrimPrefix(a.To, directly); {
	case want == otherModules:
		return !target.Standard && !inModule(to)
	case inModule(to):
		return matches(want, t)
	default:
		return want != "..." && matches(want, to) // "..." is all of this module
	}
}

// route names one package through which from reaches to, to make the offender
// easy to find.
func route(known map[string]pkg, from pkg, to string) string {
	if slices.Contains(from.Imports, to) {
		return ""
	}
	for _, via := range from.Imports {
		if slices.Contains(known[via].Deps, to) {
			return " (through " + short(via) + ")"
		}
	}
	return ""
}

func inModule(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// short is the path inside the module, "." for the root; a path outside it is
// returned as it is.
func short(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// matches reports whether a pattern such as "store/..." covers a short path.
func matches(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == base || strings.HasPrefix(path, base+"/")
	}
	return pattern == path
}

// A check that cannot fail is worth nothing: each graph here breaks one rule, or
// just does not.
func TestBrokenRulesAreCaught(t *testing.T) {
	std := func(path string) pkg { return pkg{ImportPath: path, Standard: true} }
	ours := func(path string, imports ...string) pkg {
		if path == "." {
			return pkg{ImportPath: module, Imports: imports, Deps: imports}
		}
		return pkg{ImportPath: module + "/" + path, Imports: imports, Deps: imports}
	}
	tests := []struct {
		name  string
		graph []pkg
		want  []string // the beginnings of the lines
	}{
		{"standard library in the root", []pkg{std("os"), ours(".", "os")}, nil},
		{"another module in the root", []pkg{{ImportPath: "example.com/x"}, ours(".", "example.com/x")},
			[]string{". imports example.com/x: an application"}},
		{"the root imports the machine", []pkg{ours("machine"), ours(".", module+"/machine")},
			[]string{". imports machine: every package"}},
		{"the machine imports the root", []pkg{ours("."), ours("machine", module)}, nil},
		{"the machine does I/O", []pkg{std("os"), ours("machine", "os")},
			[]string{"machine imports os: a pure"}},
		{"the root does I/O under the machine",
			[]pkg{std("os"), ours(".", "os"), {ImportPath: module + "/machine", Imports: []string{module}, Deps: []string{module, "os"}}}, nil},
		{"an API imports a store", []pkg{ours("store/redis"), ours("server/api", module+"/store/redis")},
			[]string{"server/api imports store/redis: an API"}},
		{"an API reaches a store", []pkg{ours("store/redis"), ours("wire", module+"/store/redis"),
			{ImportPath: module + "/server/api", Imports: []string{module + "/wire"}, Deps: []string{module + "/wire", module + "/store/redis"}}},
			[]string{"server/api imports store/redis (through wire): an API", "wire imports store/redis: the JSON"}},
		{"a store imports an API", []pkg{ours("server/api"), ours("store/remote", module+"/server/api")},
			[]string{"store/remote imports server/api: a store"}},
		{"a store imports another", []pkg{ours("store/redis"), ours("store/etcd", module+"/store/redis")},
			[]string{"store/etcd imports store/redis: a store imports"}},
		{"sqlite uses the engine", []pkg{ours("store/local"), ours("store/sqlite", module+"/store/local")}, nil},
		{"sqlite uses more than the engine", []pkg{ours("store/memory"), ours("store/sqlite", module+"/store/memory")},
			[]string{"store/sqlite imports store/memory: a store imports"}},
		{"redis uses the engine", []pkg{ours("store/local"), ours("store/redis", module+"/store/local")},
			[]string{"store/redis imports store/local: a store imports"}},
		{"redis uses the wait queue", []pkg{ours("store/internal/waitqueue"), ours("store/redis", module+"/store/internal/waitqueue")}, nil},
		{"redis uses compare-and-swap", []pkg{ours("store/cas"), ours("store/redis", module+"/store/cas")},
			[]string{"store/redis imports store/cas: a store imports"}},
		{"a store traces by itself", []pkg{{ImportPath: "go.opentelemetry.io/otel/trace"}, ours("store/etcd", "go.opentelemetry.io/otel/trace")},
			[]string{"store/etcd imports go.opentelemetry.io/otel/trace: telemetry wraps"}},
		{"the suite uses test libraries", []pkg{{ImportPath: "pgregory.net/rapid"}, ours("storetest", "pgregory.net/rapid")}, nil},
		{"the product uses one", []pkg{{ImportPath: "pgregory.net/rapid"}, ours("store/etcd", "pgregory.net/rapid")},
			[]string{"store/etcd imports pgregory.net/rapid: a test library"}},
		{"open and cmd know every store", []pkg{ours("store/redis"), ours("open", module+"/store/redis"), ours("cmd/leasehold", module+"/store/redis", module+"/open")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := brokenRules(tt.graph, rules)
			sameBeginning := cmp.Comparer(func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) })
			if diff := cmp.Diff(tt.want, got, sameBeginning); diff != "" {
				t.Errorf("brokenRules(…) differs (-want +got):\n%s", diff)
			}
		})
	}
}
