package server

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

// call is one request under way.
type call struct {
	w         http.ResponseWriter
	r         *http.Request
	dialect   *dialect
	op        *operation // nil: not found yet
	ref       catalog.Ref
	level     level
	restype   string // from the query, or what the dialect takes for it
	secondary bool
	lone      bool // its address is a lone name
	query     sign.Query
	id        string // the request's
	began     time.Time

	sas       *sign.SAS    // the signature that let it in; nil: something else did
	policy    *sign.Policy // that completes it, if it names one
	anonymous bool         // it got in without credentials

	outer *call // the batch that it is a part of; nil: it came alone

	status int    // of the answer; zero: there is none yet
	code   string // of the error, if it was one
}

// header returns the headers of the answer.
func (c *call) header() http.Header { return c.w.Header() }

// set gives the answer a header whose name is spelled as net/http does, which
// spares respelling it.
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

// begin sends the headers of an answer whose body is written to c.w.
func (c *call) begin(status int) {
	c.header()["X-Content-Type-Options"] = noSniffing
	c.status = status
	c.w.WriteHeader(status)
}

// may reports whether the caller has one of these permissions beyond what the
// operation needs. Only a shared access signature limits them; whoever shows
// nothing has none.
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
