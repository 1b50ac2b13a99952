package console

import (
	"net/http"
	"testing"
)

// makeCycle lets ann wait for ben, and ben be refused to wait for ann.
func makeCycle(s *site) {
	s.t.Helper()
	s.acquireInSequence("left", "ann")
	s.acquireInSequence("right", "ben")
	s.wait(map[string]any{"resource": "right", "holder": "ann", "sequence": true})
	s.untilWaiting("right", 1)
	status, answer := s.call("POST", "/v1/leases/acquire", map[string]any{"resource": "left", "holder": "ben", "sequence": true, "blocking": true, "timeout_ms": 60000})
	if status != http.StatusConflict || answer["code"] != "deadlock" {
		s.t.Fatalf("the wait that closes the cycle = %d %v, want deadlock", status, answer)
	}
}

func (s *site) acquireInSequence(resource, holder string) {
	s.t.Helper()
	status, answer := s.call("POST", "/v1/leases/acquire", map[string]any{"resource": resource, "holder": holder, "ttl_seconds": 600, "sequence": true})
	if status != http.StatusCreated {
		s.t.Fatalf("acquire %q = %d %v", resource, status, answer)
	}
}

// The graph shows who waits for whom, and a cycle that was refused.
func TestGraph(t *testing.T) {
	s := start(t, nil)
	b := s.open("/console/waits")
	b.live()
	makeCycle(s)
	b.shows("#refused", "ben was refused")
	b.shows("#refused", "ann waits for right of ben")
	b.shows("#refused", "ben waits for left of ann")
	b.until(`document.querySelectorAll('#refused svg.graph .node').length === 2`)
	b.until(`document.querySelectorAll('#refused svg.graph .edge.refused').length === 1`)
	b.until(`document.querySelector('#refused svg.graph .edge.refused title').textContent === 'ben waits for left of ann'`)
	b.shows("#graph", "1 waiting")
	b.until(`document.querySelectorAll('#graph svg.graph .node').length === 2`)
	b.until(`document.querySelector('#graph svg.graph .edge title').textContent === 'ann waits for right of ben'`)
	b.shows("#graph table", "ann")
}
