package shared

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testchild"
	"github.com/leasehold/leasehold/internal/testserver"
)

const (
	competitors = 50
	competeTTL  = time.Second
)

var contested = []string{"a", "b", "c"}

// compete acquires, holds and releases for ever, and writes what it was answered
// into a file that all competitors append to, before it does the next thing.
func compete(path string) error {
	log, err := os.OpenFile(path+".log", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	holder := fmt.Sprint("p", os.Getpid())
	var slowest time.Duration
	for {
		resource := contested[rand.IntN(len(contested))]
		asked := time.Now()
		g, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: competeTTL})
		answered := time.Now()
		if took := answered.Sub(asked); took > slowest {
			slowest = took
			fmt.Fprintf(log, "slow %d\n", took.Milliseconds())
		}
		switch {
		case errors.Is(err, leasehold.ErrHeld):
			fmt.Fprintln(log, "held")
			time.Sleep(rand.N(100 * time.Millisecond))
			continue
		case errors.Is(err, leasehold.ErrUnavailable):
			fmt.Fprintln(log, "crowded")
			continue
		case err != nil:
			return err
		}
		fmt.Fprintf(log, "granted %s %d %s %d %d\n", resource, g.Token, holder, asked.UnixNano(), answered.UnixNano())
		time.Sleep(rand.N([]time.Duration{20 * time.Millisecond, 500 * time.Millisecond}[rand.IntN(2)]))
		fmt.Fprintf(log, "leaving %d %d\n", g.Token, time.Now().UnixNano())
		if _, err := s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: resource}); err == nil {
			fmt.Fprintf(log, "released %d\n", g.Token)
		} else if !errors.Is(err, leasehold.ErrUnavailable) && !errors.Is(err, leasehold.ErrLost) {
			return err
		}
	}
}

// TestFiftyProcesses compete for a few resources while some of them are killed and
// others take their place. There are never two holders, the lease of one that was
// killed ends on time and not early, and nothing that was acknowledged is lost.
func TestFiftyProcesses(t *testing.T) {
	testserver.Wanted(t)
	path := filepath.Join(t.TempDir(), "leases.db")
	running := make([]*process, competitors)
	for i := range running {
		running[i] = startProcess(t, "compete", path)
	}
	s := newStore(t, path, nil)
	kills := soak.Rounds(40, 120)
	for range kills {
		time.Sleep(100 * time.Millisecond) // they work meanwhile
		i := rand.IntN(len(running))
		if j := holding(t, s, running); j >= 0 {
			i = j // most do not hold anything
		}
		running[i].kill(t)
		running[i] = startProcess(t, "compete", path)
	}
	waitForGrants(t, s)
	for _, p := range running {
		p.kill(t)
	}
	c := readContention(t, path+".log")
	c.check(t)
	c.checkFile(t, path)
	t.Logf("%d processes killed; %d grants, %d of them never released, %d refusals; slowest call %v, %d calls too late",
		kills+competitors, len(c.grants), c.left, c.held, c.slowest, c.crowded)
	if len(c.grants) < enoughGrants || c.left < 5 {
		t.Errorf("%d grants, of which %d were never released: too few to show anything", len(c.grants), c.left)
	}
}

// enoughGrants is how many grants show something. Those who were killed hold on to
// what they had, so there may be fewer by the last kill.
const enoughGrants = 50

// waitForGrants lets the processes work until there were enough grants: more than are
// looked for, because one who is killed may not have noted its last one.
func waitForGrants(t *testing.T, s *testStore) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		base, err := s.db.Base(t.Context())
		if err != nil {
			t.Fatalf("Base() = %v", err)
		}
		if base.Token >= 2*enoughGrants {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %d grants", base.Token)
		}
	}
}

// holding returns which of the processes holds a resource just now, or -1.
func holding(t *testing.T, s *testStore, running []*process) int {
	t.Helper()
	status, err := s.Status(t.Context(), contested[rand.IntN(len(contested))])
	if err != nil {
		t.Fatalf("Status() = %v", err)
	}
	if !status.Locked() {
		return -1
	}
	return slices.IndexFunc(running, func(p *process) bool { return fmt.Sprint("p", p.pid) == status.Lease.Holder })
}

// process is a child under way.
type process struct {
	pid  int
	kill func(t *testing.T)
}

