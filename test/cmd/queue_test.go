//go:build unix

package cmd_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold/test/process"
)

// waiter is a request that waits.
type waiter struct {
	done   chan answer // closed without one if the request fails
	cancel context.CancelFunc
}

// join starts a waiter and returns when it is the n-th in line.
func (s *binaryServer) join(resource, holder, more string, n int) waiter {
	s.t.Helper()
	w := s.wait(resource, holder, more)
	process.Eventually(s.t, fmt.Sprintf("%s is number %d in line", holder, n), func() bool {
		return s.status(resource).at(fmt.Sprintf("waiters.%d.holder", n-1)) == holder
	})
	return w
}

func (s *binaryServer) wait(resource, holder, more string) waiter {
	ctx, cancel := context.WithCancel(s.t.Context())
	w := waiter{make(chan answer, 1), cancel}
	go func() {
		defer close(w.done)
		if a, err := s.trySend(ctx, http.MethodPost, "/v1/leases/acquire", acquireBody(resource, holder, `,"blocking":true`+more)); err == nil {
			w.done <- a
		}
	}()
	return w
}

func (s *binaryServer) answered(w waiter) answer {
	s.t.Helper()
	select {
	case a, ok := <-w.done:
		if !ok {
			s.t.Fatal("the request got no answer")
		}
		return a
	case <-time.After(process.Timeout):
		s.t.Fatalf("a waiter has no answer after %v", process.Timeout)
	}
	return answer{}
}

// Two hundred acquire the same resource at the same moment: one has it.
func TestManyClients(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	const clients = 200
	answers := make(chan answer, clients)
	var ready, all sync.WaitGroup
	begin := make(chan struct{})
	for i := range clients {
		ready.Add(1)
		all.Go(func() {
			ready.Done()
			<-begin
			a, err := s.trySend(t.Context(), http.MethodPost, "/v1/leases/acquire", acquireBody("the one", fmt.Sprint("h", i), ""))
			if err != nil {
				t.Errorf("acquire: %v", err)
			}
			answers <- a
		})
	}
	ready.Wait()
	close(begin)
	all.Wait()
	close(answers)
	seen := map[int]int{}
	winner, refused := "", map[string]int{}
	for a := range answers {
		seen[a.status]++
		if a.status == http.StatusCreated {
			winner = a.at("holder")
		} else {
			refused[a.at("current.holder")]++
		}
	}
	if seen[http.StatusCreated] != 1 || seen[http.StatusConflict] != clients-1 {
		t.Errorf("%d at once were answered %v, want one 201 and 409 for the others", clients, seen)
	}
	if refused[winner] != clients-1 {
		t.Errorf("the refusals name %v, want %q in all of them", refused, winner)
	}
}

const patient = `,"timeout_ms":600000`

// A hundred in line get the lease one after the other, each as soon as the one
// before releases it.
func TestQueueInOrder(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	id := s.acquire("r", "first", "").at("lease_id")
	const waiters = 100
	line := make([]waiter, waiters)
	for i := range line {
		line[i] = s.join("r", fmt.Sprint("w", i), patient, i+1)
	}
	urgent := s.join("r", "urgent", `,"priority":7`+patient, 1)
	st := s.status("r")
	if st.size("waiters") != waiters+1 || st.at("waiters.0.priority") != "7" || st.at("waiters.50.position") != "51" || st.at("waiters.50.holder") != "w49" || st.at("waiters.50.since") == "" {
		t.Errorf("the queue is %.400s, want urgent, w0, w1 …", st.body)
	}
	if p := s.post("/v1/leases/acquire", acquireBody("r", "impatient", "")); p.at("queue_length") != fmt.Sprint(waiters+1) {
		t.Errorf("the refusal is %s, want queue_length %d", p.body, waiters+1)
	}
	token := 1.0
	var handed, plain time.Duration
	for i, w := range append([]waiter{urgent}, line...) {
		begin := time.Now()
		s.release(id)
		g := s.answered(w).want(http.StatusCreated)
		handed += time.Since(begin)
		if g.number("token") != token+1 || g.at("waited_ms") == "" {
			t.Fatalf("grant %d is %s, want the token after %v, and waited_ms", i, g.body, token)
		}
		id, token = g.at("lease_id"), g.number("token")
		begin = time.Now()
		s.release(s.acquire("other", "b", "").at("lease_id"))
		token++
		plain += time.Since(begin)
	}
	// A server that polled, be it five times a second, would take 100 ms for each,
	// and a pair without waiting takes one or two. Both are slow on a busy machine.
	if handed > 20*plain {
		t.Errorf("%d hand-offs took %v, and as many pairs without waiting %v, which looks like polling", waiters+1, handed, plain)
	}
}

// A client that hangs up is out of the queue, and never gets the lease.
func TestWaiterHangsUp(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	id := s.acquire("r", "first", "").at("lease_id")
	gone := s.join("r", "gone", patient, 1)
	stays := s.join("r", "stays", patient, 2)
	gone.cancel()
	process.Eventually(t, "the one who left is out of the queue, long before its time is up", func() bool {
		st := s.status("r")
		return st.size("waiters") == 1 && st.at("waiters.0.holder") == "stays" && st.at("waiters.0.position") == "1"
	})
	s.release(id)
	if g := s.answered(stays).want(http.StatusCreated); g.at("token") != "2" {
		t.Errorf("the next grant is %s, want token 2: none in between", g.body)
	}
	if m := s.send(http.MethodGet, "/metrics", ""); !strings.Contains(m.body, "\nleasehold_waiters 0\n") {
		t.Errorf("the metrics still count waiters")
	}
}

// The position of a request with an id is kept for the next request with it.
func TestKeptPosition(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	id := s.acquire("r", "first", "").at("lease_id")
	const mine = "33333333-3333-4333-8333-333333333333"
	again := `,"lease_id":"` + mine + `"` + patient

	left := s.join("r", "patient", again, 1)
	other := s.join("r", "other", patient, 2)
	left.cancel()
	process.Eventually(t, "the place is absent", func() bool { return s.status("r").at("waiters.0.holder") == "other" })
	back := s.join("r", "patient", again, 1)
	newer := s.wait("r", "patient", again)
	s.answered(back).wantCode(http.StatusConflict, "superseded")
	if st := s.status("r"); st.size("waiters") != 2 || st.at("waiters.0.holder") != "patient" {
		t.Errorf("the queue is %s, want patient before other", st.body)
	}
	s.release(id)
	g := s.answered(newer).want(http.StatusCreated)
	if g.at("lease_id") != mine || g.at("holder") != "patient" {
		t.Errorf("the grant is %s, want patient with the id that it proposed", g.body)
	}
	s.release(mine)
	s.answered(other).want(http.StatusCreated)
}

func TestWaitTimesOut(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	s.acquire("r", "first", "")
	begin := time.Now()
	p := s.answered(s.wait("r", "hasty", `,"timeout_ms":300`)).wantCode(http.StatusConflict, "acquire_timeout")
	if waited := p.number("waited_ms"); waited < 300 || time.Since(begin) < 300*time.Millisecond || waited > float64(process.Timeout.Milliseconds()) {
		t.Errorf("after %v the answer is %s, want it after 300 ms with waited_ms", time.Since(begin), p.body)
	}
	if st := s.status("r"); st.size("waiters") != 0 {
		t.Errorf("the queue is %s, want nobody", st.body)
	}
	h := s.send(http.MethodGet, "/v1/history?event=failed", "").want(http.StatusOK)
	if h.size("history") != 1 || h.at("history.0.holder") != "hasty" {
		t.Errorf("the history of failures is %s, want the one of hasty", h.body)
	}
}
