package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// line is one thing that was measured, with the median of every peer.
type line struct {
	what    string
	medians []sample
	// least is the smallest ratio that meets the target, where more is better,
	// and most the largest, where less is; with neither there is no target.
	least, most float64
}

type report struct {
	rounds int
	lines  []line
}

// print writes the tables and returns whether every target was met.
func (r *report) print(w io.Writer, peers []*peer) bool {
	met := true
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "\nmedian of %d rounds\t", r.rounds)
	for _, p := range peers {
		fmt.Fprintf(out, "%s\t", p.name)
	}
	fmt.Fprint(out, "ratio\ttarget\t\n")
	for _, l := range r.lines {
		fmt.Fprintf(out, "%s\t", l.what)
		for _, m := range l.medians {
			fmt.Fprintf(out, "%.0f\t", m.value)
		}
		verdict, ok := l.compare(peers)
		fmt.Fprintf(out, "%s\t\n", verdict)
		met = met && ok
	}
	out.Flush()
	fmt.Fprintln(w, "\nThe ratio is that of durable leasehold to the better azurite.")
	r.printCores(w, peers)
	return met
}

// compare returns the ratio, the target and whether it is met.
func (l line) compare(peers []*peer) (string, bool) {
	ratio := l.ratio(peers)
	switch {
	case ratio == 0:
		return "\t", true
	case l.least > 0:
		return fmt.Sprintf("%.1f\t≥ %.0f: %s", ratio, l.least, yes(ratio >= l.least)), ratio >= l.least
	case l.most > 0:
		return fmt.Sprintf("%.2f\t≤ %.2f: %s", ratio, l.most, yes(ratio <= l.most)), ratio <= l.most
	}
	return fmt.Sprintf("%.1f\t", ratio), true
}

func yes(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}

// ratio compares the first peer with the best of azurite's; 0 if one of the two
// is not there.
func (l line) ratio(peers []*peer) float64 {
	best := 0.0
	for i, p := range peers {
		v := l.medians[i].value
		if !p.ours && (best == 0 || (l.most == 0) == (v > best)) {
			best = v
		}
	}
	if best == 0 || !peers[0].ours {
		return 0
	}
	return l.medians[0].value / best
}

// printCores prints what each side used: where the client takes most of the
// machine, the client is what is measured.
func (r *report) printCores(w io.Writer, peers []*peer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(out, "\ncores taken by client + server; server's µs for each\t")
	for _, p := range peers {
		fmt.Fprintf(out, "%s\t", p.name)
	}
	fmt.Fprintln(out)
	for _, l := range r.lines {
		if l.medians[0].clientCores == 0 {
			continue
		}
		fmt.Fprintf(out, "%s\t", l.what)
		for _, m := range l.medians {
			fmt.Fprintf(out, "%.2f + %.2f; %.0f\t", m.clientCores, m.serverCores, m.serverCores/m.value*1e6)
		}
		fmt.Fprintln(out)
	}
	out.Flush()
}