// startProcess starts a child and waits until it has opened the file.
func startProcess(t *testing.T, program, path string) *process {
	t.Helper()
	cmd := testchild.Command(context.Background(), program, path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := false
	p := &process{pid: cmd.Process.Pid, kill: func(t *testing.T) {
		if dead {
			return
		}
		dead = true
		cmd.Process.Kill() // SIGKILL
		rest, _ := io.ReadAll(out)
		if len(rest) > 0 {
			t.Errorf("a child said %q", rest)
		}
		cmd.Wait()
	}}
	t.Cleanup(func() { p.kill(t) })
	buf := bufio.NewReaderSize(out, 16)
	if line, err := buf.ReadString('\n'); line != "ready\n" {
		rest, _ := io.ReadAll(buf)
		t.Fatalf("a child said %q, %v", line+string(rest), err)
	}
	return p
}

// contendedGrant is a grant as its holder wrote it down, in Unix nanoseconds.
type contendedGrant struct {
	resource, holder string
	token            uint64
	asked, answered  int64
	leaving          int64 // zero: it was killed before
	released         bool
}

type contention struct {
	grants              map[uint64]*contendedGrant
	left, held, crowded int
	slowest             time.Duration
}

func readContention(t *testing.T, log string) *contention {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	c := &contention{grants: map[uint64]*contendedGrant{}}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		number := func(i int) int64 {
			n, err := strconv.ParseInt(f[i], 10, 64)
			if err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			return n
		}
		switch f[0] {
		case "granted":
			token := uint64(number(2))
			if was := c.grants[token]; was != nil {
				t.Fatalf("token %d was granted to %s and to %s", token, was.holder, f[3])
			}
			c.grants[token] = &contendedGrant{resource: f[1], token: token, holder: f[3], asked: number(4), answered: number(5)}
		case "leaving":
			c.grants[uint64(number(1))].leaving = number(2)
		case "released":
			c.grants[uint64(number(1))].released = true
		case "held":
			c.held++
		case "crowded":
			c.crowded++
		case "slow":
			c.slowest = max(c.slowest, time.Duration(number(1))*time.Millisecond)
		}
	}
	return c
}

// tolerance is for the wall clock, which this test goes by and the store does not.
const tolerance = int64(5 * time.Millisecond)

// check: each grant came after the one before it was given up or had ended, and not
// long after.
func (c *contention) check(t *testing.T) {
	t.Helper()
	for _, resource := range contested {
		var grants []*contendedGrant
		for _, g := range c.grants {
			if g.resource == resource {
				grants = append(grants, g)
			}
		}
		slices.SortFunc(grants, func(a, b *contendedGrant) int { return cmp.Compare(a.token, b.token) })
		for i, g := range grants {
			if !g.released {
				c.left++
			}
			if i+1 == len(grants) {
				continue
			}
			next := grants[i+1]
			end := g.asked + int64(competeTTL) - tolerance
			if g.leaving != 0 {
				end = min(end, g.leaving)
			}
			if next.answered < end {
				t.Errorf("%s: token %d of %s was granted %v before token %d of %s was given up or had ended",
					resource, next.token, next.holder, time.Duration(end-next.answered), g.token, g.holder)
			}
		}
	}
}

// checkFile: everything that was acknowledged is in the history, and a lease that
// nobody released ends on time.
func (c *contention) checkFile(t *testing.T, path string) {
	t.Helper()
	s := newStore(t, path, nil)
	records := map[uint64]map[leasehold.Kind]leasehold.Record{}
	var seq uint64
	for cursor := ""; ; {
		page, err := s.History(t.Context(), leasehold.HistoryRequest{Cursor: cursor, Limit: 1000})
		if err != nil {
			t.Fatalf("History() = %v", err)
		}
		for _, r := range page.Records {
			if seq != 0 && r.Seq != seq-1 {
				t.Errorf("record %d comes before %d", r.Seq, seq)
			}
			seq = r.Seq
			if records[r.Token] == nil {
				records[r.Token] = map[leasehold.Kind]leasehold.Record{}
			}
			records[r.Token][r.Kind] = r
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	var late []time.Duration // of those that ended by themselves
	for token, g := range c.grants {
		r, ok := records[token][leasehold.KindAcquired]
		if !ok || r.Resource != g.resource || r.Holder != g.holder {
			t.Errorf("token %d was granted to %s, and the history has %+v", token, g.holder, r)
		}
		if _, ok := records[token][leasehold.KindReleased]; g.released && !ok {
			t.Errorf("token %d was released, and the history does not have it", token)
		}
		if r, ok := records[token][leasehold.KindExpired]; ok {
			late = append(late, r.At.Sub(time.Unix(0, g.answered).Add(competeTTL)))
		}
	}
	if len(late) == 0 {
		t.Fatal("no lease ended by itself")
	}
	slices.Sort(late)
	middle, latest := late[len(late)/2], late[len(late)-1]
	t.Logf("%d leases ended by themselves; their ends were recorded %v after them in the middle, %v at most", len(late), middle, latest)
	if middle > time.Second || latest > 10*time.Second { // nobody would have noticed for so long
		t.Errorf("leases ended %v after their time in the middle, %v at most", middle, latest)
	}
	for _, resource := range contested {
		deadline := time.Now().Add(competeTTL + 10*time.Second)
		for {
			status, err := s.Status(t.Context(), resource)
			if err != nil {
				t.Fatalf("Status(%q) = %v", resource, err)
			}
			if !status.Locked() {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is held though every process is dead: %+v", resource, status.Lease)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}
