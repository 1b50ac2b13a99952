package telemetry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/telemetry"
)

// TestNoLeaseIDAnywhere searches everything that was exported for the ids of all
// leases, in every spelling.
func TestNoLeaseIDAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, &telemetry.Options{LeaseName: true, MetadataKeys: []string{"team"}})
		s := chaos.Wrap(newMemory(t), nil)
		ids := useEveryCall(t, f.t.Store(s, "redis"))
		m := newManager(t, f, s, &leasehold.Options{Metadata: map[string]string{"team": "blue"}})
		for range 3 {
			h, err := m.Acquire(t.Context(), "managed")
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, h.ID())
			_, err = m.TryAcquire(t.Context(), "managed")
			if !errors.Is(err, leasehold.ErrHeld) {
				t.Errorf("TryAcquire = %v, want ErrHeld", err)
			}
			h.Renew(t.Context())
			time.Sleep(time.Minute)
			h.Release(t.Context())
		}
		h, err := m.TryAcquire(t.Context(), "lost")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, h.ID())
		s.SetDown(true)
		<-h.Context().Done()
		synctest.Wait()
		all := f.exported()
		for _, name := range []string{"managed", "lost", "Lease.Lost", "blue", "lease_name"} {
			if !strings.Contains(all, name) {
				t.Errorf("%q was not exported, so the search proves nothing", name)
			}
		}
		for i, id := range ids {
			for _, spelling := range []string{id.Reveal(), strings.ReplaceAll(id.Reveal(), "-", ""), fmt.Sprint([16]byte(id))} {
				if strings.Contains(strings.ToLower(all), spelling) {
					t.Errorf("id %d was exported", i)
				}
			}
		}
	})
}

// useEveryCall makes every call with ids, most of which fail, and returns the ids.
func useEveryCall(t *testing.T, s leasehold.Store) (ids []leasehold.ID) {
	t.Helper()
	ids = []leasehold.ID{scriptedRequest.ID}
	for _, c := range scriptedCalls {
		c.call(t.Context(), s)
	}
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "direct", Holder: "h"})
	if err != nil {
		t.Fatal(err)
	}
	wrong := leasehold.NewID()
	s.Renew(t.Context(), leasehold.RenewRequest{Resource: "direct", ID: wrong})
	s.Release(t.Context(), leasehold.ReleaseRequest{Resource: "direct", ID: wrong})
	s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "other", Holder: "h", ID: g.ID})
	if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{Resource: "direct", ID: g.ID}); err != nil {
		t.Fatal(err)
	}
	return append(ids, g.ID, wrong)
}

// exported returns all metrics, spans and logs as text.
func (f *fixture) exported() string {
	f.Helper()
	spans, err := json.Marshal(tracetest.SpanStubsFromReadOnlySpans(f.spans.Ended()))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range f.spans.Ended() {
		spans = fmt.Append(spans, s.Name(), s.Attributes(), s.Events(), s.Status())
	}
	return fmt.Sprint(f.series(), f.logs.String(), string(spans))
}
