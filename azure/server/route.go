package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

// level is what an address names.
type level string

const (
	atService   level = "service"
	atContainer level = "container"
	atBlob      level = "blob"
)

// publicAccess is how far a container is open to everybody.
type publicAccess string

const (
	publicBlob      publicAccess = "blob"      // its blobs can be read
	publicContainer publicAccess = "container" // and listed
)

// accessMode is which of the headers for a lease and for conditions an operation
// has. The others are ignored, as Azure does.
type accessMode int

const (
	accessNone       accessMode = iota
	accessLease                 // x-ms-lease-id alone
	accessConditions            // conditions alone: lease operations read ids themselves
	accessFull                  // x-ms-lease-id and conditions
	accessTags                  // as accessFull, with conditions on the blob under names of their own
)

// operation is one call of the protocol: how a request for it is recognized, what
// its caller must be permitted, and what answers it.
type operation struct {
	Name  string // as Azure names it
	ID    string // the name in one word; newRoutes sets it
	Level level

	// Method is the verb; "GET HEAD" stands for both.
	Method string

	// Restype and Comp are the query parameters that select it.
	Restype, Comp string

	// Header tells operations of the same address and verb apart: the request
	// must have it, with this Value (in any letter case) unless Value is empty.
	Header, Value string

	// Snapshot: it may name a snapshot.
	Snapshot bool

	// Write: it changes something. A secondary refuses it, and the main port's
	// callers need to be holders.
	Write bool

	// Batch: it may be a part of a batch.
	Batch bool

	// Operate: the main port's callers need to be operators.
	Operate bool

	// Access is what the handler finds in call.access.
	Access accessMode

	// Overwrites: it replaces a blob. Callers who may create but not write get
	// UnauthorizedBlobOverwrite if there is one.
	Overwrites bool

	// KeyReadsSource: a signature with the account's key also opens a source in
	// that account. Any other source must be readable by itself.
	KeyReadsSource bool

	// Need is what a shared access signature must grant. Its ResourceType is
	// that of the Level unless it says otherwise.
	Need sign.Need

	// Public is how far a container must be open so that anybody may call it.
	Public publicAccess

	// Handle answers, or returns an error before anything was written.
	Handle func(*Server, *call) error
}

// resourceTypes are the letters of srt, in an account's shared access signature.
var resourceTypes = map[level]byte{atService: 's', atContainer: 'c', atBlob: 'o'}

// route is what of a URL selects operations.
type route struct {
	level         level
	restype, comp string
}

func (r route) String() string {
	var parts []string
	if r.restype != "" {
		parts = append(parts, "restype="+r.restype)
	}
	if r.comp != "" {
		parts = append(parts, "comp="+r.comp)
	}
	return strings.Join(parts, "&")
}

// routes finds operations, by route and method.
type routes map[route]map[string][]*operation

func newRoutes(table []operation) routes {
	found := routes{}
	for _, o := range table {
		o.ID = operationID(o.Name)
		o.Header = http.CanonicalHeaderKey(o.Header) // once, not for every request
		if o.Need.ResourceType == 0 {
			o.Need.ResourceType = resourceTypes[o.Level]
		}
		at := route{o.Level, o.Restype, o.Comp}
		if found[at] == nil {
			found[at] = map[string][]*operation{}
		}
		for method := range strings.FieldsSeq(o.Method) {
			found[at][method] = append(found[at][method], &o)
		}
	}
	return found
}

// find returns the operation that a request selects.
func (t routes) find(at route, method string, h http.Header) (*operation, error) {
	methods := t[at]
	for _, o := range methods[method] {
		if o.fits(h) {
			return o, nil
		}
	}
	switch {
	case unsupported[at] != "":
		return nil, azerr.New(azerr.NotImplemented).With("This server does not offer the operation %s.", unsupported[at])
	case len(methods[method]) > 0:
		return nil, wrongHeader(methods[method], h)
	case len(methods) > 0 || !verbs[method]:
		return nil, unsupportedVerb(methods)
	case at.comp == "" && at.restype == "":
		return nil, azerr.New(azerr.InvalidUri).With("This address names a %s, and no operation on it.", at.level)
	}
	return nil, azerr.New(azerr.InvalidQueryParameterValue).With("There is no operation of a %s with %s.", at.level, at)
}

// fits reports whether the request has the header that selects the operation.
func (o *operation) fits(h http.Header) bool {
	if o.Header == "" {
		return true
	}
	value := first(h, o.Header)
	return value != "" && (o.Value == "" || strings.EqualFold(value, o.Value))
}

// verbs that the protocol has.
var verbs = map[string]bool{"GET": true, "HEAD": true, "PUT": true, "POST": true, "DELETE": true, "OPTIONS": true}

func unsupportedVerb(known map[string][]*operation) error {
	err := azerr.New(azerr.UnsupportedHttpVerb)
	if len(known) > 0 {
		err.Header = http.Header{"Allow": {strings.Join(slices.Sorted(maps.Keys(known)), ", ")}}
	}
	return err
}

// wrongHeader says which header would have selected an operation: one with
// several values, if there is one.
func wrongHeader(among []*operation, h http.Header) error {
	name := among[0].Header
	if i := slices.IndexFunc(among, func(o *operation) bool { return o.Value != "" }); i >= 0 {
		name = among[i].Header
	}
	if h.Get(name) == "" {
		return noHeader(name)
	}
	var values []string
	for _, o := range among {
		if o.Header == name && o.Value != "" {
			values = append(values, o.Value)
		}
	}
	return badHeader(name, "it must be one of %s", strings.Join(values, ", "))
}

// findOperation sets c.op and the snapshot that the request names.
func (s *Server) findOperation(c *call) error {
	at := route{c.level, strings.ToLower(c.restype), strings.ToLower(c.query.Get("comp"))}
	var err error
	if c.op, err = s.routes.find(at, c.r.Method, c.r.Header); err != nil {
		return err
	}
	if c.op.Write && c.secondary {
		return azerr.New(azerr.InsufficientAccountPermissions).With("The secondary endpoint is for reading only.")
	}
	if c.level != atBlob {
		return nil
	}
	if c.ref.Snapshot, err = snapshotIn(c.query, "snapshot"); err != nil {
		return err
	}
	if c.ref.IsSnapshot() && !c.op.Snapshot {
		return badQuery("snapshot", "%s is not for snapshots, which never change", c.op.Name)
	}
	return nil
}

// snapshotIn reads a query parameter that is a snapshot's id; the zero Snapshot
// if it is not there. An empty one is refused: it must not turn a request about a
// snapshot into one about the blob.
func snapshotIn(q sign.Query, name string) (catalog.Snapshot, error) {
	if !q.Has(name) {
		return catalog.Snapshot{}, nil
	}
	values := q.Values()[name]
	s, ok := catalog.ParseSnapshot(values[0])
	switch {
	case len(values) > 1:
		return s, badQuery(name, "it is there more than once")
	case !ok:
		return s, badQuery(name, "it is no snapshot's id, as in 2006-01-02T15:04:05.0000000Z")
	}
	return s, nil
}
