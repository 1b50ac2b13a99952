package console

import (
	"context"
	"fmt"
	"strconv"

	"github.com/leasehold/leasehold"
)

// settingsData is what the page of settings shows.
type settingsData struct {
	Unsupported bool
	Settings    []setting
	Changes     []event // the latest first
	MaxReason   int
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
	if historian, ok := v.s.store.(leasehold.Historian); ok && !d.Unsupported {
		page, err := v.readHistory(historian, leasehold.HistoryRequest{Kind: leasehold.KindConfigured, Limit: shownChanges})
		if err != nil && !unsupported(err) {
			return err
		}
		d.Changes = newEvents(page.Records)
	}
	return v.render(200, "settings", page{Title: "Settings", Current: "settings", Data: d})
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
