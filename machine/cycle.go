package machine

import "github.com/leasehold/leasehold"

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
