package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
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

// operation is one call of the protocol: all that the door knows about it
// before its handler runs.
type operation struct {
	Name  string // as Azure names it
	Level level

	// Method is the verb; "GET HEAD" stands for both.
	Method string

	// Restype and Comp are the query parameters that select it.
	Restype, Comp string

	// Header tells operations of the same address and verb apart: the request
	// must have it, with this Value (in any letter case) unless Value is empty.
	// The first one that fits is taken.
	Header, Value string

	// Snapshot: it may be asked of a snapshot.
	Snapshot bool

	// Write: it changes something. A secondary refuses it, and the main port's
	// callers need to be holders.
	Write bool

	// Batch: it may be a part of a batch.
	Batch bool

	// Operate: the main port's callers need to be operators.
	Operate bool

	// KeyOpensSource: a signature with the account's key also opens a source in
	// that account. Any other source must be readable by itself.
	KeyOpensSource bool

	// Need is what a shared access signature must grant. Its ResourceType is
	// that of the Level unless it says otherwise.
	Need sign.Need

	// Public is how far a container must be open so that anybody may do it.
	Public publicAccess

	// Handle answers, or returns an error before anything was written.
	Handle func(*Server, *call) error
}

// resourceTypes are the letters of srt, in an account's shared access signature.
var resourceTypes = map[level]byte{atService: 's', atContainer: 'c', atBlob: 'o'}

// place is an address as the table knows it.
type place struct {
	level         level
	restype, comp string
}

func (p place) String() string {
	var parts []string
	if p.restype != "" {
		parts = append(parts, "restype="+p.restype)
	}
	if p.comp != "" {
		parts = append(parts, "comp="+p.comp)
	}
	return strings.Join(parts, "&")
}

// routes finds operations.
type routes map[place]map[string][]*operation // by method

func newRoutes(table []operation) routes {
	found := routes{}
	for i := range table {
		o := &table[i]
		o.Header = http.CanonicalHeaderKey(o.Header) // once, not for every request
		at := place{o.Level, o.Restype, o.Comp}
		if o.Need.ResourceType == 0 {
			o.Need.ResourceType = resourceTypes[o.Level]
		}
		if found[at] == nil {
			found[at] = map[string][]*operation{}
		}
		for method := range strings.FieldsSeq(o.Method) {
			found[at][method] = append(found[at][method], o)
		}
	}
	return found
}

// find returns the operation that a request asks for.
func (t routes) find(at place, method string, h http.Header) (*operation, error) {
	methods := t[at]
	for _, o := range methods[method] {
		if o.fits(h) {
			return o, nil
		}
	}
	switch {
	case unbuilt[at] != "":
		return nil, azerr.New(azerr.NotImplemented).With("This server does not offer the operation %s.", unbuilt[at])
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
	f := azerr.New(azerr.UnsupportedHttpVerb)
	var allow []string
	for method := range known {
		allow = append(allow, method)
	}
	slices.Sort(allow)
	if len(allow) > 0 {
		f.Header = http.Header{"Allow": {strings.Join(allow, ", ")}}
	}
	return f
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
