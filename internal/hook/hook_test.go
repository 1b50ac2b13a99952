package hook

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
)

var update = flag.Bool("update", false, "write the golden files")

// desk is a folder with a store, in which agents edit.
type desk struct {
	t     *testing.T
	dir   string
	store leasehold.Store
	Options
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { store.Close() })
	dir := t.TempDir()
	d := &desk{t: t, dir: filepath.Join(dir, "shop"), store: store}
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/login\n", "config": "[leasehold]\n\trepository = shop\n",
	} {
		write(t, filepath.Join(d.dir, ".git", name), text)
	}
	d.SecretFile = filepath.Join(dir, "secret")
	return d
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// unclosed is a store that hooks do not close.
type unclosed struct{ leasehold.Store }

func (unclosed) Close() error { return nil }

// run runs a hook and checks that the exit code is one that tools understand.
func (d *desk) run(client, input string) answer {
	d.t.Helper()
	o := d.Options
	if o.Open == nil {
		o.Open = func(context.Context) (leasehold.Store, error) { return d.shared(), nil }
	}
	var out, errOut strings.Builder
	code := Run(client, strings.NewReader(input), &out, &errOut, o)
	if code != 0 && code != 2 {
		d.t.Errorf("Run(%s, %.80s) = %d, want 0 or 2", client, input, code)
	}
	return answer{out: out.String(), err: errOut.String(), code: code}
}

// shared is the store with all its powers, but without its Close.
func (d *desk) shared() leasehold.Store {
	if m, ok := d.store.(*local.Engine); ok {
		return struct {
			unclosed
			leasehold.HolderReleaser
			leasehold.ChildReleaser
			leasehold.Finder
		}{unclosed{m}, m, m, m}
	}
	return unclosed{d.store}
}

// edit is PreToolUse of one file in Claude Code.
func (d *desk) edit(session, file string) answer {
	d.t.Helper()
	return d.run("claude", d.claude("PreToolUse", session, file))
}

func (d *desk) claude(name, holder, file string) string {
	session, agent, _ := strings.Cut(holder, "/")
	text, _ := json.Marshal(map[string]any{
		"hook_event_name": name, "session_id": session, "agent_id": agent, "cwd": d.dir, "tool_name": "Edit", "tool_input": map[string]string{"file_path": file},
	})
	return string(text)
}

// patch is PreToolUse of several files in Codex.
func (d *desk) patch(session string, files ...string) answer {
	d.t.Helper()
	text, _ := json.Marshal(map[string]any{
		"hook_event_name": "PreToolUse", "session_id": session, "cwd": d.dir, "tool_name": "apply_patch",
		"tool_input": map[string]string{"command": "*** Begin Patch\n*** Update File: " + strings.Join(files, "\n*** Update File: ") + "\n*** End Patch"},
	})
	return d.run("codex", string(text))
}

func (d *desk) granted(what string, a answer) {
	d.t.Helper()
	if a != (answer{}) {
		d.t.Errorf("%s = %+v, want a grant without a word", what, a)
	}
}

func (d *desk) denied(what string, a answer, parts ...string) {
	d.t.Helper()
	if a.code != blocked && !strings.Contains(a.out, `"permissionDecision":"deny"`) {
		d.t.Errorf("%s = %+v, want it denied", what, a)
	}
	for _, part := range parts {
		if !strings.Contains(a.out+a.err, part) {
			d.t.Errorf("%s = %+v, want %q in it", what, a, part)
		}
	}
}

// held returns the patterns that a holder has, with their leases.
func (d *desk) held(holder string) map[string]leasehold.Lease {
	d.t.Helper()
	page, err := d.store.(leasehold.Lister).List(d.t.Context(), leasehold.ListRequest{Holder: holder})
	if err != nil {
		d.t.Fatal(err)
	}
	leases := map[string]leasehold.Lease{}
	for _, l := range page.Leases {
		leases[l.Claims[0].Pattern] = l
	}
	return leases
}

