package remote_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// Every call, as the server sees it.
func TestRequests(t *testing.T) {
	id, other := leasehold.NewID(), leasehold.NewID()
	shown, proposed := id.Reveal(), other.Reveal()
	odd := `a/../b%2F"ü` + "'; --"
	var seen string
	s := server(t, nil, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = strings.TrimSpace(r.Method + " " + r.RequestURI + " " + string(body))
		refuse(w, &leasehold.Error{Reason: leasehold.ReasonForbidden})
	})
	calls := []struct {
		call func(ctx context.Context) error
		want string
	}{
		{func(ctx context.Context) error { _, err := s.Acquire(ctx, request()); return err },
			`POST /v1/leases/acquire {"resource":"r","holder":"h"}`},
		{func(ctx context.Context) error { r := request(); r.ID = id; _, err := s.Wait(ctx, r); return err },
			`POST /v1/leases/acquire {"resource":"r","holder":"h","lease_id":"` + shown + `","blocking":true}`},
		{func(ctx context.Context) error { _, err := s.Acquire(ctx, claims()); return err },
			`POST /v1/leases/acquire {"claims":[{"namespace":"repo","pattern":"src/**","mode":"exclusive"},{"pattern":"go.mod","mode":"shared"}],"holder":"h"}`},
		{func(ctx context.Context) error {
			r := claims()
			r.ID, r.Sequence, r.Timeout = id, true, time.Second
			_, err := s.Wait(ctx, r)
			return err
		},
			`POST /v1/leases/acquire {"claims":[{"namespace":"repo","pattern":"src/**","mode":"exclusive"},{"pattern":"go.mod","mode":"shared"}],"holder":"h",` +
				`"lease_id":"` + shown + `","blocking":true,"timeout_ms":1000,"sequence":true}`},
		{func(ctx context.Context) error {
			_, err := s.Release(ctx, leasehold.ReleaseRequest{ID: id, Note: "n"})
			return err
		}, `POST /v1/leases/release {"lease_id":"` + shown + `","note":"n"}`},
		{func(ctx context.Context) error {
			_, err := s.Transfer(ctx, leasehold.TransferRequest{ID: id, To: "x", Note: "n"})
			return err
		}, `POST /v1/leases/transfer {"lease_id":"` + shown + `","to_holder":"x","note":"n"}`},
		{func(ctx context.Context) error {
			_, err := s.List(ctx, leasehold.ListRequest{Namespace: "a b", Path: "src/**"})
			return err
		}, `GET /v1/leases?namespace=a+b&path=src%2F%2A%2A`},
		{func(ctx context.Context) error { _, err := s.Renew(ctx, leasehold.RenewRequest{ID: id}); return err },
			`POST /v1/leases/renew {"lease_id":"` + shown + `"}`},
		{func(ctx context.Context) error {
			_, err := s.Release(ctx, leasehold.ReleaseRequest{ID: id})
			return err
		},
			`POST /v1/leases/release {"lease_id":"` + shown + `"}`},
		{func(ctx context.Context) error {
			_, err := s.Change(ctx, leasehold.ChangeRequest{ID: id, Proposed: other})
			return err
		}, `POST /v1/leases/change {"lease_id":"` + shown + `","proposed_lease_id":"` + proposed + `"}`},
		{func(ctx context.Context) error {
			_, err := s.Transfer(ctx, leasehold.TransferRequest{ID: id, To: "x"})
			return err
		}, `POST /v1/leases/transfer {"lease_id":"` + shown + `","to_holder":"x"}`},
		{func(ctx context.Context) error {
			_, err := s.Break(ctx, leasehold.BreakRequest{Resource: "r"})
			return err
		},
			`POST /v1/leases/break {"resource":"r"}`},
		{func(ctx context.Context) error { _, err := s.Find(ctx, id); return err },
			`POST /v1/leases/get {"lease_id":"` + shown + `"}`},
		{func(ctx context.Context) error { _, err := s.Status(ctx, odd); return err },
			`GET /v1/resource?resource=a%2F..%2Fb%252F%22%C3%BC%27%3B+--`},
		{func(ctx context.Context) error { _, err := s.List(ctx, leasehold.ListRequest{}); return err },
			`GET /v1/leases`},
		{func(ctx context.Context) error {
			_, err := s.List(ctx, leasehold.ListRequest{Resource: "a b", Prefix: "a", Holder: "&", Limit: 5, Cursor: "c=",
				States: []leasehold.State{leasehold.StateActive, leasehold.StateBroken}, Metadata: map[string]string{"k.1": ""}})
			return err
		}, `GET /v1/leases?resource=a+b&prefix=a&holder=%26&status=active&status=broken&metadata.k.1=&limit=5&cursor=c%3D`},
		{func(ctx context.Context) error {
			at := time.Date(2026, 1, 31, 14, 0, 0, 5, time.FixedZone("east", 7200))
			_, err := s.History(ctx, leasehold.HistoryRequest{Resource: "r", Kind: leasehold.KindBroken, Since: at, Until: at.Add(time.Hour)})
			return err
		}, `GET /v1/history?resource=r&event=broken&since=2026-01-31T12%3A00%3A00.000000005Z&until=2026-01-31T13%3A00%3A00.000000005Z`},
		{func(ctx context.Context) error { _, err := s.ReleaseHolder(ctx, "a/b c", "why"); return err },
			`POST /v1/holders/a%2Fb%20c/release {"reason":"why"}`},
		{func(ctx context.Context) error { _, err := s.ReleaseHolder(ctx, "..", ""); return err },
			`POST /v1/holders/%2E%2E/release {}`},
		{func(ctx context.Context) error { _, err := s.ReleaseWithChildren(ctx, "a/b", "why"); return err },
			`POST /v1/holders/a%2Fb/release {"reason":"why","children":true}`},
		{func(ctx context.Context) error { _, err := s.Cleanup(ctx); return err }, `POST /v1/leases/cleanup {}`},
		{func(ctx context.Context) error { _, err := s.Settings(ctx); return err }, `GET /v1/config`},
		{func(ctx context.Context) error { _, err := s.SetSetting(ctx, "keep_history", false); return err },
			`PUT /v1/config/keep_history {"value":false}`},
		{func(ctx context.Context) error { _, err := s.SetSetting(ctx, "of_a_newer_server", "x"); return err },
			`PUT /v1/config/of_a_newer_server {"value":"x"}`},
	}
	for _, c := range calls {
		typed(t, c.want, c.call(t.Context()), leasehold.ReasonForbidden)
		if seen != c.want {
			t.Errorf("the server saw\n%s, want\n%s", seen, c.want)
		}
	}
}

