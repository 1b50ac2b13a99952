package console

import (
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/past"
)

// waitsData is what the page of those who wait shows.
type waitsData struct {
	Unsupported bool
	Waits       []wait
	Total       int
	Graph       graph
	Refused     []refusal // cycles, the latest first
	Since       time.Time // since when refusals are noted
	NoRefusals  bool      // the store does not report them
	Moment      *momentNote
	Past        []pastWait // who waited at the page's moment
}

// pastWait is a wait of the past for people.
type pastWait struct {
	past.Wait
	Labels []string // what it was for
	Waited float64  // seconds, until the page's moment
}

// wait is a waiter for people.
type wait struct {
	leasehold.Wait
	Labels []string // what it waits for
	Waited float64  // seconds
}

func newWaits(list []leasehold.Wait) []wait {
	waits := make([]wait, len(list))
	for i, w := range list {
		waits[i] = wait{Wait: w, Labels: []string{w.Resource}, Waited: max(0, time.Since(w.Since).Seconds())}
		if len(w.Claims) > 0 {
			waits[i].Labels = claimTexts(w.Claims)
		}
	}
	return waits
}

// waits shows who waits for whom.
func (v *visit) waits() error {
	if !v.at.IsZero() {
		var d waitsData
		if err := v.waitsAt(&d); err != nil {
			return err
		}
		return v.render(200, "waits", page{Title: "Waiting", Current: "waits", Data: d})
	}
	list, err := v.waitTable()
	d := waitsData{Unsupported: unsupported(err), Total: list.list.Total}
	if err != nil && !d.Unsupported {
		return err
	}
	d.Waits = newWaits(list.list.Waits[:min(len(list.list.Waits), pageRows)])
	d.Graph = newGraph(waitEdges(list.list.Waits))
	d.NoRefusals = !v.s.watches()
	d.Refused, d.Since = v.s.refusals.latest()
	return v.render(200, "waits", page{Title: "Waiting", Current: "waits", Stream: "stream?of=waits", Data: d})
}
