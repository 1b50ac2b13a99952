package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testchild"
)

var crashes = soak.Rounds(10, 50)

// TestCrash kills a process that hammers a store, again and again on the same
// file, and checks after each kill that the file holds exactly what had been
// acknowledged, except for the one operation that each worker had started.
func TestCrash(t *testing.T) {
	t.Parallel()
	c := newChecker()
	path := filepath.Join(t.TempDir(), "leases.db")
	for round := range crashes {
		// A tenth of them die while they start.
		life := time.Duration(rand.IntN(100)) * time.Millisecond
		c.watch(t, path, life, round%10 == 9)
		c.checkFile(t, path)
		if t.Failed() {
			t.Fatalf("after crash %d of %d", round+1, crashes)
		}
	}
	t.Logf("%d crashes; %d operations acknowledged, %d history records, last token %d; %d deaths with operations under way; of the brief leases %d were seen held, %d ended",
		crashes, c.acks, c.lastSeq, c.lastToken, c.interrupted, c.lasted, c.passed)
}

// summary is what a worker was answered about a lease.
type summary struct {
	holder   string
	token    uint64
	state    string
	renewals int
	ttl      int64
	id       string // or "-"
}

// String leaves the id out, even here.
func (s summary) String() string {
	return fmt.Sprintf("%s by %s with token %d, %d renewals, ttl %v", s.state, s.holder, s.token, s.renewals, time.Duration(s.ttl))
}

// checker compares what the processes said with what the file holds.
type checker struct {
	acked   map[string]summary // by resource: the last that was acknowledged
	begun   map[string]string  // by resource: the operation begun since
	granted map[uint64]string  // every token acknowledged, and for what

	acks        int
	interrupted int
	lastSeq     uint64
	lastToken   uint64                      // of the history
	last        map[string]leasehold.Record // by resource: its newest record

	briefs map[string]briefly // by resource: the last one that nobody releases
	passed int                // how many of them were seen to end, and not to
	lasted int
}

// briefly is a lease that ends by itself: not before asked+ttl, nor after
// answered+ttl.
type briefly struct {
	token           uint64
	ttl             time.Duration
	asked, answered time.Time
}

func newChecker() *checker {
	return &checker{
		acked: map[string]summary{}, begun: map[string]string{}, granted: map[uint64]string{},
		last: map[string]leasehold.Record{}, briefs: map[string]briefly{},
	}
}

// watch runs one process, kills it, and notes what it said.
func (c *checker) watch(t *testing.T, path string, life time.Duration, early bool) {
	t.Helper()
	cmd := testchild.Command(context.Background(), "hammer", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { time.AfterFunc(life, func() { cmd.Process.Kill() }) } // SIGKILL
	if early {
		kill()
	}
	floor := c.lastToken
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("reading the child: %v", err)
			}
			break
		}
		if line == "ready\n" && !early {
			kill()
		} else if err := c.parseLine(line, floor); err != nil {
			t.Errorf("%v", err)
		}
	}
	if err := cmd.Wait(); runtime.GOOS != "windows" && cmd.ProcessState.Exited() {
		t.Errorf("the child ended by itself: %v", err)
	}
	if len(c.begun) > 0 {
		c.interrupted++
	}
}

// parseLine notes one line. Floor is the last token in the file so far.
func (c *checker) parseLine(line string, floor uint64) error {
	var op, resource string
	var s summary
	if n, _ := fmt.Sscanf(line, "try %s %s", &op, &resource); n == 2 {
		c.begun[resource] = op
		return nil
	}
	if n, _ := fmt.Sscanf(line, "did %s %s %s %d %s %d %d %s", &op, &resource, &s.holder, &s.token, &s.state, &s.renewals, &s.ttl, &s.id); n == 8 {
		delete(c.begun, resource)
		c.acked[resource] = s
		c.acks++
		if op == "acquire" || op == "transfer" {
			return c.grant(s.token, floor, op+" "+resource)
		}
		return nil
	}
	if n, _ := fmt.Sscanf(line, "token %d", &s.token); n == 1 {
		c.acks++
		return c.grant(s.token, floor, "a shared resource")
	}
	var ttl, asked, answered int64
	if n, _ := fmt.Sscanf(line, "brief %s %d %d %d %d", &resource, &s.token, &ttl, &asked, &answered); n == 5 {
		c.acks++
		return errors.Join(c.grant(s.token, floor, resource),
			c.brief(resource, briefly{s.token, time.Duration(ttl), time.Unix(0, asked), time.Unix(0, answered)}))
	}
	if n, _ := fmt.Sscanf(line, "toy %s", &resource); n == 1 {
		c.acks++
		return nil
	}
	if line == "ready\n" {
		return nil
	}
	return fmt.Errorf("the child said %q", line)
}

