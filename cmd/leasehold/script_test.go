package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// Most of these tests wait for clocks and processes, not for a processor.
	_ = flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))) // the command line has the last word
	testscript.Main(m, map[string]func(){"leasehold": main})
}

// The scripts run the real program, each in a directory of its own.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// The same words on stores that have servers of their own, and on a shared file.
// REDIS and so on are where they are, with the secrets that open them.
func TestStoreScripts(t *testing.T) {
	redis, postgres, etcd := testserver.Redis(t), testserver.Postgres(t), testserver.Etcd(t)
	surreal := testserver.Surreal(t, "--user", "root", "--pass", "s3cret")
	azurite, cosmos := testserver.Azurite(t), testserver.Cosmos(t)
	runScripts(t, "testdata/stores",
		"REDIS="+redis.Addr, "ETCD="+etcd.Addr,
		"POSTGRES="+postgres.Addr, "POSTGRES_SECRET="+testserver.PostgresPassword,
		"SURREAL="+surreal.Addr, "SURREAL_SECRET=s3cret",
		"AZURITE="+azurite.Addr, "AZURITE_SECRET="+testserver.AzuriteConnection(azurite.Addr),
		"COSMOS="+cosmos.Addr, "COSMOS_SECRET="+testserver.CosmosConnection(cosmos.Addr))
}

func runScripts(t *testing.T, dir string, variables ...string) {
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, variables...)
			e.Setenv("LEASEHOLD_STORE", "http://127.0.0.1:1") // nobody's: no script may reach a real server
			e.Setenv("LEASEHOLD_HOLDER", "tester")
			e.Setenv("GORACE", process.RaceOptions)
			s := &scriptServer{}
			e.Values[serverKey{}] = s
			e.Values[clockKey{}] = new(time.Time)
			e.Defer(s.kill)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server":     cmdServer,
			"lease":      cmdLease,
			"exits":      cmdExits,
			"eventually": cmdEventually,
			"larger":     cmdLarger,
			"certs":      cmdCerts,
			"clock":      cmdClock,
			"samepast":   cmdSamePast,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

var exported = regexp.MustCompile(`(?m)^export (LEASEHOLD_\w+)='?(.*?)'?$`)

// cmdLease does what eval "$(leasehold acquire …)" does, with the last output.
func cmdLease(ts *testscript.TestScript, neg bool, args []string) {
	found := exported.FindAllStringSubmatch(ts.ReadFile("stdout"), -1)
	if neg || len(args) > 0 || len(found) != 4 {
		ts.Fatalf("lease: the last output has %d export lines, want 4", len(found))
	}
	for _, f := range found {
		ts.Setenv(f[1], f[2])
	}
}

// cmdEventually runs the program until its output matches: eventually REGEXP
// ARGS… Others act meanwhile, in processes of their own.
func cmdEventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP ARGS…")
	}
	want := regexp.MustCompile(args[0])
	for deadline := time.Now().Add(15 * time.Second); ; {
		_ = ts.Exec("leasehold", args[1:]...)
		if want.MatchString(ts.ReadFile("stdout") + ts.ReadFile("stderr")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("leasehold %q: the output never matched %s; the last was:\n%s", args[1:], want, ts.ReadFile("stdout"))
		}
		time.Sleep(20 * time.Millisecond) // no event says how far the other process is
	}
}

// cmdExits runs the program and checks its exit code: exits CODE ARGS…
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec("leasehold", args[1:]...); err != nil {
		e := (*exec.ExitError)(nil)
		if !errors.As(err, &e) {
			ts.Fatalf("leasehold %q: %v", args[1:], err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("leasehold %q = %d, want %d", args[1:], got, want)
	}
}

// cmdLarger checks that numbers grow.
func cmdLarger(ts *testscript.TestScript, neg bool, args []string) {
	var last uint64
	for _, arg := range args {
		n, err := strconv.ParseUint(arg, 10, 64)
		ts.Check(err)
		if neg || n <= last {
			ts.Fatalf("larger: %d comes after %d", n, last)
		}
		last = n
	}
}

func TestMainRefusesUnknownCommand(t *testing.T) {
	a := &app{in: os.Stdin, out: t.Output(), err: t.Output()}
	if code := a.run(t.Context(), []string{"frobnicate"}); code != exitUsage {
		t.Errorf("leasehold frobnicate = %d, want %d", code, exitUsage)
	}
}