// What breaks a limit costs no round trip, and the error is that of the store.
func TestInvalidInputIsNotSent(t *testing.T) {
	s := server(t, nil, func(w http.ResponseWriter, r *http.Request) { t.Errorf("the server was asked: %s %s", r.Method, r.URL) })
	ctx := t.Context()
	id := leasehold.NewID()
	_, acquire := s.Acquire(ctx, leasehold.AcquireRequest{})
	_, wait := s.Wait(ctx, leasehold.AcquireRequest{Resource: "r"})
	_, renew := s.Renew(ctx, leasehold.RenewRequest{})
	_, release := s.Release(ctx, leasehold.ReleaseRequest{})
	_, change := s.Change(ctx, leasehold.ChangeRequest{ID: id})
	_, transfer := s.Transfer(ctx, leasehold.TransferRequest{ID: id})
	_, broken := s.Break(ctx, leasehold.BreakRequest{Resource: "r", Period: new(time.Hour)})
	_, find := s.Find(ctx, leasehold.ID{})
	_, status := s.Status(ctx, "")
	_, list := s.List(ctx, leasehold.ListRequest{Limit: -1})
	_, history := s.History(ctx, leasehold.HistoryRequest{Kind: "x"})
	_, nobody := s.ReleaseHolder(ctx, "", "")
	_, why := s.ReleaseHolder(ctx, "h", "\n")
	_, noKey := s.SetSetting(ctx, "..", 1)
	_, noValue := s.SetSetting(ctx, leasehold.SettingDefaultTTL, "long")
	_, both := s.Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Claims: claims().Claims, Holder: "h"})
	_, pattern := s.Wait(ctx, leasehold.AcquireRequest{Claims: leasehold.Paths("repo", "a**"), Holder: "h"})
	_, path := s.List(ctx, leasehold.ListRequest{Path: "src"})
	long := strings.Repeat("n", leasehold.MaxNote+1)
	_, note := s.Release(ctx, leasehold.ReleaseRequest{ID: id, Note: long})
	_, handed := s.Transfer(ctx, leasehold.TransferRequest{ID: id, To: "x", Note: long})
	_, noJSON := s.SetSetting(ctx, "of_a_newer_server", func() {})
	for _, c := range []struct {
		err       error
		op, field string
	}{
		{acquire, "acquire", "resource"}, {wait, "acquire", "holder"}, {renew, "renew", "lease_id"}, {release, "release", "lease_id"},
		{change, "change", "proposed_lease_id"}, {transfer, "transfer", "to_holder"}, {broken, "break", "break_period_seconds"},
		{find, "find", "lease_id"}, {status, "status", "resource"}, {list, "list", "limit"}, {history, "history", "event"},
		{nobody, "force-release", "holder"}, {why, "force-release", "reason"},
		{noKey, "set", "key"}, {noValue, "set", leasehold.SettingDefaultTTL}, {noJSON, "set", "value"},
		{both, "acquire", "resource"}, {pattern, "acquire", "paths"}, {path, "list", "namespace"}, {note, "release", "note"}, {handed, "transfer", "note"},
	} {
		e := typed(t, c.op, c.err, leasehold.ReasonInvalid)
		if e.Op != c.op || e.Field != c.field {
			t.Errorf("%s of bad input = %+v, want the field %q", c.op, e, c.field)
		}
	}
}