func (d *desk) checkHeld(holder string, want ...string) {
	d.t.Helper()
	var got []string
	for pattern := range d.held(holder) {
		got = append(got, pattern)
	}
	sorted := cmp.Transformer("set", func(list []string) map[string]bool {
		m := map[string]bool{}
		for _, s := range list {
			m[s] = true
		}
		return m
	})
	if diff := cmp.Diff(want, got, sorted); diff != "" {
		d.t.Errorf("%s holds other files (-want +got):\n%s", holder, diff)
	}
}

// inBubble runs a test with a clock of its own.
func inBubble(t *testing.T, test func(d *desk)) {
	synctest.Test(t, func(t *testing.T) { test(newDesk(t)) })
}

func TestTwoAgents(t *testing.T) {
	inBubble(t, func(d *desk) {
		d.granted("the first edit", d.edit("a", "src/x.go"))
		first := d.held("claude:a")["src/x.go"]
		time.Sleep(time.Minute)
		d.granted("the second edit", d.edit("a", filepath.Join(d.dir, "src/../src/x.go")))
		again := d.held("claude:a")["src/x.go"]
		if again.Token != first.Token || again.Renewals != 1 || again.Remaining != DefaultTTL {
			d.t.Errorf("after the second edit the lease is %+v, want it renewed", again)
		}
		d.denied("another's edit", d.edit("b", "src/x.go"), "claude:a", "free in 10m 0s")
		d.granted("another file", d.edit("b", "src/y.go"))

		// PostToolUse renews it.
		time.Sleep(9 * time.Minute)
		d.granted("PostToolUse", d.run("claude", d.claude("PostToolUse", "a", "src/x.go")))
		if l := d.held("claude:a")["src/x.go"]; l.Remaining != DefaultTTL {
			d.t.Errorf("after PostToolUse %v remain, want %v", l.Remaining, DefaultTTL)
		}
		// A crashed agent's lease ends by itself.
		time.Sleep(DefaultTTL)
		d.granted("the edit after the ttl", d.edit("b", "src/x.go"))
		d.granted("PostToolUse without a lease", d.run("claude", d.claude("PostToolUse", "a", "src/x.go")))
		d.checkHeld("claude:a")
	})
}

func TestSubAgentsAndTheEnd(t *testing.T) {
	inBubble(t, func(d *desk) {
		d.granted("a sub-agent", d.edit("s/one", "x"))
		d.denied("its sibling", d.edit("s/two", "x"), "claude:s/one (", "another sub-agent of your session")
		d.denied("the main agent", d.edit("s", "x"), "another sub-agent of your session")
		d.granted("the main agent elsewhere", d.edit("s", "y"))
		d.denied("a sub-agent after it", d.edit("s/two", "y"), "claude:s (the main agent of your session)")
		d.granted("the sibling", d.edit("s/two", "z"))
		d.granted("SubagentStop", d.run("claude", d.claude("SubagentStop", "s/one", "")))
		d.checkHeld("claude:s/one")
		d.granted("the sibling after it", d.edit("s/two", "x"))
		d.granted("Stop", d.run("claude", d.claude("Stop", "s", "")))
		d.checkHeld("claude:s")
		d.checkHeld("claude:s/two", "x", "z")
		d.granted("the main agent again", d.edit("s", "y"))
		d.granted("SessionEnd", d.run("claude", d.claude("SessionEnd", "s", "")))
		d.checkHeld("claude:s")
		d.checkHeld("claude:s/two")
		d.granted("another session", d.edit("t", "x"))
	})
}

// All files of an edit or none; what the holder had before stays, whatever happens.
func TestAllOrNone(t *testing.T) {
	inBubble(t, func(d *desk) {
		d.granted("a patch", d.patch("a", "one", "two words"))
		d.granted("another's file", d.edit("b", "taken"))
		d.denied("a patch with it", d.patch("a", "two words", "three", "taken"), "1 of the 3 files", "taken: held by claude:b", "Make the edit without taken")
		d.checkHeld("codex:a", "one", "two words")
		for range 2 * generations { // ids that were released are used up for an hour
			d.denied("again", d.patch("a", "three", "taken"))
		}
		d.checkHeld("codex:a", "one", "two words")
		d.granted("a part", d.patch("a", "three"))
		d.granted("a part again", d.patch("a", "three", "one"))
		d.checkHeld("codex:a", "one", "two words", "three")
		d.denied("of another", d.patch("c", "free", "one", "two words"), "2 of the 3 files", "Make the edit without one, two words")
		d.checkHeld("codex:c")
	})
}

