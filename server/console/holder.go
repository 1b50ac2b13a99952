package console

import (
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
)

// holderData is what the page of a holder shows.
type holderData struct {
	Name       string
	Rows       []row
	More       bool // it has more leases than are shown
	Waits      []wait
	NoWaits    bool
	Listed     int // of all who wait, how many were looked at; zero: all
	NoList     bool
	Releasable bool
	History    []event
	NoHistory  bool
	Moment     *momentNote
	MaxReason  int
}

// holder shows the leases and waits of one holder.
func (v *visit) holder() error {
	name := v.query.Get("name")
	if err := leasehold.CheckHolder(name); err != nil {
		return err
	}
	d := holderData{Name: name, MaxReason: leasehold.MaxWhy}
	if !v.at.IsZero() {
		if err := v.holderAt(&d); err != nil {
			return err
		}
	} else if err := v.holderNow(&d); err != nil {
		return err
	}
	if err := v.addHolderHistory(&d); err != nil {
		return err
	}
	return v.render(200, "holder", page{Title: "Holder", Name: name, Current: "holder",
		Stream: "stream?" + values("of", "holder", "name", name), Data: d})
}

func (v *visit) holderNow(d *holderData) error {
	waits, err := v.waitTable()
	d.NoWaits = unsupported(err)
	if err != nil && !d.NoWaits {
		return err
	}
	d.Listed = waits.listed()
	for _, w := range newWaits(waits.list.Waits) {
		if w.Holder == d.Name {
			d.Waits = append(d.Waits, w)
		}
	}
	_, releases := v.s.store.(leasehold.HolderReleaser)
	d.Releasable = v.s.has(releases, powers.ForceRelease)
	lister, ok := v.s.store.(leasehold.Lister)
	if !ok {
		d.NoList = true
		return nil
	}
	page, err := callStore(v, lister.List, leasehold.ListRequest{Holder: d.Name, Limit: pageRows})
	if unsupported(err) {
		d.NoList = true
		return nil
	}
	if err != nil {
		return err
	}
	for _, l := range page.Leases {
		d.Rows = append(d.Rows, newRow(l, waits.byLease[l.Resource]))
	}
	d.More = page.Cursor != ""
	return nil
}

func (v *visit) addHolderHistory(d *holderData) error {
	historian, ok := v.s.store.(leasehold.Historian)
	if !ok {
		d.NoHistory = true
		return nil
	}
	r := leasehold.HistoryRequest{Holder: d.Name, Limit: shownRecords / 2, Until: v.until()}
	page, err := v.readHistory(historian, r)
	if unsupported(err) {
		d.NoHistory = true
		return nil
	}
	d.History = newEvents(page.Records)
	return err
}
