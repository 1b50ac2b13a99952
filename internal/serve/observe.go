package serve

import (
	"context"
	"errors"
	"net/http"

	"github.com/leasehold/leasehold"
	azure "github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/internal/observe"
	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/telemetry"
)

// observers are the hooks of the server's parts. The zero value observes nothing.
type observers struct {
	program   *observe.Program
	telemetry *telemetry.Telemetry
	api       api.Observer
	blobs     *azure.Observer
	engine    *local.Observer
	endings   []func() error
}

func newObservers(p *observe.Program) (o observers, err error) {
	if p == nil {
		return o, nil
	}
	var failed [4]error
	o.program = p
	o.telemetry, failed[0] = p.Telemetry()
	o.api, failed[1] = p.API()
	o.blobs, failed[2] = p.Blobs()
	o.engine, failed[3] = p.Engine()
	return o, errors.Join(failed[:]...)
}

// watchBackend puts telemetry around the store that the JSON API serves, and reads
// the figures of the embedded engine, if there is one.
func (o *observers) watchBackend(b *backend) error {
	if o.program == nil {
		return nil
	}
	if b.engine != nil {
		end, err := o.program.WatchEngine(b.engine)
		if err != nil {
			return err
		}
		o.endings = append(o.endings, end)
	}
	if b.engine != nil && b.store == leasehold.Store(b.engine) {
		o.telemetry.CountLeases(b.provider, func() int64 { return int64(b.engine.Figures().Leases) })
	}
	b.store = o.telemetry.Store(b.store, b.provider)
	return nil
}

// refused counts requests that the guard does not let through to the API.
func (o *observers) refused() func(int, leasehold.Reason) {
	if o.api == nil {
		return nil
	}
	return func(status int, code leasehold.Reason) {
		o.api.Ended(context.Background(), api.Observed{Route: api.NoRoute}, api.Outcome{Status: status, Code: code, Long: true})
	}
}

func (o *observers) watchAPI(s *api.Server) error {
	if o.program == nil {
		return nil
	}
	return o.program.WatchAPI(s)
}

// page serves the metrics; nil: there are none.
func (o *observers) page() http.Handler {
	if o.program == nil {
		return nil
	}
	return o.program.Page()
}

// close exports the last figures, and ends what reads the store.
func (o *observers) close() error {
	if o.program != nil {
		o.program.FlushMetrics()
	}
	var err error
	for _, end := range o.endings {
		err = errors.Join(err, end())
	}
	if o.telemetry != nil {
		err = errors.Join(err, o.telemetry.Close())
	}
	return err
}
