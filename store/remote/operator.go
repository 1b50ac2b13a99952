package remote

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// ReleaseHolder implements leasehold.HolderReleaser.
func (s *Store) ReleaseHolder(ctx context.Context, holder, why string) (int, error) {
	return s.releaseHolder(ctx, holder, wire.ForceRequest{Reason: why})
}

// ReleaseWithChildren implements leasehold.ChildReleaser.
func (s *Store) ReleaseWithChildren(ctx context.Context, holder, why string) (int, error) {
	return s.releaseHolder(ctx, holder, wire.ForceRequest{Reason: why, Children: true})
}

func (s *Store) releaseHolder(ctx context.Context, holder string, r wire.ForceRequest) (int, error) {
	err := leasehold.CheckHolder(holder)
	if err == nil {
		err = leasehold.BreakRequest{Resource: "any", Why: r.Reason}.Validate()
	}
	if err != nil {
		return 0, localError("force-release", "", err)
	}
	c := &call{op: "force-release", effect: writes, target: "/v1/holders/" + segment(holder) + "/release", body: r}
	var w wire.Forced
	if err := s.send(ctx, c, &w); err != nil {
		return 0, err
	}
	return w.Released, nil
}

// segment writes a name as one segment of a path. A name that is only dots
// would mean another path.
func segment(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}

// Cleanup implements leasehold.Cleaner.
func (s *Store) Cleanup(ctx context.Context) (leasehold.Cleaned, error) {
	var w wire.Cleaned
	if err := s.send(ctx, &call{op: "cleanup", effect: writes, target: "/v1/leases/cleanup"}, &w); err != nil {
		return leasehold.Cleaned{}, err
	}
	return leasehold.Cleaned(w), nil
}

// Settings implements leasehold.Configurer.
func (s *Store) Settings(ctx context.Context) ([]leasehold.Setting, error) {
	var w wire.Settings
	if err := s.send(ctx, &call{op: "settings", effect: reads, method: http.MethodGet, target: "/v1/config"}, &w); err != nil {
		return nil, err
	}
	settings := make([]leasehold.Setting, len(w.Settings))
	for i, setting := range w.Settings {
		settings[i] = setting.Setting()
	}
	return settings, nil
}

// SetSetting implements leasehold.Configurer. A key that is not known here goes
// to the server, which may be newer.
func (s *Store) SetSetting(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	if err := checkSetting(key, value); err != nil {
		return leasehold.Setting{}, localError("set", "", err)
	}
	c := &call{op: "set", effect: writes, method: http.MethodPut, target: "/v1/config/" + key, body: wire.SetRequest{Value: value}}
	var w wire.Setting
	if err := s.send(ctx, c, &w); err != nil {
		return leasehold.Setting{}, err
	}
	return w.Setting(), nil
}

func checkSetting(key string, value any) error {
	if key == "" || strings.ContainsFunc(key, notKey) {
		return leasehold.UnknownSetting(key)
	}
	for _, setting := range leasehold.DefaultSettings() {
		if setting.Key == key {
			_, err := setting.With(value)
			return err
		}
	}
	return nil
}

func notKey(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_')
}
