package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

// leaseOperations are those on leases of blobs and of containers, which are
// alike. Breaking a lease is allowed to whoever may delete what it protects.
var leaseOperations = func() []operation {
	var all []operation
	for _, action := range []catalog.Action{catalog.Acquire, catalog.Renew, catalog.Change, catalog.Release, catalog.Break} {
		o := operation{
			Method: "PUT", Comp: "lease", Header: "x-ms-lease-action", Value: string(action),
			Write: true, Need: sign.Need{Permissions: "w"}, Handle: (*Server).lease,
		}
		blob, container := o, o
		blob.Level, blob.Name = atBlob, "Lease Blob: "+o.Value
		container.Level, container.Restype, container.Name = atContainer, "container", "Lease Container: "+o.Value
		container.Need.AccountOnly = true
		if action == catalog.Break {
			blob.Need = sign.Need{Permissions: "wd"}
			container.Need = sign.Need{Permissions: "wd"}
		}
		all = append(all, blob, container)
	}
	return all
}()

// lease carries out one of the five lease operations.
func (s *Server) lease(c *call) error {
	request, err := c.leaseRequest()
	if err != nil {
		return err
	}
	answer, err := s.catalog.Lease(c.r.Context(), c.ref, request)
	if err != nil {
		return err
	}
	c.set("Etag", answer.Ticks.ETag())
	c.set("Last-Modified", httpTime(answer.Ticks))
	switch request.Action {
	case catalog.Acquire:
		c.set("X-Ms-Lease-Id", answer.ID.Reveal())
		return c.answer(http.StatusCreated)
	case catalog.Renew, catalog.Change:
		c.set("X-Ms-Lease-Id", answer.ID.Reveal())
	case catalog.Break:
		c.set("X-Ms-Lease-Time", wholeSeconds(answer.Remaining))
		return c.answer(http.StatusAccepted)
	}
	return c.answer(http.StatusOK)
}

// wholeSeconds rounds up, so that whoever waits that long waits long enough.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((max(d, 0)+time.Second-1)/time.Second), 10)
}

// leaseRequest reads what the operation needs from the headers.
func (c *call) leaseRequest() (r catalog.LeaseRequest, err error) {
	r.Action, r.Caller, r.Final = catalog.Action(c.op.Value), c.caller(), c.dialect.finalEnds
	if r.If, err = c.conditions(); err != nil {
		return r, err
	}
	switch r.Action {
	case catalog.Acquire:
		if r.Duration, err = c.leaseDuration(); err == nil {
			r.Proposed, err = c.leaseID("X-Ms-Proposed-Lease-Id")
		}
	case catalog.Change:
		if r.Proposed, err = c.mustHaveID("X-Ms-Proposed-Lease-Id"); err == nil {
			r.ID, err = c.mustHaveID("X-Ms-Lease-Id")
		}
	case catalog.Renew, catalog.Release:
		r.ID, err = c.mustHaveID("X-Ms-Lease-Id")
	case catalog.Break:
		r.Period, err = c.breakPeriod()
	}
	return r, err
}

func (c *call) mustHaveID(name string) (leasehold.ID, error) {
	if first(c.r.Header, name) == "" {
		return leasehold.ID{}, noHeader(name)
	}
	return c.leaseID(name)
}

// The limits of leases on blobs and containers, in seconds.
const (
	minLease, maxLease = 15, 60
	maxBreak           = 60
)

func (c *call) leaseDuration() (time.Duration, error) {
	const name = "X-Ms-Lease-Duration"
	text := first(c.r.Header, name)
	if text == "" {
		return 0, noHeader(name)
	}
	seconds, err := strconv.Atoi(text)
	switch {
	case err == nil && seconds == -1:
		return leasehold.Infinite, nil
	case err != nil || seconds < minLease || seconds > maxLease:
		return 0, badHeader(name, "it must be -1 or a number of seconds from %d to %d", minLease, maxLease)
	}
	return time.Duration(seconds) * time.Second, nil
}

func (c *call) breakPeriod() (*time.Duration, error) {
	const name = "X-Ms-Lease-Break-Period"
	r := headerReader{writes: c.op.Write}
	text := r.text(c.r.Header, name)
	if text == "" || r.err != nil {
		return nil, r.err
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 0 || seconds > maxBreak {
		return nil, badHeader(name, "it must be a number of seconds from 0 to %d", maxBreak)
	}
	period := time.Duration(seconds) * time.Second
	return &period, nil
}
