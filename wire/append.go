package wire

import "strconv"

// The shapes that travel most often write themselves: byte for byte what
// encoding/json would write, in a fraction of its time. What it would refuse
// they refuse too.

// AppendJSON appends what json.Marshal would write.
func (w Lease) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: append(b, '{')}
	e.lease(w)
	return e.end()
}

// AppendJSON appends what json.Marshal would write.
func (w Grant) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: append(b, '{')}
	e.lease(w.Lease)
	if w.Idempotent {
		e.key("idempotent")
		e.b = append(e.b, "true"...)
	}
	if w.WaitedMS != nil {
		e.key("waited_ms")
		e.b = strconv.AppendInt(e.b, *w.WaitedMS, 10)
	}
	return e.end()
}

// AppendJSON appends what json.Marshal would write.
func (w Released) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: append(b, '{')}
	e.key("success")
	e.b = strconv.AppendBool(e.b, w.Success)
	e.lease(w.Lease)
	return e.end()
}

func (e *encoder) lease(w Lease) {
	e.optional("lease_id", w.LeaseID)
	e.text("resource", w.Resource)
	e.text("holder", w.Holder)
	e.key("token")
	e.b = strconv.AppendUint(e.b, w.Token, 10)
	e.text("status", w.Status)
	e.number("ttl_seconds", w.TTL)
	e.number("remaining_seconds", w.Remaining)
	e.key("acquired_at")
	e.time(w.AcquiredAt)
	e.key("renewed_at")
	e.time(w.RenewedAt)
	e.key("expires_at")
	if w.ExpiresAt != nil {
		e.time(*w.ExpiresAt)
	} else {
		e.b = append(e.b, "null"...)
	}
	e.whole("renewals", int64(w.Renewals))
	e.whole("max_renewals", int64(w.MaxRenewals))
	e.pairs("metadata", w.Metadata)
}

// AppendJSON appends what json.Marshal would write.
func (w AcquireRequest) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: append(b, '{')}
	e.optional("resource", w.Resource)
	e.optional("file_path", w.FilePath)
	e.optional("holder", w.Holder)
	e.optional("agent_id", w.AgentID)
	e.optionalNumber("ttl_seconds", w.TTL)
	e.optionalNumber("duration", w.Duration)
	e.optional("lease_id", w.LeaseID)
	if len(w.Metadata) > 0 {
		e.pairs("metadata", w.Metadata)
	}
	if w.MaxRenewals != nil {
		e.whole("max_renewals", int64(*w.MaxRenewals))
	}
	if w.Blocking {
		e.key("blocking")
		e.b = append(e.b, "true"...)
	}
	if w.TimeoutMS != nil {
		e.whole("timeout_ms", *w.TimeoutMS)
	}
	if w.Priority != 0 {
		e.whole("priority", int64(w.Priority))
	}
	return e.end()
}

// AppendJSON appends what json.Marshal would write.
func (w RenewRequest) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: append(b, '{')}
	e.text("lease_id", w.LeaseID)
	e.optional("resource", w.Resource)
	e.optional("file_path", w.FilePath)
	e.optionalNumber("ttl_seconds", w.TTL)
	e.optionalNumber("duration", w.Duration)
	e.optional("holder", w.Holder)
	e.optional("agent_id", w.AgentID)
	e.optionalToken(w.Token)
	return e.end()
}

// AppendJSON appends what json.Marshal would write.
func (w ReleaseRequest) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: append(b, '{')}
	e.text("lease_id", w.LeaseID)
	e.optional("resource", w.Resource)
	e.optional("file_path", w.FilePath)
	e.optional("holder", w.Holder)
	e.optional("agent_id", w.AgentID)
	e.optionalToken(w.Token)
	e.optional("reason", w.Reason)
	return e.end()
}
