package sets

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sqlitedb "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testchild"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/sqlite"
)

var crashes = soak.Rounds(8, 80)

// TestCrash kills a process that acquires, changes and releases sets, again and again
// on the same file, and checks after each kill that the file has every acknowledged
// lease with all of its claims, of those under way all or nothing, and nothing else.
func TestCrash(t *testing.T) {
	t.Parallel()
	c := &checker{held: map[string]event{}, begun: map[string]event{}, granted: map[uint64]string{}}
	path := filepath.Join(t.TempDir(), "leases.db")
	for round := range crashes {
		c.kill(t, path, time.Duration(20+rand.IntN(200))*time.Millisecond)
		c.checkFile(t, path)
		if t.Failed() {
			t.Fatalf("after crash %d of %d", round+1, crashes)
		}
	}
	t.Logf("%d crashes; %d sets and %d changes of modes acknowledged, %d refused; %d leases were found after a crash, %d under way, of which %d had happened; %d notes; last token %d",
		crashes, c.sets, c.modes, c.refused, c.found, c.under, c.happened, c.notes, c.lastToken)
	for what, n := range map[string]int{
		"sets": c.sets, "changes of modes": c.modes, "refusals": c.refused, "leases after a crash": c.found,
		"operations under way": c.under, "notes": c.notes,
	} {
		if n == 0 {
			t.Errorf("there were no %s: nothing was tested", what)
		}
	}
}

// checker compares what the processes said with what the file has.
type checker struct {
	held    map[string]event  // by id: the last that was acknowledged, and has not ended
	begun   map[string]event  // by id: the operation begun since
	granted map[uint64]string // every token acknowledged, and for what

	lastSeq, lastToken uint64 // of the history

	sets, modes, refused, found, under, happened, notes int
}

// kill runs a process, kills it after a while, and notes what it said.
func (c *checker) kill(t *testing.T, path string, life time.Duration) {
	t.Helper()
	cmd := testchild.Command(t.Context(), "hammer", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	floor := c.lastToken
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // perhaps with half a line, which nobody has read
			if !errors.Is(err, io.EOF) {
				t.Errorf("reading the child: %v", err)
			}
			break
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Errorf("the child said %q: %v", line, err)
		}
		if e.Phase == "ready" {
			time.AfterFunc(life, func() { _ = cmd.Process.Kill() }) // SIGKILL
			continue
		}
		c.note(t, e, floor)
	}
	if err := cmd.Wait(); runtime.GOOS != "windows" && cmd.ProcessState.Exited() {
		t.Errorf("the child ended by itself: %v", err)
	}
}

// note notes one line. Floor is the last token in the file before.
func (c *checker) note(t *testing.T, e event, floor uint64) {
	t.Helper()
	if e.Phase == "try" {
		c.begun[e.ID] = e
		return
	}
	delete(c.begun, e.ID)
	switch {
	case e.Phase == "no":
		c.refused++
		return
	case e.Op == "release" || e.Op == "break":
		delete(c.held, e.ID)
		return
	case e.Op == "modes":
		c.modes++
		if before := c.held[e.ID]; e.Name != before.Name || e.Token <= before.Token {
			t.Errorf("a change of modes made token %d of %s to token %d of %s", before.Token, before.Name, e.Token, e.Name)
		}
	case e.Claims != nil:
		c.sets++
		if want := leasehold.SetPrefix + strconv.FormatUint(e.Token, 10); e.Name != want {
			t.Errorf("the set with token %d is named %s, want %s", e.Token, e.Name, want)
		}
	}
	if before, twice := c.granted[e.Token]; twice || e.Token <= floor {
		t.Errorf("token %d was given out for %s, after token %d in the file, and for %q before", e.Token, e.Name, floor, before)
	}
	c.granted[e.Token] = e.Name
	c.held[e.ID] = e
}