// editing is a store in which the same session edits x while taken is refused.
type editing struct {
	leasehold.Store
	leasehold.Finder
	edit func()
}

func (s editing) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	if r.Claims[0].Pattern == "taken" {
		time.Sleep(time.Millisecond) // in a bubble: x is granted by then
		s.edit()
	}
	return grant, err
}

// A call that is refused does not release what another call of its session relies on.
func TestRefusedBesideAnEdit(t *testing.T) {
	inBubble(t, func(d *desk) {
		d.granted("another's file", d.edit("b", "taken"))
		edit := sync.OnceFunc(func() {
			beside := *d
			beside.Open = nil
			beside.granted("an edit of x meanwhile", beside.patch("a", "x"))
		})
		d.Open = func(context.Context) (leasehold.Store, error) {
			return editing{d.shared(), d.store.(leasehold.Finder), edit}, nil
		}
		d.denied("a patch of both", d.patch("a", "x", "taken"))
		d.checkHeld("codex:a", "x")
	})
}

// A lease that ended is not revived; the file has another id then, without any state.
func TestGenerations(t *testing.T) {
	inBubble(t, func(d *desk) {
		for i := range generations + 3 {
			d.granted(fmt.Sprint("edit ", i), d.edit("a", "x"))
			d.granted(fmt.Sprint("PostToolUse ", i), d.run("claude", d.claude("PostToolUse", "a", "x")))
			if l := d.held("claude:a")["x"]; i < generations && l.Renewals != 1 {
				d.t.Errorf("lease %d has %d renewals, want 1", i, l.Renewals)
			}
			d.granted("a second edit", d.edit("a", "x"))
			if _, err := d.store.(leasehold.HolderReleaser).ReleaseHolder(d.t.Context(), "claude:a", ""); err != nil {
				d.t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Hour) // ended leases are forgotten
		d.granted("an edit later", d.edit("a", "x"))
		d.granted("PostToolUse", d.run("claude", d.claude("PostToolUse", "a", "x")))
		if l := d.held("claude:a")["x"]; l.Renewals != 1 {
			d.t.Errorf("after all that the lease has %d renewals, want 1", l.Renewals)
		}
	})
}

// What the agent acquired by itself covers its edits, as long as it keeps others out.
func TestOwnWiderLease(t *testing.T) {
	inBubble(t, func(d *desk) {
		acquire := func(holder string, mode leasehold.Mode, pattern string) leasehold.Grant {
			g, err := d.store.Acquire(d.t.Context(), leasehold.AcquireRequest{Holder: holder, TTL: time.Hour,
				Claims: []leasehold.Claim{{Namespace: "shop", Pattern: pattern, Mode: mode}}})
			if err != nil {
				d.t.Fatal(err)
			}
			return g
		}
		acquire("claude:a", leasehold.Exclusive, "src/**")
		d.granted("an edit below it", d.edit("a", "src/x.go"))
		d.denied("of another", d.edit("b", "src/x.go"), "claims all of src/**", "free in 1h 0m 0s")
		acquire("claude:a", leasehold.Shared, "docs/**")
		d.denied("an edit below a shared one", d.edit("a", "docs/x"), "claude:a (yourself), shared")
	})
}

// The longest limit that a flag can have is no limit of the past.
func TestEndlessLimit(t *testing.T) {
	inBubble(t, func(d *desk) {
		d.Limit = math.MaxInt64
		d.granted("an edit", d.edit("a", "x"))
	})
}

func TestSpecialFiles(t *testing.T) {
	inBubble(t, func(d *desk) {
		d.granted("a name with a wildcard", d.edit("a", "src/a*c.go"))
		d.denied("what it overlaps with", d.edit("b", "src/abc.go"))
		d.granted("outside of the repository", d.edit("a", "../elsewhere.txt"))
		d.denied("outside of another", d.edit("b", filepath.Join(filepath.Dir(d.dir), "elsewhere.txt")))
		if err := os.Symlink("src", filepath.Join(d.dir, "link")); err != nil {
			d.t.Fatal(err)
		}
		write(d.t, filepath.Join(d.dir, "src", "real.go"), "")
		d.granted("by a symlink", d.edit("a", "link/real.go"))
		d.denied("by the file", d.edit("b", "src/real.go"))
		many := make([]string, leasehold.MaxClaims+1)
		for i := range many {
			many[i] = fmt.Sprint("m", i)
		}
		if a := d.patch("a", many...); !strings.Contains(a.out, "it changes 257 files") {
			d.t.Errorf("a patch of %d files = %+v, want a warning", len(many), a)
		}
		d.granted("a patch of as many as may be", d.patch("a", many[:100]...))
	})
}

// A name that cannot be leased alone must not keep everybody out of everything.
func TestNoClaimOfEverything(t *testing.T) {
	inBubble(t, func(d *desk) {
		for _, name := range []string{"/", "**", "*", "src/**", "\n", `\`, "\\*\u0085", "link/../..//*", strings.Repeat("n", 2000), strings.Repeat("n/", 3000)} {
			if a := d.edit("a", name); a.code != 0 || !strings.Contains(a.out, "did not check this edit") {
				d.t.Errorf("an edit of %.40q = %.200v, want a warning", name, a)
			}
			d.FailClosed = true
			d.denied(fmt.Sprintf("with --fail-closed %.40q", name), d.edit("a", name))
			d.FailClosed = false
		}
		if a := d.edit("a", ""); !strings.Contains(a.out, "names no file") {
			d.t.Errorf("an edit of no file = %v, want a warning", a)
		}
		d.checkHeld("claude:a")
		d.granted("a folder's own name", d.edit("a", "."))
		d.granted("a file of another", d.edit("b", "x.go"))
		d.granted("a file elsewhere", d.edit("b", filepath.Join(filepath.Dir(d.dir), "y.go")))
	})
}

// A patch with very many files is refused for their number, without a look at each pair.
func TestManyFiles(t *testing.T) {
	var patch strings.Builder
	patch.WriteString(patchStart)
	const files = 300_000
	for i := range files {
		fmt.Fprint(&patch, "\n*** Add File: f", i)
	}
	input, _ := json.Marshal(map[string]any{
		"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "apply_patch", "tool_input": patch.String(),
	})
	e, err := codex{}.decode(input)
	if err != nil || len(e.files) != files {
		t.Fatalf("decode() = %d files, %v, want %d", len(e.files), err, files)
	}
	s := &session{Options: &Options{}, event: e}
	if _, err := s.locate(); err == nil || !strings.Contains(err.Error(), "it changes 300000 files") {
		t.Errorf("locate() of %d files = %v, want an error", files, err)
	}
}

// What no context ends does not keep the hook from its answer.
func TestNothingAnswers(t *testing.T) {
	inBubble(t, func(d *desk) {
		stuck := make(chan struct{})
		d.Open = func(context.Context) (leasehold.Store, error) {
			<-stuck
			return nil, errors.New("too late")
		}
		for _, client := range Clients() {
			start := time.Now()
			input := `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Write","tool_input":{"file_path":"a"}}`
			if a := d.run(client, input); a.code != 0 || !strings.Contains(a.out, "did not answer within 1s") {
				d.t.Errorf("%s = %+v, want a warning", client, a)
			}
			d.FailClosed = true
			if a := d.run(client, input); a.code != blocked && !strings.Contains(a.out, "deny") || !strings.Contains(a.out+a.err, "did not answer within 1s") {
				d.t.Errorf("%s with --fail-closed = %+v, want a refusal", client, a)
			}
			if a := d.run(client, strings.Replace(input, "PreToolUse", "Stop", 1)); a.code != 0 || strings.Contains(a.out, "deny") {
				d.t.Errorf("%s at the end with --fail-closed = %+v, want 0", client, a)
			}
			d.FailClosed = false
			if took := time.Since(start); took != 3*(DefaultLimit+grace) {
				d.t.Errorf("three calls took %v, want %v", took, 3*(DefaultLimit+grace))
			}
		}
		close(stuck)
	})
}

// plainStore grants no sets, like most stores.
type plainStore struct{ leasehold.Store }

func (s plainStore) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, err
	}
	return s.Store.Acquire(ctx, r)
}

