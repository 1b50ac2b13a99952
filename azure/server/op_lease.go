package server

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// lease runs one of the five lease operations on a blob or a container.
func (s *Server) lease(c *call) error {
	request, err := c.leaseRequest()
	if err != nil {
		return err
	}
	answer, err := s.catalog.Lease(c.r.Context(), c.ref, request)
	s.logLease(c, request.Action, err)
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

// What the log says of lease operations.
var leaseLines = map[catalog.Action]string{
	catalog.Acquire: "blob lease acquired",
	catalog.Renew:   "blob lease renewed",
	catalog.Change:  "blob lease changed",
	catalog.Release: "blob lease released",
	catalog.Break:   "blob lease broken",
}

// logLease logs what became of a lease operation, without its ids: a refusal by
// a lease too, and failures elsewhere.
func (s *Server) logLease(c *call, action catalog.Action, err error) {
	if err != nil && !errors.As(err, new(*catalog.LeaseError)) {
		return
	}
	level, line := slog.LevelInfo, leaseLines[action]
	if action == catalog.Renew && err == nil {
		level = slog.LevelDebug
	}
	if !s.log.Enabled(c.r.Context(), level) {
		return
	}
	attrs := c.attrs(slog.String("blob", c.ref.Blob))
	if err != nil {
		line = "blob lease refused"
		attrs = append(attrs, slog.String("code", c.azureError(err).Code))
	}
	s.log.LogAttrs(c.r.Context(), level, line, attrs...)
}

// wholeSeconds rounds up, so that a client that waits so long waits long enough.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((max(d, 0)+time.Second-1)/time.Second), 10)
}

// leaseRequest reads what the operation needs from the headers.
func (c *call) leaseRequest() (r catalog.LeaseRequest, err error) {
	r.Action, r.Final = catalog.Action(c.op.Value), c.api.finalEnds
	r.If, r.Caller = c.access.If, c.access.Caller
	switch r.Action {
	case catalog.Acquire:
		if r.Duration, err = c.leaseDuration(); err == nil {
			r.Proposed, err = c.leaseID("X-Ms-Proposed-Lease-Id")
		}
	case catalog.Change:
		if r.Proposed, err = c.requiredID("X-Ms-Proposed-Lease-Id"); err == nil {
			r.ID, err = c.requiredID("X-Ms-Lease-Id")
		}
	case catalog.Renew, catalog.Release:
		r.ID, err = c.requiredID("X-Ms-Lease-Id")
	case catalog.Break:
		r.Period, err = c.breakPeriod()
	}
	return r, err
}

func (c *call) requiredID(name string) (leasehold.ID, error) {
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

// azureLeaseCode names a refusal by a lease as Azure does.
func azureLeaseCode(e *catalog.LeaseError) string {
	switch e.Action {
	case catalog.Acquire:
		if e.Reason == leasehold.ReasonBreaking && e.SameID {
			return azerr.LeaseIsBreakingAndCannotBeAcquired
		}
		return azerr.LeaseAlreadyPresent
	case catalog.Renew:
		if e.SameID && (e.Reason == leasehold.ReasonBreaking || e.Reason == leasehold.ReasonBroken) {
			return azerr.LeaseIsBrokenAndCannotBeRenewed
		}
		return azerr.LeaseIdMismatchWithLeaseOperation
	case catalog.Change:
		switch {
		case !e.State.Locked():
			return azerr.LeaseNotPresentWithLeaseOperation
		case e.Reason == leasehold.ReasonBreaking:
			return azerr.LeaseIsBreakingAndCannotBeChanged
		}
		return azerr.LeaseIdMismatchWithLeaseOperation
	case catalog.Release:
		return azerr.LeaseIdMismatchWithLeaseOperation
	case catalog.Break:
		return azerr.LeaseNotPresentWithLeaseOperation
	}
	return guardCode(e)
}

// guardCode names the refusal of a read or a write by a lease.
func guardCode(e *catalog.LeaseError) string {
	switch {
	case e.Reason == leasehold.ReasonMissing:
		return azerr.LeaseIdMissing
	case e.Reason == leasehold.ReasonNotPresent && e.Container:
		return azerr.LeaseNotPresentWithContainerOperation
	case e.Reason == leasehold.ReasonNotPresent:
		return azerr.LeaseNotPresentWithBlobOperation
	case e.Container:
		return azerr.LeaseIdMismatchWithContainerOperation
	}
	return azerr.LeaseIdMismatchWithBlobOperation
}

// plainLeaseCode names a refusal by a lease in the plain API: LeaseNotFound if no
// lease can be meant, LeaseIdMismatch if another is there.
func plainLeaseCode(e *catalog.LeaseError) string {
	switch e.Action {
	case catalog.Acquire:
		return azureLeaseCode(e)
	case catalog.Read, catalog.Write:
		if guardCode(e) == azerr.LeaseIdMissing {
			return azerr.LeaseIdMissing
		}
		return azerr.LeaseIdMismatch
	}
	switch {
	case !e.State.Locked():
		return azerr.LeaseNotFound
	case e.SameID: // it is being broken
		return azureLeaseCode(e)
	}
	return azerr.LeaseIdMismatch
}