// checkFile opens the file and compares.
func (c *checker) checkFile(t *testing.T, path string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatalf("Open() after a crash = %v", err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}()
	c.checkNotes(t, path)
	c.checkHistory(t, s)
	for id, e := range c.begun {
		c.resolve(t, s, id, e)
	}
	clear(c.begun)
	live := c.checkLive(t, s)
	checkApart(t, live)
	checkInTheWay(t, s, live)
	c.endSome(t, s)
}

// resolve finds out whether an operation that was under way has happened.
func (c *checker) resolve(t *testing.T, s *sqlite.Store, id string, e event) {
	t.Helper()
	c.under++
	l, err := s.Find(t.Context(), parse(t, id))
	if err != nil && leasehold.ReasonOf(err) != leasehold.ReasonNotFound {
		t.Errorf("Find() of %s under way = %v", e.Op, err)
		return
	}
	before := c.held[id]
	switch e.Op {
	case "acquire":
		if err != nil {
			return
		}
		c.happened++
		e.Name, e.Token = l.Resource, l.Token
		c.held[id] = e // that it has all is checked with the others
		if want := leasehold.SetPrefix + strconv.FormatUint(l.Token, 10); e.Claims != nil && l.Resource != want {
			t.Errorf("a set under way is named %s and has token %d", l.Resource, l.Token)
		}
	case "modes":
		if l.Token != before.Token {
			c.happened++
			e.Name, e.Token = before.Name, l.Token
			c.held[id] = e
		}
	default:
		if err == nil && l.State.Locked() {
			return
		}
		c.happened++
		delete(c.held, id)
	}
}

// checkLive: exactly the leases that are known are live, each with all that it was
// granted for.
func (c *checker) checkLive(t *testing.T, s *sqlite.Store) (live []leasehold.Lease) {
	t.Helper()
	want := map[string]event{}
	for id, e := range c.held {
		want[e.Name] = e
		l, err := s.Find(t.Context(), parse(t, id))
		if err != nil || l.Resource != e.Name || l.Token != e.Token {
			t.Errorf("Find() of %s with token %d = %s with token %d, %v", e.Name, e.Token, l.Resource, l.Token, err)
		}
	}
	r := leasehold.ListRequest{Limit: leasehold.MaxPage}
	for more := true; more; more = r.Cursor != "" {
		page, err := s.List(t.Context(), r)
		if err != nil {
			t.Fatalf("List() = %v", err)
		}
		live, r.Cursor = append(live, page.Leases...), page.Cursor
	}
	for _, l := range live {
		e, ok := want[l.Resource]
		if !ok {
			t.Errorf("%s of %s, token %d, is live, and nobody was granted it or it was ended", l.Resource, l.Holder, l.Token)
			continue
		}
		delete(want, l.Resource)
		c.found++
		if l.Token != e.Token || l.Holder != e.Holder || l.State != leasehold.StateActive {
			t.Errorf("%s is %v with token %d of %s, want it active with token %d of %s", l.Resource, l.State, l.Token, l.Holder, e.Token, e.Holder)
		}
		if diff := cmp.Diff(e.Claims, l.Claims); diff != "" {
			t.Errorf("the claims of %s (-want +got):\n%s", l.Resource, diff)
		}
	}
	for name, e := range want {
		t.Errorf("%s with token %d was granted and is gone", name, e.Token)
	}
	return live
}

// checkApart: no two live leases exclude each other.
func checkApart(t *testing.T, live []leasehold.Lease) {
	t.Helper()
	for i, a := range live {
		for _, b := range live[:i] {
			if place, ok := machine.Conflict(covers(a), covers(b)); ok {
				t.Errorf("both %s and %s are live and have %v", a.Resource, b.Resource, place)
			}
		}
	}
}

// checkInTheWay: each claim of each live lease keeps others out again.
func checkInTheWay(t *testing.T, s *sqlite.Store, live []leasehold.Lease) {
	t.Helper()
	for _, l := range live {
		for _, claim := range covers(l) {
			claim.Mode = leasehold.Exclusive
			g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Claims: []leasehold.Claim{claim}, Holder: "other", TTL: time.Hour})
			if leasehold.ReasonOf(err) != leasehold.ReasonHeld {
				t.Errorf("Acquire(%v), which %s has = token %d, %v, want ErrHeld", claim, l.Resource, g.Token, err)
			}
		}
	}
}