func TestStoreWithoutSets(t *testing.T) {
	inBubble(t, func(d *desk) {
		all := d.store
		d.store = plainStore{all}
		long := strings.Repeat(strings.Repeat("d", 200)+"/", 6) + "x"
		d.granted("an edit", d.edit("a", "x.go"))
		d.granted("again", d.edit("a", "x.go"))
		d.granted("a long name", d.edit("a", long))
		d.granted("PostToolUse", d.run("claude", d.claude("PostToolUse", "a", "x.go")))
		d.denied("of another", d.edit("b", "x.go"), "held by claude:a", "leasehold wait shop/x.go")
		status, err := all.Status(d.t.Context(), "shop/x.go")
		if err != nil || status.Lease == nil || status.Lease.Renewals != 2 {
			d.t.Errorf("Status(shop/x.go) = %+v, %v, want a lease with 2 renewals", status.Lease, err)
		}
		a := d.run("claude", d.claude("SessionEnd", "a", ""))
		if a.code != 0 || !strings.Contains(a.err, "end by themselves") {
			d.t.Errorf("SessionEnd where nothing can be released = %+v, want a line that says so", a)
		}
	})
}

// failing is a store that does not do what it should.
type failing struct {
	leasehold.Store
	err error // nil: it hangs
}

func (f failing) Acquire(ctx context.Context, _ leasehold.AcquireRequest) (leasehold.Grant, error) {
	if f.err != nil {
		return leasehold.Grant{}, f.err
	}
	<-ctx.Done()
	return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: context.Cause(ctx)}
}

