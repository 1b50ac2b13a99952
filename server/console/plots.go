package console

import (
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

// plotsData is what the page of plots shows.
type plotsData struct {
	Unsupported  bool
	Window       string
	Windows      []window
	Prefix       string
	Figures      figures
	Rates        bars
	Waits, Holds bars
}

// window is a length of time that can be chosen.
type window struct {
	Key, Label string
	Length     time.Duration
}

var windows = []window{
	{"5m", "5 minutes", 5 * time.Minute}, {"1h", "1 hour", time.Hour}, {"6h", "6 hours", 6 * time.Hour},
	{"24h", "1 day", 24 * time.Hour}, {"7d", "7 days", 7 * 24 * time.Hour},
}

// maxMeasured is how many records a page of plots reads, newest first.
const maxMeasured = 20_000

// plots shows waits, hold times and rates.
func (v *visit) plots() error {
	d := plotsData{Windows: windows, Window: v.query.Get("window"), Prefix: v.query.Get("prefix")}
	i := slices.IndexFunc(windows, func(w window) bool { return w.Key == d.Window })
	if i < 0 {
		i, d.Window = 1, "1h"
	}
	to := time.Now()
	if !v.at.IsZero() {
		to = v.until()
	}
	from := to.Add(-windows[i].Length)
	records, cut, err := v.readRecords(leasehold.HistoryRequest{Prefix: d.Prefix, Since: from, Until: v.until()})
	d.Unsupported = unsupported(err)
	if err != nil && !d.Unsupported {
		return err
	}
	if cut && len(records) > 0 {
		from = records[len(records)-1].At
	}
	d.Figures = measure(records, from, to)
	d.Figures.Cut = cut
	d.draw()
	return v.render(200, "plots", page{Title: "Plots", Current: "plots",
		Stream: "stream?" + values("of", "plots", "prefix", d.Prefix), Data: d})
}

func (d *plotsData) draw() {
	f := &d.Figures
	labels := make([]string, slots)
	layout := "15:04"
	if f.To.Sub(f.From) > 48*time.Hour {
		layout = "Jan 2 15h"
	} else if f.To.Sub(f.From) < 10*time.Minute {
		layout = "15:04:05"
	}
	at := func(slot int) string {
		return f.From.Add(f.To.Sub(f.From) * time.Duration(slot) / slots).UTC().Format(layout)
	}
	for i := range labels {
		labels[i] = at(i)
	}
	d.Rates = newBars("Grants, ends and failed waits over time", []string{"granted", "ended", "failed waits"}, labels, f.slots)
	d.Rates.Wide = true
	places := []string{"first", "minor", "", "minor", "", "minor", "last"}
	if len(layout) > len("15:04:05") { // a narrow chart has room for three
		places = []string{"first", "minor", "minor", "", "minor", "minor", "last"}
	}
	for i, place := range places {
		slot := i * slots / (len(places) - 1)
		d.Rates.tick(slot, at(slot), place)
	}
	d.Waits = f.Waits.chart("How long waiters waited")
	d.Holds = f.Holds.chart("How long leases were held")
}

// PerMinute is a rate.
func (f figures) PerMinute(n int) float64 {
	return float64(n) / max(f.To.Sub(f.From).Minutes(), 1.0/60)
}

// readRecords reads the history from newest to oldest, up to maxMeasured records.
func (v *visit) readRecords(r leasehold.HistoryRequest) (records []leasehold.Record, cut bool, err error) {
	historian, ok := v.s.store.(leasehold.Historian)
	if !ok {
		return nil, false, &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "history"}
	}
	r.Limit = leasehold.MaxPage
	if err := r.Validate(); err != nil {
		return nil, false, err
	}
	for {
		page, err := v.readHistory(historian, r)
		if err != nil {
			return nil, false, err
		}
		records = append(records, page.Records...)
		if page.Cursor == "" {
			return records, false, nil
		}
		if len(records) >= maxMeasured {
			return records, true, nil
		}
		r.Cursor = page.Cursor
	}
}
