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

// answerError answers with an error, the one place that does. The cause of a
// failure of ours goes to the log only.
func (s *Server) answerError(c *call, err error) {
	e := c.azureError(err)
	if e.Status >= http.StatusInternalServerError && !chosen(err) {
		s.logFailure(c, err)
	}
	c.code = e.Code
	if c.status != 0 {
		c.abort()
	}
	h := c.header()
	for _, name := range []string{"Content-Md5", "Content-Encoding", "Content-Range", "Content-Disposition"} {
		h.Del(name) // of a blob that is not sent after all
	}
	for name, values := range e.Header {
		h[name] = values
	}
	h.Set("X-Ms-Error-Code", e.Code)
	if e.Status == http.StatusNotModified || c.r.Method == http.MethodHead { // no body, so nothing about one
		h.Del("Content-Length")
		h.Del("Content-Type")
		c.writeHeader(e.Status)
		return
	}
	body := xmlError(e, c)
	h.Set("Content-Type", xmlType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.writeHeader(e.Status)
	_, _ = c.w.Write(body) // a client that is gone needs no answer
}

// abort gives up an answer whose headers are sent, so that half of it does not
// look whole. That of a part of a batch is still in memory.
func (c *call) abort() {
	if c.batch == nil {
		panic(http.ErrAbortHandler)
	}
	c.w.(*recorder).body.Reset()
}

// chosen reports whether this server itself chose the answer, so that there is no
// cause to log.
func chosen(err error) bool {
	return azerr.HasCode(err, azerr.NotImplemented) || azerr.HasCode(err, azerr.ServerBusy) || azerr.HasCode(err, azerr.InsufficientStorage)
}

// azureError returns the error as Azure's clients know it.
func (c *call) azureError(err error) *azerr.Error {
	var e *azerr.Error
	var refused *catalog.LeaseError
	switch {
	case catalog.NotModified(err) && c.reads():
		e = azerr.New(azerr.ConditionNotMet)
		e.Status = http.StatusNotModified
		return e
	case errors.As(err, &refused) && refused.Reason == leasehold.ReasonTooMany:
		return azerr.New(azerr.ServerBusy).With("As many leases are live as the setting %s allows. Release some, or wait until some end.", leasehold.SettingMaxLeases)
	case errors.As(err, &refused):
		e = azerr.New(c.api.leaseCode(refused))
		if refused.Container {
			e = e.OfContainer()
		}
		return e
	case errors.As(err, &e):
		switch {
		case e.Code == azerr.ContainerNotFound && c.lone:
			return e.With("%.40q by itself is a blob of the container $root, which does not exist. For a container add restype=container.", c.ref.Blob)
		case e.Code == azerr.BlobAlreadyExists && c.createOnly:
			return azerr.New(azerr.UnauthorizedBlobOverwrite)
		}
		return e
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
		level = slog.LevelDebug // the client is gone
	}
	s.log.LogAttrs(c.r.Context(), level, "blob request failed", c.attrs(slog.String("error", err.Error()))...)
}

// xmlError is the error as XML. The message starts as Azure's does, whose words
// people and tools look for; what we add comes after.
func xmlError(e *azerr.Error, c *call) []byte {
	type body struct {
		XMLName struct{} `xml:"Error"`
		Code    string
		Message string
	}
	message := e.Sentence + "\nRequestId:" + c.id + "\nTime:" + catalog.At(catalog.TicksOf(c.started)).String()
	if e.Message != "" {
		message += "\n" + e.Message
	}
	data, err := marshalXML(body{Code: e.Code, Message: message})
	if err != nil {
		panic(err) // two strings
	}
	return data
}

// badHeader refuses the value of a header.
func badHeader(name, why string, args ...any) error {
	return azerr.New(azerr.InvalidHeaderValue).With("The header "+asDocumented(name)+" is not valid: "+why+".", args...)
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

// noQuery refuses a request that lacks a query parameter.
func noQuery(name string) error {
	return azerr.New(azerr.MissingRequiredQueryParameter).With("The query parameter %s is missing.", name)
}
