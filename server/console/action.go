package console

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
)

// breakLease breaks the lease that the page showed.
func (v *visit) breakLease() error {
	f, err := v.operatorForm()
	if err != nil {
		return err
	}
	breaker, ok := v.s.store.(leasehold.Breaker)
	if !ok {
		return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "break"}
	}
	r := leasehold.BreakRequest{Resource: f.values.Get("resource"), Why: f.reason}
	if text := f.values.Get("period"); text != "" && text != "0" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0 && seconds <= leasehold.MaxBreakPeriod.Seconds()) {
			return leasehold.Invalid("period", "%.32q is not from 0 to %.0f seconds", text, leasehold.MaxBreakPeriod.Seconds())
		}
		r.Period = new(time.Duration(seconds * float64(time.Second)))
	}
	if err := r.Validate(); err != nil {
		return err
	}
	if err := v.checkShown(r.Resource, f.values.Get("token")); err != nil {
		return err
	}
	l, err := callStore(v, breaker.Break, r)
	if err != nil {
		return err
	}
	v.s.o.Logger.Info("broke a lease", "resource", l.Resource, "holder", l.Holder, "token", l.Token, "caller", v.caller.Name, "request_id", v.requestID)
	done := "broken"
	if l.State == leasehold.StateBreaking {
		done = "breaking"
	}
	return v.backTo("resource", "name", r.Resource, "done", done)
}

// checkShown refuses to break another lease than the page showed.
func (v *visit) checkShown(resource, token string) error {
	status, err := callStore(v, v.s.store.Status, resource)
	if err != nil {
		return err
	}
	if status.Lease != nil && status.Locked() && fmt.Sprint(status.Lease.Token) == token {
		return nil
	}
	if !status.Locked() {
		return leasehold.Invalid("token", "%.20s is of a lease that has ended meanwhile; there is nothing to break", token)
	}
	return leasehold.Invalid("token", "%.20s is not that of the lease that stands now; load the page again and look who holds it", token)
}

// releaseHolder force-releases a holder.
func (v *visit) releaseHolder() error {
	f, err := v.operatorForm()
	if err != nil {
		return err
	}
	releaser, ok := v.s.store.(leasehold.HolderReleaser)
	if !ok {
		return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "force_release"}
	}
	holder := f.values.Get("holder")
	if err := leasehold.CheckHolder(holder); err != nil {
		return err
	}
	n, err := callStore(v, func(ctx context.Context, holder string) (int, error) {
		return releaser.ReleaseHolder(ctx, holder, f.reason)
	}, holder)
	if err != nil {
		return err
	}
	v.s.o.Logger.Info("force-released a holder", "holder", holder, "released", n, "caller", v.caller.Name, "request_id", v.requestID)
	return v.backTo("holder", "name", holder, "done", "released")
}