func (f failing) Close() error {
	if f.err == nil {
		time.Sleep(time.Hour) // in a bubble
	}
	return nil
}

func TestServerIsSlow(t *testing.T) {
	inBubble(t, func(d *desk) {
		d.store = failing{Store: d.store}
		d.Open = func(context.Context) (leasehold.Store, error) { return d.store, nil }
		start := time.Now()
		a := d.edit("a", "x")
		if took := time.Since(start); took != DefaultLimit {
			d.t.Errorf("the hook took %v, want %v", took, DefaultLimit)
		}
		if a.code != 0 || !strings.Contains(a.out, `{"systemMessage":"Leasehold did not check this edit: the lease server did not answer in time`) {
			d.t.Errorf("with a slow server the hook says %+v, want a warning", a)
		}
		d.FailClosed = true
		d.denied("with --fail-closed", d.edit("a", "x"), "did not answer in time", "--fail-closed")
		start = time.Now()
		input, tail := io.Pipe()
		defer tail.Close()
		if code := Run("claude", input, io.Discard, io.Discard, d.Options); code != blocked {
			d.t.Errorf("Run() with endless input = %d, want %d", code, blocked)
		}
		if took := time.Since(start); took != DefaultLimit {
			d.t.Errorf("the hook with endless input took %v, want %v", took, DefaultLimit)
		}
		time.Sleep(2 * time.Hour) // the stores' Close
	})
}

func TestServerFails(t *testing.T) {
	d := newDesk(t)
	d.Limit = time.Minute // for slow machines
	for _, err := range []error{
		&leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: errors.New("connection refused")},
		&leasehold.Error{Reason: leasehold.ReasonForbidden}, &leasehold.Error{Reason: leasehold.ReasonTooMany},
		errors.New("what?\n" + strings.Repeat("x", 1000)),
	} {
		for _, client := range Clients() {
			input := `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Write","tool_input":{"file_path":"a"}}`
			d.Open = func(context.Context) (leasehold.Store, error) { return failing{err: err}, nil }
			d.FailClosed = false
			if a := d.run(client, input); a.code != 0 || !strings.Contains(a.out, "did not check this edit") || strings.Contains(a.out, "deny") || len(a.out) > 1200 {
				t.Errorf("%s with %v = %+v, want a warning", client, err, a)
			}
			d.FailClosed = true
			if a := d.run(client, input); a.code != blocked && !strings.Contains(a.out, "deny") {
				t.Errorf("%s with %v and --fail-closed = %+v, want a refusal", client, err, a)
			}
			d.Open = func(context.Context) (leasehold.Store, error) { return nil, err }
			for _, name := range []string{"PostToolUse", "SessionEnd"} {
				if a := d.run(client, strings.Replace(input, "PreToolUse", name, 1)); a.code != 0 || a.err == "" || strings.Contains(a.out, "deny") {
					t.Errorf("%s %s with %v = %+v, want 0 and a line", client, name, err, a)
				}
			}
		}
	}
}

