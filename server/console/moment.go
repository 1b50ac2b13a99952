package console

import (
	"time"

	"github.com/leasehold/leasehold"
)

// momentNote says how far a page of the past can be believed.
type momentNote struct {
	Text  string
	First time.Time // where the history that is kept begins; zero: not known
}

// moment is what the page is as of; zero is now.
func (v *visit) moment() time.Time {
	at, _ := parseMoment(v.query.Get("at"))
	return at
}

// parseMoment reads what a form's field or an address says. Without a zone it is UTC.
func parseMoment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999", "2006-01-02T15:04", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, leasehold.Invalid("at", "%.40q is no time; write it as 2026-01-31T14:03:07Z", text)
}

func (v *visit) leasesAt(d *leasesData, r leasehold.ListRequest, at time.Time) error { return nil }
func (v *visit) resourceAt(d *resourceData, at time.Time) error                      { return nil }
func (v *visit) holderAt(d *holderData, at time.Time) error                          { return nil }
