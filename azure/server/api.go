package server

import (
	"net/http"
	"strings"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

// dialect is what one face of the door does differently from the other.
type dialect struct {
	// prefix of all paths. Beside one, Host names no account.
	prefix string

	// open: the port has let the caller in already; nobody signs.
	open bool

	// leaseCode names a refusal by a lease.
	leaseCode func(*catalog.LeaseError) string

	// finalEnds: a lease that has ended is gone. Azure lets its id renew it,
	// release it and break it still.
	finalEnds bool

	// orphans: deleting a blob without a word about its snapshots leaves them
	// alone. Azure refuses it.
	orphans bool

	// baseFirst: lists have a blob before its snapshots, not after them.
	baseFirst bool

	// anyAccount: whatever can be the name of an account is one. Azure's face
	// has those alone that can sign.
	anyAccount bool

	// short: a lease of a lone name is a container's, also without restype, and
	// Put Blob without x-ms-blob-type makes a block blob.
	short bool
}

// azure is Azure's face.
var azure = &dialect{leaseCode: azureLeaseCode}

// localZure is the face on the main port.
var localZure = &dialect{
	prefix: dialectPrefix, open: true, leaseCode: localZureLeaseCode,
	finalEnds: true, orphans: true, baseFirst: true, anyAccount: true, short: true,
}

// restype returns what kind of resource the query says that the path behind the
// account names; empty: a blob.
func (d *dialect) restype(query sign.Query, path string) string {
	said := query.Get("restype")
	if said == "" && d.short && strings.EqualFold(query.Get("comp"), "lease") && !strings.Contains(path, "/") {
		return "container"
	}
	return said
}

// complete adds to a located request what a short form leaves out.
func (d *dialect) complete(c *call) {
	h := c.r.Header
	if d.short && c.level == atBlob && c.r.Method == http.MethodPut && c.restype == "" && c.query.Get("comp") == "" &&
		first(h, "X-Ms-Blob-Type") == "" && first(h, "X-Ms-Copy-Source") == "" {
		h.Set("X-Ms-Blob-Type", catalog.Block.String())
	}
}