func TestBadInput(t *testing.T) {
	d := newDesk(t)
	d.Limit = time.Minute // for slow machines
	d.Open = func(context.Context) (leasehold.Store, error) {
		t.Error("the store was opened")
		return nil, errors.New("x")
	}
	huge := `{"hook_event_name":"PreToolUse","x":"` + strings.Repeat("x", MaxInput) + `"}`
	if a := d.run("claude", huge); !strings.Contains(a.out, "more than 32 MiB") {
		t.Errorf("with %d bytes the hook says %.200v, want a warning", len(huge), a)
	}
	for _, client := range Clients() {
		for _, input := range []string{"", "x", "{}", "\x00", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Write","tool_input":{"file_path":"a` + `\u0000"}}`} {
			d.FailClosed = false
			a := d.run(client, input)
			if a.code != 0 || !strings.Contains(a.out, "did not check this edit") || a.err == "" {
				t.Errorf("%s with %.40q = %.200v, want a warning", client, input, a)
			}
			d.FailClosed = true
			if a := d.run(client, input); a.code != blocked && !strings.Contains(a.out, "deny") {
				t.Errorf("%s with %.40q and --fail-closed = %.200v, want a refusal", client, input, a)
			}
		}
	}
}

// An error of the program is no consent that nobody sees, and no exit code that nobody knows.
func TestPanic(t *testing.T) {
	d := newDesk(t)
	d.Open = func(context.Context) (leasehold.Store, error) { panic("oops") }
	if a := d.edit("a", "x"); a.code != 0 || !strings.Contains(a.err, "oops") {
		t.Errorf("with a panic the hook says %+v, want 0 and the panic", a)
	}
	d.FailClosed = true
	if a := d.edit("a", "x"); a.code != blocked {
		t.Errorf("with a panic and --fail-closed the hook says %+v, want %d", a, blocked)
	}
}

// variable are the parts of a refusal that differ from run to run: a patch acquires its
// files at the same time.
var variable = regexp.MustCompile(`__set__\d+ --lease-token \d+`)

// The text is for a model that has to decide what to do next.
func TestRefusalText(t *testing.T) {
	inBubble(t, func(d *desk) {
		d.Task = "fix the \"login\"\nfor real"
		d.Store = "http://leases:8105"
		d.granted("an edit", d.edit("a1", "src/pay.go"))
		d.granted("a patch", d.patch("b1", "go.mod", "docs/how to.md"))
		if _, err := d.store.Acquire(d.t.Context(), leasehold.AcquireRequest{Holder: "anna", TTL: leasehold.Infinite, Claims: leasehold.Paths("shop", "web/**")}); err != nil {
			d.t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		var texts []string
		texts = append(texts, d.edit("a2", "src/pay.go").out, d.patch("a2", "go.mod", "README.md", "docs/how to.md", "web/x.html").err,
			d.run("cursor", `{"hook_event_name":"preToolUse","conversation_id":"k","cwd":`+fmt.Sprintf("%q", d.dir)+`,"tool_name":"Write","tool_input":{"file_path":"web/x.html"}}`).out)
		host := strings.NewReplacer(`host \"`+hostname()+`\"`, `host \"HOST\"`, `host "`+hostname()+`"`, `host "HOST"`)
		got := variable.ReplaceAllString(host.Replace(strings.Join(texts, "\n")), "__set__N --lease-token N")
		golden(d.t, "refusals.txt", got)
	})
}

func hostname() string { name, _ := os.Hostname(); return name }

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		write(t, file, got)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); go test -update writes it:\n%s", file, diff)
	}
}
