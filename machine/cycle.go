package machine

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold"
)

// Cycle returns the shortest way from a holder over those it waits for back to
// itself, or nil. Waits returns whom a holder waits for; it is called once for each
// holder that can be reached.
func Cycle(from string, waits func(holder string) []leasehold.WaitEdge) []leasehold.WaitEdge {
	reached := map[string]leasehold.WaitEdge{}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, edge := range waits(queue[0]) {
			if edge.HeldBy == from {
				return wayBack(from, edge, reached)
			}
			if _, again := reached[edge.HeldBy]; !again {
				reached[edge.HeldBy] = edge
				queue = append(queue, edge.HeldBy)
			}
		}
	}
	return nil
}

// wayBack follows the edges from the last to the first.
func wayBack(from string, last leasehold.WaitEdge, reached map[string]leasehold.WaitEdge) []leasehold.WaitEdge {
	cycle := []leasehold.WaitEdge{last}
	for holder := last.Holder; holder != from; holder = cycle[0].Holder {
		cycle = append([]leasehold.WaitEdge{reached[holder]}, cycle...)
	}
	return cycle
}

// maxCycleText is how much of a cycle a record keeps, in bytes.
const maxCycleText = 8 << 10

// DetailCycle adds a cycle to the details of a record, as JSON in the form of the
// API's problems. Of a very long one it keeps the first part, and cycle_length says how
// many belong to it.
func DetailCycle(details map[string]string, cycle []leasehold.WaitEdge) {
	if len(cycle) == 0 {
		return
	}
	type edge struct {
		Holder string          `json:"holder"`
		Claim  leasehold.Claim `json:"claim"`
		HeldBy string          `json:"held_by"`
	}
	var parts []string
	size := 0
	for _, e := range cycle {
		text, _ := json.Marshal(edge(e)) // cannot fail: they are strings
		if size += len(text); size > maxCycleText && len(parts) > 0 {
			details["cycle_length"] = strconv.Itoa(len(cycle))
			break
		}
		parts = append(parts, string(text))
	}
	details["cycle"] = "[" + strings.Join(parts, ",") + "]"
}
