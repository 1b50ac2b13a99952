package server

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// refuse answers with an error, the one place that does. What lies underneath a
// failure of ours goes to the log only.
func (s *Server) refuse(c *call, err error) {
	f := c.faultOf(err)
	if f.Status >= http.StatusInternalServerError && !saidSo(err) {
		s.logFailure(c, err)
	}
	if c.status != 0 {
		c.abandon()
	}
	c.code = f.Code
	h := c.header()
	for _, name := range []string{"Content-Md5", "Content-Encoding", "Content-Range", "Content-Disposition"} {
		h.Del(name) // of a blob that is not sent after all
	}
	for name, values := range f.Header {
		h[name] = values
	}
	h.Set("X-Ms-Error-Code", f.Code)
	if f.Status == http.StatusNotModified || c.r.Method == http.MethodHead { // no body, so nothing about one
		h.Del("Content-Length")
		h.Del("Content-Type")
		c.begin(f.Status)
		return
	}
	body := errorBody(f, c)
	h.Set("Content-Type", "application/xml")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.begin(f.Status)
	_, _ = c.w.Write(body) // whoever is gone needs no refusal
}

// abandon gives up an answer that has begun, so that half of it does not look
// whole. That of a part of a batch is still in memory.
func (c *call) abandon() {
	if c.outer == nil {
		panic(http.ErrAbortHandler)
	}
	c.w.(*recorder).body.Reset()
}

// saidSo reports whether the door itself chose this answer, so that there is
// nothing underneath to log.
func saidSo(err error) bool {
	var f *azerr.Error
	return errors.As(err, &f) && (f.Code == azerr.NotImplemented || f.Code == azerr.ServerBusy || f.Code == azerr.InsufficientStorage)
}

// faultOf returns the error as Azure's clients know it.
func (c *call) faultOf(err error) *azerr.Error {
	var f *azerr.Error
	var refused *catalog.LeaseError
	switch {
	case catalog.NotModified(err) && c.reads():
		f = azerr.New(azerr.ConditionNotMet)
		f.Status = http.StatusNotModified
		return f
	case errors.As(err, &refused) && refused.Reason == leasehold.ReasonTooMany:
		return azerr.New(azerr.ServerBusy).With("As many leases are live as the setting %s allows. Release some, or wait until some end.", leasehold.SettingMaxLeases)
	case errors.As(err, &refused):
		f = azerr.New(c.dialect.leaseCode(refused))
		if refused.Container {
			f = f.OfContainer()
		}
		return f
	case errors.As(err, &f):
		if f.Code == azerr.ContainerNotFound && c.lone {
			return f.With("%.40q by itself is a blob of the container $root, which does not exist. For a container add restype=container.", c.ref.Blob)
		}
		return f
	case errors.Is(err, leasehold.ErrUnavailable):
		return azerr.New(azerr.ServerBusy)
	case errors.Is(err, leasehold.ErrUnknown):
		return azerr.New(azerr.OperationTimedOut)
	}
	return azerr.New(azerr.InternalError)
}

// reads reports whether the request is a read, which is not modified where a
// write's condition is not met.
func (c *call) reads() bool {
	return c.r.Method == http.MethodGet || c.r.Method == http.MethodHead
}

func (s *Server) logFailure(c *call, err error) {
	level := slog.LevelError
	if c.r.Context().Err() != nil {
		level = slog.LevelDebug // the client left
	}
	s.log.LogAttrs(c.r.Context(), level, "blob request failed", c.attrs(slog.String("error", err.Error()))...)
}

// errorBody is the error as XML. The message begins as Azure's does, whose words
// people and tools look for; what we add comes after.
func errorBody(f *azerr.Error, c *call) []byte {
	type body struct {
		XMLName struct{} `xml:"Error"`
		Code    string
		Message string
	}
	message := f.Sentence + "\nRequestId:" + c.id + "\nTime:" + catalog.At(catalog.TicksOf(c.began)).String()
	if f.Message != "" {
		message += "\n" + f.Message
	}
	data, err := marshalXML(body{Code: f.Code, Message: message})
	if err != nil {
		panic(err) // two strings
	}
	return data
}

// The refusals that handlers need most.

// badHeader refuses the value of a header.
func badHeader(name, why string, args ...any) error {
	f := azerr.New(azerr.InvalidHeaderValue)
	return f.With("The header "+asDocumented(name)+" is not valid: "+why+".", args...)
}

// noHeader refuses a request that lacks a header.
func noHeader(name string) error {
	return azerr.New(azerr.MissingRequiredHeader).With("The header %s is missing.", asDocumented(name))
}

// asDocumented spells a header as Azure's pages do.
func asDocumented(name string) string {
	if strings.HasPrefix(name, "X-Ms-") {
		return strings.ToLower(name)
	}
	return name
}

// badQuery refuses the value of a query parameter.
func badQuery(name, why string, args ...any) error {
	return azerr.New(azerr.InvalidQueryParameterValue).With("The query parameter "+name+" is not valid: "+why+".", args...)
}
