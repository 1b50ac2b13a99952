package server

import (
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

// call is one request and what the server has found out about it.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	api     *api
	id      string // of the request
	started time.Time

	address
	query   sign.Query
	restype string         // from the query, or implied by a short form
	op      *operation     // nil: not found yet
	access  catalog.Access // lease id and conditions, as op.Access says

	sas        *sign.SAS    // the signature that authorized it; nil: something else did
	policy     *sign.Policy // the stored access policy that completes sas
	anonymous  bool         // authorized without credentials
	createOnly bool         // it may create a blob and not overwrite one

	batch *call // that it is a part of; nil: it came alone

	status int                           // of the answer; zero: there is none yet
	code   string                        // of the error, if it was one
	end    func(status int, code string) // of Observer.Start; nil: there is none
}

// header returns the headers of the answer.
func (c *call) header() http.Header { return c.w.Header() }

// set sets a header of the answer whose name is in canonical form, which spares
// making it canonical.
func (c *call) set(name, value string) { c.header()[name] = []string{value} }

// Values that many answers share. Nobody changes the values of a header.
var (
	zeroLength = []string{"0"}
	noSniffing = []string{"nosniff"}
	noFrames   = []string{"DENY"}
	ownOrigin  = []string{"same-origin"}
	sandboxed  = []string{"sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}
)

// answer sends an answer without a body.
func (c *call) answer(status int) error {
	c.header()["Content-Length"] = zeroLength
	c.status = status
	c.w.WriteHeader(status)
	return nil
}

// writeHeader sends the headers of an answer whose body is written to c.w.
func (c *call) writeHeader(status int) {
	c.header()["X-Content-Type-Options"] = noSniffing
	c.status = status
	c.w.WriteHeader(status)
}

// answerBytes sends an answer that is in memory.
func (c *call) answerBytes(status int, contentType string, data []byte) error {
	h := c.header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.writeHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(data) // a client that is gone needs no answer
	}
	return nil
}

// may reports whether the caller has one of these permissions beyond what the
// operation needs. Only a shared access signature limits them; anonymous callers
// have none.
func (c *call) may(letters string) bool {
	return !c.anonymous && (c.sas == nil || c.sas.May(letters, c.policy))
}

// remote returns the address of the caller, the zero value if it has none.
func (c *call) remote() netip.Addr {
	at, err := netip.ParseAddrPort(c.r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}
