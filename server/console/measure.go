package console

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
)

// figures are what the records of a time say.
type figures struct {
	From, To time.Time
	Records  int
	Cut      bool // there were more records than were read

	Granted, Ended, Failed int
	Kinds                  []counted
	Waits, Holds           distribution
	Longest                []waited
	Unmeasured             int // grants without a wait on record, at once or of a store that does not note it

	slots [][]int // grants, ends and failures in each slot of the time
}

type counted struct {
	Label string
	N     int
}

// waited is one wait, for the list of the longest.
type waited struct {
	At       time.Time
	Holder   string
	Resource string
	For      time.Duration
	Granted  bool
}

const (
	slots        = 48
	shownLongest = 12
)

// measure reads records, newest first.
func measure(records []leasehold.Record, from, to time.Time) figures {
	f := figures{From: from, To: to, Records: len(records), slots: make([][]int, slots)}
	for i := range f.slots {
		f.slots[i] = make([]int, 3)
	}
	type key struct {
		resource string
		token    uint64
	}
	started := map[key]time.Time{}
	kinds := map[leasehold.Kind]int{}
	for _, r := range slices.Backward(records) {
		kinds[r.Kind]++
		slot := f.slots[min(slots-1, max(0, int(float64(slots)*float64(r.At.Sub(from))/float64(to.Sub(from)))))]
		k := key{r.Resource, r.Token}
		wait, noted := r.Details["waited_ms"]
		switch {
		case r.Kind == leasehold.KindAcquired || r.Kind == leasehold.KindTransferred:
			slot[0]++
			f.Granted++
			started[k] = r.At
			if noted {
				f.addWait(r, wait, true)
			} else {
				f.Unmeasured++
			}
		case r.Why == string(leasehold.ReasonSuperseded): // the wait went on by another request
		case r.Kind == leasehold.KindFailed:
			slot[2]++
			f.Failed++
			f.addWait(r, wait, false)
		case r.Before.Locked() && !r.After.Locked():
			slot[1]++
			f.Ended++
			if at, ok := started[k]; ok {
				f.Holds.add(r.At.Sub(at))
				delete(started, k)
			}
		}
	}
	for kind, n := range kinds {
		f.Kinds = append(f.Kinds, counted{cmp.Or(eventTexts[kind], string(kind)), n})
	}
	slices.SortFunc(f.Kinds, func(a, b counted) int { return cmp.Or(b.N-a.N, cmp.Compare(a.Label, b.Label)) })
	slices.SortStableFunc(f.Longest, func(a, b waited) int { return cmp.Compare(b.For, a.For) })
	f.Longest = f.Longest[:min(len(f.Longest), shownLongest)]
	f.Waits.finish()
	f.Holds.finish()
	return f
}

func (f *figures) addWait(r leasehold.Record, text string, granted bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return
	}
	d := time.Duration(ms) * time.Millisecond
	f.Waits.add(d)
	f.Longest = append(f.Longest, waited{At: r.At, Holder: r.Holder, Resource: r.Resource, For: d, Granted: granted})
}

// distribution is how long something lasted.
type distribution struct {
	N                       int
	Least, Median, P95, Max time.Duration

	all []time.Duration
}

func (d *distribution) add(t time.Duration) { d.all = append(d.all, max(0, t)) }

func (d *distribution) finish() {
	d.N = len(d.all)
	if d.N == 0 {
		return
	}
	slices.Sort(d.all)
	d.Least, d.Max = d.all[0], d.all[d.N-1]
	d.Median, d.P95 = d.all[(d.N-1)/2], d.all[(d.N*95+99)/100-1]
}

// Text is a duration for people.
func (d distribution) Text(t time.Duration) string {
	if d.N == 0 {
		return "–"
	}
	return preciseText(t)
}

// borders are those between the bars of a distribution.
var borders = []struct {
	at    time.Duration
	label string
}{
	{10 * time.Millisecond, "10 ms"}, {100 * time.Millisecond, "100 ms"}, {time.Second, "1 s"}, {5 * time.Second, "5 s"},
	{30 * time.Second, "30 s"}, {2 * time.Minute, "2 min"}, {10 * time.Minute, "10 min"}, {time.Hour, "1 h"},
}

// chart draws how many lasted how long.
func (d distribution) chart(title string) bars {
	labels, values := make([]string, len(borders)+1), make([][]int, len(borders)+1)
	for i := range values {
		values[i] = []int{0}
		switch {
		case i == 0:
			labels[i] = "less than " + borders[i].label
		case i < len(borders):
			labels[i] = borders[i-1].label + " to " + borders[i].label
		default:
			labels[i] = borders[i-1].label + " or more"
		}
	}
	for _, t := range d.all {
		i := 0
		for i < len(borders) && t >= borders[i].at {
			i++
		}
		values[i][0]++
	}
	c := newBars(title, []string{"of them"}, labels, values)
	for i, b := range borders {
		place := ""
		if i%2 == 1 {
			place = "minor"
		}
		c.tick(i+1, b.label, place)
	}
	return c
}
