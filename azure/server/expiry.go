package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// setExpiry says when a snapshot goes by itself. The headers are those that
// Azure has for files; blobs themselves do not expire here.
func (s *Server) setExpiry(c *call) error {
	if !c.ref.IsSnapshot() {
		return azerr.New(azerr.NotImplemented).With("This server lets only snapshots expire: name one with snapshot=.")
	}
	access, err := c.access()
	if err != nil {
		return err
	}
	if access.If != (catalog.Conditions{}) {
		return azerr.New(azerr.ConditionHeadersNotSupported)
	}
	at, err := c.expiry()
	if err != nil {
		return err
	}
	if err := s.catalog.SetExpiry(c.r.Context(), c.ref, at); err != nil {
		return err
	}
	return c.answer(http.StatusOK)
}

// expiry reads when something is to go; nil: never.
func (c *call) expiry() (*catalog.Ticks, error) {
	const option, when = "x-ms-expiry-option", "x-ms-expiry-time"
	text := c.r.Header.Get(when)
	switch c.r.Header.Get(option) {
	case "":
		return nil, noHeader(option)
	case "NeverExpire":
		return nil, nil
	case "RelativeToNow":
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ms <= 0 || ms > int64(100*365*24*time.Hour/time.Millisecond) {
			return nil, badHeader(when, "it must be a number of milliseconds from now, up to a hundred years")
		}
		return new(catalog.TicksOf(c.began.Add(time.Duration(ms) * time.Millisecond))), nil
	case "Absolute":
		at, err := http.ParseTime(text)
		if err != nil || !at.After(c.began) {
			return nil, badHeader(when, "it must be a date in the future, as in Mon, 02 Jan 2006 15:04:05 GMT")
		}
		return new(catalog.TicksOf(at)), nil
	}
	return nil, badHeader(option, "it must be RelativeToNow, Absolute or NeverExpire")
}