// brief notes a lease that nobody releases. The one before it must have ended.
func (c *checker) brief(resource string, b briefly) error {
	before, ok := c.briefs[resource]
	c.briefs[resource] = b
	if early := before.asked.Add(before.ttl).Sub(b.answered); ok && early > 0 {
		return fmt.Errorf("%s was granted again %v before the end of token %d", resource, early, before.token)
	}
	return nil
}

func (c *checker) grant(token, floor uint64, what string) error {
	if before, ok := c.granted[token]; ok {
		return fmt.Errorf("token %d was given out twice: for %s and for %s", token, before, what)
	}
	if token <= floor {
		return fmt.Errorf("token %d was given out after token %d: %s", token, floor, what)
	}
	c.granted[token] = what
	return nil
}

// checkFile opens the file and compares.
func (c *checker) checkFile(t *testing.T, path string) {
	t.Helper()
	s, err := Open(t.Context(), path, &Options{Modules: []engine.Module{toys}})
	if err != nil {
		t.Fatalf("Open() after a crash = %v", err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}()
	leases := c.listAll(t, s)
	c.checkHistory(t, s)
	c.checkAcked(t, s, leases)
	c.checkOrphans(t, leases)
	checkToys(t, s, leases)
	c.checkBriefs(t, s)
}

// checkBriefs: no lease ends early, though processes die around it, and none
// outlives its end by more than a second.
func (c *checker) checkBriefs(t *testing.T, s *Store) {
	t.Helper()
	for resource, b := range c.briefs {
		before := time.Now()
		status, err := s.Status(t.Context(), resource)
		switch {
		case err != nil:
			t.Errorf("Status(%q) = %v", resource, err)
		case status.Lease.Token != b.token: // a grant that nobody heard of
		case status.Locked() && before.After(b.answered.Add(b.ttl+time.Second)):
			t.Errorf("%s: a lease of %v is held %v after it was granted", resource, b.ttl, before.Sub(b.answered))
		case status.Locked():
			c.lasted++
		case time.Now().Before(b.asked.Add(b.ttl)):
			t.Errorf("%s: a lease of %v has ended within %v", resource, b.ttl, time.Since(b.asked))
		default:
			c.passed++
		}
	}
}

func (c *checker) listAll(t *testing.T, s *Store) map[string]leasehold.Lease {
	t.Helper()
	all := map[string]leasehold.Lease{}
	r := leasehold.ListRequest{Limit: leasehold.MaxPage}
	for state := leasehold.StateAvailable; state <= leasehold.StateBroken; state++ {
		r.States = append(r.States, state)
	}
	for {
		page, err := s.List(t.Context(), r)
		if err != nil {
			t.Fatalf("List() = %v", err)
		}
		for _, l := range page.Leases {
			all[l.Resource] = l
		}
		if r.Cursor = page.Cursor; r.Cursor == "" {
			return all
		}
	}
}

// checkHistory reads what is new: numbered without a gap, and with tokens that
// only grow.
func (c *checker) checkHistory(t *testing.T, s *Store) {
	t.Helper()
	var fresh []leasehold.Record // newest first
	r := leasehold.HistoryRequest{Limit: leasehold.MaxPage}
	for done := false; !done; {
		page, err := s.History(t.Context(), r)
		if err != nil {
			t.Fatalf("History() = %v", err)
		}
		for _, rec := range page.Records {
			if done = rec.Seq <= c.lastSeq; done {
				break
			}
			fresh = append(fresh, rec)
		}
		r.Cursor = page.Cursor
		done = done || r.Cursor == ""
	}
	for i := len(fresh) - 1; i >= 0; i-- {
		c.read(t, fresh[i])
	}
	checkKept(t, s)
}

func (c *checker) read(t *testing.T, rec leasehold.Record) {
	if rec.Seq != c.lastSeq+1 {
		t.Errorf("history record %d follows %d", rec.Seq, c.lastSeq)
	}
	c.lastSeq = rec.Seq
	switch rec.Kind {
	case leasehold.KindFailed, leasehold.KindPurged, leasehold.KindConfigured:
		return // about a request or the store, not about a lease
	}
	if before, ok := c.last[rec.Resource]; ok && before.After != rec.Before {
		t.Errorf("history record %d of %s goes from %v to %v, but the one before it went to %v",
			rec.Seq, rec.Resource, rec.Before, rec.After, before.After)
	}
	c.last[rec.Resource] = rec
	if rec.Kind == leasehold.KindAcquired || rec.Kind == leasehold.KindTransferred {
		if rec.Token <= c.lastToken {
			t.Errorf("history record %d grants token %d after token %d", rec.Seq, rec.Token, c.lastToken)
		}
		c.lastToken = rec.Token
	}
}

// checkAcked compares every resource of one worker with what it was answered.
// From here on the file counts.
func (c *checker) checkAcked(t *testing.T, s *Store, leases map[string]leasehold.Lease) {
	t.Helper()
	for resource, want := range c.acked {
		got, ok := leases[resource]
		if !ok {
			t.Errorf("%s is gone, want it %v", resource, want)
			continue
		}
		now := summary{got.Holder, got.Token, got.State.String(), got.Renewals, int64(got.TTL), want.id}
		op := c.begun[resource]
		switch {
		case now == want:
			c.checkID(t, s, resource, want)
		case op == "" || !follows(want, op, now):
			t.Errorf("%s is %v after a crash, want it %v or what %q makes of that", resource, now, want, op)
		}
		if got.State.Locked() && (got.Remaining > got.TTL || got.Remaining < got.TTL-time.Minute) {
			t.Errorf("%s has %v left of %v", resource, got.Remaining, got.TTL)
		}
		now.id = "-" // an operation that nobody heard of may have changed it
		c.acked[resource] = now
	}
	clear(c.begun)
}

// checkID: the id that the worker was given still finds the lease.
func (c *checker) checkID(t *testing.T, s *Store, resource string, want summary) {
	t.Helper()
	if want.id == "-" || c.begun[resource] == "change" {
		return
	}
	id, err := leasehold.ParseID(want.id)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Find(t.Context(), id)
	if err != nil || l.Resource != resource || l.Token != want.token {
		t.Errorf("Find(id of %s, token %d) = %s, token %d, %v", resource, want.token, l.Resource, l.Token, err)
	}
}

// follows says whether the operation can have led from one to the other.
func follows(from summary, op string, to summary) bool {
	same := to.token == from.token && to.holder == from.holder
	switch op {
	case "acquire":
		return to.token > from.token && to.state == "active" && to.renewals == 0
	case "renew":
		return same && to.state == "active" && to.renewals == from.renewals+1
	case "release":
		return same && to.state == "released"
	case "break":
		return same && to.state == "broken"
	case "transfer":
		return to.token > from.token && to.state == "active" && to.holder == colleague(from.holder) && to.renewals == from.renewals
	}
	return false // a change of id shows nowhere
}

// checkOrphans: every row is where its newest record left it, and every record
// has its row.
func (c *checker) checkOrphans(t *testing.T, leases map[string]leasehold.Lease) {
	t.Helper()
	for resource, l := range leases {
		rec, ok := c.last[resource]
		if strings.HasPrefix(resource, "brief/") { // acknowledged or not
			rec.After = l.State // it may end by itself at any moment, also between two looks
		}
		if !ok || rec.After != l.State || rec.Token != l.Token || rec.Renewals != l.Renewals || rec.Holder != l.Holder {
			t.Errorf("the row of %s is %+v, its newest record is %+v", resource, l, rec)
		}
	}
	for resource := range c.last {
		if _, ok := leases[resource]; !ok {
			t.Errorf("%s has history but no row", resource)
		}
	}
}

// checkToys: a toy has a row if and only if its lease is held, with the same
// token.
func checkToys(t *testing.T, s *Store, leases map[string]leasehold.Lease) {
	t.Helper()
	rows, err := toyRows(t.Context(), s)
	if err != nil {
		t.Fatalf("Query() = %v", err)
	}
	for i := range hammerToys {
		resource := fmt.Sprintf("toy/%d", i)
		want := uint64(0)
		if l := leases[resource]; l.State.Locked() {
			want = l.Token
		}
		if rows[resource] != want {
			t.Errorf("the row of %s has token %d, its lease has %d", resource, rows[resource], want)
		}
	}
}
