package wire

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
)

// The types that travel most often encode themselves: byte for byte what
// encoding/json writes, in a fraction of its time. What it refuses they refuse
// too.

// Append appends v as JSON, by its AppendJSON if it has one.
func Append(b []byte, v any) ([]byte, error) {
	if a, ok := v.(interface{ AppendJSON([]byte) ([]byte, error) }); ok {
		return a.AppendJSON(b)
	}
	text, err := json.Marshal(v)
	if len(b) == 0 {
		return text, err
	}
	return append(b, text...), err
}

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

// lease writes the fields that a lease and the answers around it share.
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
	e.integer("renewals", int64(w.Renewals))
	e.integer("max_renewals", int64(w.MaxRenewals))
	e.pairs("metadata", w.Metadata)
	if len(w.Claims)+len(w.Notes) > 0 {
		appendList(e, "claims", w.Claims)
		appendList(e, "notes", w.Notes)
	}
}

// AppendJSON appends what json.Marshal would write.
func (w AcquireRequest) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: append(b, '{')}
	e.optional("resource", w.Resource)
	e.optional("file_path", w.FilePath)
	if w.hasClaims() {
		e.claims(w)
	}
	e.optional("holder", w.Holder)
	e.optional("agent_id", w.AgentID)
	e.optionalNumber("ttl_seconds", w.TTL)
	e.optionalNumber("duration", w.Duration)
	e.optional("lease_id", w.LeaseID)
	if len(w.Metadata) > 0 {
		e.pairs("metadata", w.Metadata)
	}
	if w.MaxRenewals != nil {
		e.integer("max_renewals", int64(*w.MaxRenewals))
	}
	if w.Blocking {
		e.key("blocking")
		e.b = append(e.b, "true"...)
	}
	if w.TimeoutMS != nil {
		e.integer("timeout_ms", *w.TimeoutMS)
	}
	if w.Priority != 0 {
		e.integer("priority", int64(w.Priority))
	}
	if w.Sequence {
		e.key("sequence")
		e.b = append(e.b, "true"...)
	}
	return e.end()
}

// claims writes what a request for several resources has in place of one.
func (e *encoder) claims(w AcquireRequest) {
	appendList(e, "resources", w.Resources)
	e.optional("mode", w.Mode)
	e.optional("namespace", w.Namespace)
	appendList(e, "paths", w.Paths)
	appendList(e, "claims", w.Claims)
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
	e.optional("note", w.Note)
	return e.end()
}

// encoder writes an object, field by field. It keeps its first error.
type encoder struct {
	b   []byte
	err error
}

func (e *encoder) end() ([]byte, error) { return append(e.b, '}'), e.err }

// key starts a field. Names of fields need no escapes.
func (e *encoder) key(name string) {
	if e.b[len(e.b)-1] != '{' {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, name...)
	e.b = append(e.b, '"', ':')
}

func (e *encoder) text(name, value string) {
	e.key(name)
	e.string(value)
}

func (e *encoder) optional(name, value string) {
	if value != "" {
		e.text(name, value)
	}
}

// string calls encoding/json for everything that may need an escape.
func (e *encoder) string(s string) {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			e.marshal(s)
			return
		}
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, s...)
	e.b = append(e.b, '"')
}

func (e *encoder) marshal(v any) {
	data, err := json.Marshal(v)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.b = append(e.b, data...)
}

// appendList leaves the items to encoding/json, and an empty list out.
func appendList[T any](e *encoder, name string, list []T) {
	if len(list) > 0 {
		e.key(name)
		e.marshal(list)
	}
}

func (e *encoder) integer(name string, n int64) {
	e.key(name)
	e.b = strconv.AppendInt(e.b, n, 10)
}

func (e *encoder) optionalToken(token uint64) {
	if token != 0 {
		e.key("token")
		e.b = strconv.AppendUint(e.b, token, 10)
	}
}

// number calls encoding/json for what is written with an exponent and for what
// cannot be written.
func (e *encoder) number(name string, f float64) {
	e.key(name)
	if abs := math.Abs(f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		e.b = strconv.AppendFloat(e.b, f, 'f', -1, 64)
		return
	}
	e.marshal(f)
}

func (e *encoder) optionalNumber(name string, f *float64) {
	if f != nil {
		e.number(name, *f)
	}
}

func (e *encoder) time(t time.Time) {
	b, err := t.AppendText(append(e.b, '"'))
	if err != nil {
		e.marshal(t) // for its error
		return
	}
	e.b = append(b, '"')
}

func (e *encoder) pairs(name string, m map[string]string) {
	e.key(name)
	if m == nil {
		e.b = append(e.b, "null"...)
		return
	}
	var few [8]string
	keys := few[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	e.b = append(e.b, '{')
	for i, k := range keys {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.string(k)
		e.b = append(e.b, ':')
		e.string(m[k])
	}
	e.b = append(e.b, '}')
}
