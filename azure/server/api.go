package server

import (
	"net/http"
	"strings"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

// api is what differs between the two APIs.
type api struct {
	// prefix of all paths. Beside one, Host names no account.
	prefix string

	// authenticated: the main port has authenticated the caller; nobody signs.
	authenticated bool

	// leaseCode names a refusal by a lease.
	leaseCode func(*catalog.LeaseError) string

	// finalEnds: a lease that has ended is gone. Azure still lets its id renew,
	// release and break it.
	finalEnds bool

	// keepSnapshots: Delete Blob without x-ms-delete-snapshots keeps the
	// snapshots. Azure refuses it.
	keepSnapshots bool

	// baseFirst: lists have a blob before its snapshots, not after them.
	baseFirst bool

	// anyAccount: every valid name is an account. Azure's API has only accounts
	// that can sign.
	anyAccount bool

	// shortForms: a lease of a lone name is a container's, also without restype,
	// and Put Blob without x-ms-blob-type makes a block blob.
	shortForms bool
}

var azureAPI = &api{leaseCode: azureLeaseCode}

// plainAPI is the one on the main port. It answers as the emulator LocalZure
// does.
var plainAPI = &api{
	prefix: "/blob", authenticated: true, leaseCode: plainLeaseCode,
	finalEnds: true, keepSnapshots: true, baseFirst: true, anyAccount: true, shortForms: true,
}

// restype returns the restype of the query, or what a short form implies; empty:
// the path behind the account names a blob.
func (a *api) restype(query sign.Query, path string) string {
	sent := query.Get("restype")
	if sent == "" && a.shortForms && strings.EqualFold(query.Get("comp"), "lease") && !strings.Contains(path, "/") {
		return "container"
	}
	return sent
}

// complete adds the header that a short form omits.
func (a *api) complete(c *call) {
	h := c.r.Header
	if a.shortForms && c.level == atBlob && c.r.Method == http.MethodPut && c.restype == "" && c.query.Get("comp") == "" &&
		first(h, "X-Ms-Blob-Type") == "" && first(h, "X-Ms-Copy-Source") == "" {
		h.Set("X-Ms-Blob-Type", catalog.Block.String())
	}
}