func covers(l leasehold.Lease) []leasehold.Claim {
	return machine.Covers(l.Resource, l.Claims)
}

// endSome ends most leases, so that the next process has some to live with.
func (c *checker) endSome(t *testing.T, s *sqlite.Store) {
	t.Helper()
	for id, e := range c.held {
		if rand.IntN(4) == 0 {
			continue
		}
		l, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: parse(t, id)})
		if diff := cmp.Diff(e.Claims, l.Claims); err != nil || diff != "" {
			t.Errorf("Release() of %s = %v (-want +got):\n%s", e.Name, err, diff)
		}
		delete(c.held, id)
	}
	c.checkHistory(t, s)
}

// checkHistory reads what is new: numbered without a gap, with tokens that only grow,
// and, of a set, with the claims that were acknowledged.
func (c *checker) checkHistory(t *testing.T, s *sqlite.Store) {
	t.Helper()
	claims := map[uint64][]leasehold.Claim{}
	for _, e := range c.held {
		claims[e.Token] = e.Claims
	}
	for _, r := range c.newRecords(t, s) {
		if r.Seq != c.lastSeq+1 {
			t.Errorf("history record %d follows %d", r.Seq, c.lastSeq)
		}
		c.lastSeq = r.Seq
		if r.Kind != leasehold.KindAcquired {
			continue
		}
		if r.Token <= c.lastToken {
			t.Errorf("history record %d grants token %d after token %d", r.Seq, r.Token, c.lastToken)
		}
		c.lastToken = r.Token
		if strings.HasPrefix(r.Resource, leasehold.SetPrefix) {
			var got []leasehold.Claim
			if err := json.Unmarshal([]byte(r.Details["claims"]), &got); err != nil || len(got) == 0 {
				t.Errorf("history record %d of a set says %q, %v", r.Seq, r.Details["claims"], err)
			}
			if want, ok := claims[r.Token]; ok && !slices.Equal(got, want) {
				t.Errorf("history record %d has the claims %v, want %v", r.Seq, got, want)
			}
		}
	}
}

// newRecords returns the records after the last that was read, the oldest first.
func (c *checker) newRecords(t *testing.T, s *sqlite.Store) (records []leasehold.Record) {
	t.Helper()
	r := leasehold.HistoryRequest{Limit: leasehold.MaxPage}
	for {
		page, err := s.History(t.Context(), r)
		if err != nil {
			t.Fatalf("History() = %v", err)
		}
		for _, record := range page.Records {
			if record.Seq <= c.lastSeq {
				slices.Reverse(records)
				return records
			}
			records = append(records, record)
		}
		if r.Cursor = page.Cursor; r.Cursor == "" {
			slices.Reverse(records)
			return records
		}
	}
}

// checkNotes: a note is on the lease that left it or on one that got it, not on both. It
// reads the file while the engine has it: before that, closing it would tidy up what the
// crash has left.
func (c *checker) checkNotes(t *testing.T, path string) {
	t.Helper()
	conn, err := sqlitedb.OpenConn(path, sqlitedb.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	seen := map[string]string{}
	err = sqlitex.ExecuteTransient(conn, "SELECT resource, notes FROM leases WHERE notes IS NOT NULL", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlitedb.Stmt) error {
			var notes []leasehold.Note
			if err := json.Unmarshal([]byte(stmt.ColumnText(1)), &notes); err != nil {
				return err
			}
			for _, n := range notes {
				if other, twice := seen[n.Text]; twice {
					t.Errorf("one note is both on %s and on %s", other, stmt.ColumnText(0))
				}
				seen[n.Text] = stmt.ColumnText(0)
			}
			return nil
		},
	})
	if err != nil {
		t.Errorf("reading the notes: %v", err)
	}
	c.notes += len(seen)
}

func parse(t *testing.T, id string) leasehold.ID {
	t.Helper()
	parsed, err := leasehold.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