// Answers that are JSON and still make no sense.
func TestAnswersThatMakeNoSense(t *testing.T) {
	var body atomic.Value // the client also asks in the background
	s := server(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body.Load())
	})
	ctx := t.Context()
	melted := `{"status":"melted"}`
	for _, c := range []struct {
		call string
		body string
		err  func() error
		want leasehold.Reason
	}{
		{"Acquire", melted, func() error { _, err := s.Acquire(ctx, request()); return err }, leasehold.ReasonUnknown},
		{"Acquire", grantOf("r", "other", "7"), func() error { _, err := s.Acquire(ctx, request()); return err }, leasehold.ReasonUnknown},
		{"Acquire", grantOf("other", "h", "7"), func() error { _, err := s.Acquire(ctx, request()); return err }, leasehold.ReasonUnknown},
		{"Acquire", grantOf("r", "h", "0"), func() error { _, err := s.Acquire(ctx, request()); return err }, leasehold.ReasonUnknown},
		{"Wait", melted, func() error { _, err := s.Wait(ctx, request()); return err }, leasehold.ReasonUnknown},
		{"Acquire of several", grantOf("__set__7", "h", "7"), func() error { _, err := s.Acquire(ctx, claims()); return err }, leasehold.ReasonUnknown},
		{"Acquire of several", `{"claims":` + claimsOf + `,` + grantOf("go.mod", "h", "7")[1:], func() error { _, err := s.Acquire(ctx, claims()); return err }, leasehold.ReasonUnknown},
		{"Acquire of several", `{"claims":` + strings.Replace(claimsOf, "shared", "exclusive", 1) + `,` + grantOf("__set__7", "h", "7")[1:],
			func() error { _, err := s.Acquire(ctx, claims()); return err }, leasehold.ReasonUnknown},
		{"Acquire of one", `{"claims":` + claimsOf + `,` + grantOf("r", "h", "7")[1:], func() error { _, err := s.Acquire(ctx, request()); return err }, leasehold.ReasonUnknown},
		{"Release", melted, func() error {
			_, err := s.Release(ctx, leasehold.ReleaseRequest{ID: leasehold.NewID()})
			return err
		}, leasehold.ReasonUnknown},
		{"Break", `{}`, func() error { _, err := s.Break(ctx, leasehold.BreakRequest{Resource: "r"}); return err }, leasehold.ReasonUnknown},
		{"Status", `{"lease":` + melted + `}`, func() error { _, err := s.Status(ctx, "r"); return err }, leasehold.ReasonUnavailable},
		{"List", `{"leases":[` + melted + `]}`, func() error { _, err := s.List(ctx, leasehold.ListRequest{}); return err }, leasehold.ReasonUnavailable},
		{"History", `{"history":[{}]}`, func() error { _, err := s.History(ctx, leasehold.HistoryRequest{}); return err }, leasehold.ReasonUnavailable},
		{"Settings", `[]`, func() error { _, err := s.Settings(ctx); return err }, leasehold.ReasonUnavailable},
		{"Cleanup", `7`, func() error { _, err := s.Cleanup(ctx); return err }, leasehold.ReasonUnknown},
	} {
		body.Store(c.body)
		typed(t, c.call, c.err(), c.want)
	}
}

// claims is a request for several.
func claims() leasehold.AcquireRequest {
	shared := leasehold.Claim{Pattern: "go.mod", Mode: leasehold.Shared}
	return leasehold.AcquireRequest{Claims: append(leasehold.Paths("repo", "src/**"), shared), Holder: "h"}
}

// claimsOf is what a grant of claims has.
const claimsOf = `[{"namespace":"repo","pattern":"src/**","mode":"exclusive"},{"pattern":"go.mod","mode":"shared"}]`

// grantOf is a grant that may not match the request.
func grantOf(resource, holder, token string) string {
	return `{"status":"active","lease_id":"` + leasehold.NewID().Reveal() + `","resource":"` + resource + `","holder":"` + holder + `","token":` + token + `}`
}
