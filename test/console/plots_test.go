package console

import (
	"fmt"
	"testing"
	"time"
)

// The plots show what the test counted.
func TestPlots(t *testing.T) {
	s := start(t, nil)
	granted, ended, waited := 0, 0, 0
	for i := range 7 {
		id := s.acquire(fmt.Sprintf("p:%d", i), "anna", 600, nil)
		granted++
		if i%2 == 0 {
			s.release(id)
			ended++
		}
	}
	id := s.acquire("p:queue", "anna", 600, nil)
	granted++
	var answers []func() (int, map[string]any)
	for i := range 3 {
		answers = append(answers, s.wait(map[string]any{"resource": "p:queue", "holder": fmt.Sprintf("w:%d", i), "ttl_seconds": 600}))
		s.untilWaiting("p:queue", i+1)
	}
	failed := s.wait(map[string]any{"resource": "p:queue", "holder": "w:late", "timeout_ms": 50})
	if status, _ := failed(); status == 201 {
		t.Fatalf("w:late got the lease")
	}
	time.Sleep(100 * time.Millisecond) // waits that can be told from none
	s.release(id)
	ended++
	granted, waited = granted+1, waited+1 // one waiter has it; the others wait on
	b := s.open("/console/plots?window=5m&prefix=p:")
	for selector, want := range map[string]int{"#granted": granted, "#ended": ended, "#failed": 1} {
		b.until(fmt.Sprintf(`document.querySelector(%q).textContent === %q`, selector, fmt.Sprint(want)))
	}
	b.shows(".numbers", "Waits")
	cell := func(row, column int) string {
		return eval[string](b, fmt.Sprintf(`document.querySelectorAll('.numbers tbody tr')[%d].cells[%d].textContent`, row, column))
	}
	if got, want := cell(0, 1), fmt.Sprint(waited+1); got != want { // and the one that failed
		t.Errorf("the page counts %s waits, want %s", got, want)
	}
	if got, want := cell(1, 1), fmt.Sprint(ended); got != want {
		t.Errorf("the page counts %s ended leases, want %s", got, want)
	}
	for _, chart := range []struct {
		what, rects string
		want        int
	}{
		{"grants", ".plot.wide rect.s0", granted}, {"ends", ".plot.wide rect.s1", ended}, {"failed waits", ".plot.wide rect.s2", 1},
		{"waits", ".two figure:nth-child(1) rect", waited + 1}, {"holds", ".two figure:nth-child(2) rect", ended},
	} {
		sum := eval[int](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].reduce((n, e) => n + Number(e.textContent.match(/: (\d+)/)[1]), 0)`, chart.rects+" title"))
		if sum != chart.want {
			t.Errorf("the bars of %s add up to %d, want %d", chart.what, sum, chart.want)
		}
	}
	// Labels below the charts stand apart, also on a phone.
	for _, v := range []struct {
		window string
		width  int64
	}{{"5m", 1280}, {"5m", 360}, {"7d", 1280}, {"7d", 360}} {
		b.size(v.width, 800)
		b.visit("/console/plots?prefix=p:&window=" + v.window)
		touching := eval[int](b, `[...document.querySelectorAll('.chart')].map((c) => [...c.querySelectorAll('text')].map((e) => e.getBoundingClientRect()).filter((r) => r.width > 0))
			.reduce((n, boxes) => n + boxes.filter((r, i) => i > 0 && r.left < boxes[i - 1].right + 3).length, 0)`)
		if touching > 0 {
			t.Errorf("%d labels touch the one before them at %+v", touching, v)
		}
	}
	b.shows(".longest", "w:0")
	b.shows(".longest", "w:late")
	for range 2 { // ends the other waits
		s.call("POST", "/v1/leases/break", map[string]any{"resource": "p:queue"})
	}
	for _, answered := range answers {
		answered()
	}
}

// untilWaiting waits until so many stand in the queue.
func (s *site) untilWaiting(resource string, n int) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) { // the server lives in real time
		_, answer := s.call("GET", "/v1/leases/"+resource, nil)
		if waiters, ok := answer["waiters"].([]any); ok && len(waiters) == n {
			return
		}
	}
	s.t.Fatalf("%s never has %d waiters", resource, n)
}
