package console

import (
	"context"
	"fmt"
	"strconv"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/past"
)

// settingsData is what the page of settings shows.
type settingsData struct {
	Unsupported bool
	Settings    []setting
	Changes     []event // the latest first
	MaxReason   int
	Moment      *momentNote
}

type setting struct {
	leasehold.Setting
}

// Boolean reports whether the setting is true or false.
func (s setting) Boolean() bool { return s.Type() == "boolean" }

// Changed reports whether the setting differs from its default.
func (s setting) Changed() bool { return s.Value != s.Default }

const shownChanges = 20

// settings shows the run-time settings and their latest changes.
func (v *visit) settings() error {
	d := settingsData{MaxReason: leasehold.MaxWhy}
	configurer, ok := v.s.store.(leasehold.Configurer)
	d.Unsupported = !ok
	if ok {
		all, err := callStore(v, func(ctx context.Context, _ struct{}) ([]leasehold.Setting, error) { return configurer.Settings(ctx) }, struct{}{})
		d.Unsupported = unsupported(err)
		if err != nil && !d.Unsupported {
			return err
		}
		for _, s := range all {
			d.Settings = append(d.Settings, setting{s})
		}
	}
	if !v.at.IsZero() && !d.Unsupported {
		if err := v.settingsAt(&d); err != nil {
			return err
		}
	}
	if historian, ok := v.s.store.(leasehold.Historian); ok && !d.Unsupported {
		page, err := v.readHistory(historian, leasehold.HistoryRequest{Kind: leasehold.KindConfigured, Limit: shownChanges, Until: v.until()})
		if err != nil && !unsupported(err) {
			return err
		}
		d.Changes = newEvents(page.Records)
	}
	return v.render(200, "settings", page{Title: "Settings", Current: "settings", Data: d})
}

// settingsAt takes back what was changed after the page's moment. Those records are kept
// whatever the settings say, so only a purge can have lost one.
func (v *visit) settingsAt(d *settingsData) error {
	later, cut, err := v.readRecords(leasehold.HistoryRequest{Kind: leasehold.KindConfigured, Since: v.until()})
	if unsupported(err) {
		d.Moment = &momentNote{Text: noPast + " These are the settings of now."}
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range later { // newest first
		for i := range d.Settings {
			if s := &d.Settings[i]; s.Key == r.Details["key"] {
				s.Value = settingValue(r.Details["before"])
			}
		}
	}
	d.Moment = v.note(past.Retained{}, past.Certain, "")
	if d.Moment.Text == pastText {
		d.Moment.Text = "Made from the records of changes."
	}
	if cut {
		d.Moment.Text = "This is not certain: there are more changes than a page reads."
	}
	return nil
}

// changeSetting changes one setting.
func (v *visit) changeSetting() error {
	f, err := v.operatorForm()
	if err != nil {
		return err
	}
	configurer, ok := v.s.store.(leasehold.Configurer)
	if !ok {
		return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "set"}
	}
	key, text := f.values.Get("key"), f.values.Get("value")
	changed, err := callStore(v, func(ctx context.Context, key string) (leasehold.Setting, error) {
		return configurer.SetSetting(leasehold.WithWhy(ctx, f.reason), key, settingValue(text))
	}, key)
	if err != nil {
		return err
	}
	v.s.o.Logger.Info("changed a setting", "key", changed.Key, "value", fmt.Sprint(changed.Value), "caller", v.caller.Name, "request_id", v.requestID)
	return v.backTo("settings", "done", "set")
}

// settingValue is what a form field says. The store refuses what is neither.
func settingValue(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if b, err := strconv.ParseBool(text); err == nil {
		return b
	}
	return text
}
