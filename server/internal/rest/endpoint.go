// Package rest describes endpoints of JSON APIs, decodes what is sent to them
// and documents them.
//
// An API is a table: sections of endpoints, each with its method, path, roles,
// statuses, examples and a handler (endpoint.go). From that table come
//
//   - the router (router.go), which finds the endpoint of a path as it was sent;
//   - the decoders (body.go, query.go, with value.go for single values and
//     scan.go for the JSON below), stricter than encoding/json: what they do not
//     understand they refuse by name, without repeating values;
//   - the OpenAPI document (openapi.go, schema.go) and the page for people
//     (docs.go, docs.html).
//
// Both decoders and documents read the fields of the types that travel, with
// their tags, through field.go: so they cannot disagree. The package knows
// nothing of leases; package server/api has the table and the handlers.
package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
)

// Endpoint is one call of an API whose handlers get a C: the request under way.
type Endpoint[C any] struct {
	Method  string
	Path    string // a part in braces matches anything, slashes too
	ID      string // the operation's name in the document and in errors
	Summary string
	Roles   []auth.Role        // any of them will do; none: open to everybody
	Status  int                // of success
	Also    map[int]string     // other statuses whose answer has the same type, and when
	Codes   []leasehold.Reason // of the problems it may answer with, in the page's order
	Long    bool               // the answer has no end, or a far one
	MaxBody int64              // bytes; zero: the API's limit
	Batch   bool               // may be an operation of a batch
	Request any                // an example of the body
	Answer  any                // an example of the answer
	Handler[C]
}

// Section is a group of endpoints, as the page shows them.
type Section[C any] struct {
	Title     string
	Endpoints []*Endpoint[C]
}

// Handler is what an endpoint does, with the types of what it reads and answers.
// Body, Query and Raw make one.
type Handler[C any] struct {
	BodyType   reflect.Type // nil: no body
	QueryType  reflect.Type // nil: no parameters
	AnswerType reflect.Type // nil: not JSON
	Media      string       // of an answer that is not JSON

	// Handle decodes the raw query, or the body if the endpoint has one, and
	// returns the answer. The body must be a JSON object (see CheckObject). A
	// handler with Media has written the answer itself.
	Handle func(c C, query string, body []byte) (any, error)
}

// Body returns a handler of a JSON body.
func Body[C, Req, Ans any](handle func(C, Req) (Ans, error)) Handler[C] {
	decoder := NewBodyDecoder(reflect.TypeFor[Req]())
	return Handler[C]{
		BodyType: reflect.TypeFor[Req](), AnswerType: reflect.TypeFor[Ans](),
		Handle: func(c C, _ string, body []byte) (any, error) {
			var in Req
			if err := decoder.Decode(body, reflect.ValueOf(&in).Elem()); err != nil {
				return nil, err
			}
			return handle(c, in)
		},
	}
}

// Query returns a handler of query parameters.
func Query[C, Q, Ans any](handle func(C, Q) (Ans, error)) Handler[C] {
	decoder := NewQueryDecoder(reflect.TypeFor[Q]())
	return Handler[C]{
		QueryType: reflect.TypeFor[Q](), AnswerType: reflect.TypeFor[Ans](),
		Handle: func(c C, query string, _ []byte) (any, error) {
			var in Q
			if err := decoder.Decode(query, reflect.ValueOf(&in).Elem()); err != nil {
				return nil, err
			}
			return handle(c, in)
		},
	}
}

// Raw returns a handler of query parameters that writes its answer itself.
func Raw[C, Q any](media string, handle func(C, Q) error) Handler[C] {
	h := Query(func(c C, in Q) (None, error) { return None{}, handle(c, in) })
	h.AnswerType, h.Media = nil, media
	return h
}

// None is the body or the query of endpoints that have no fields.
type None struct{}

// serves reports whether the endpoint answers this method.
func (e *Endpoint[C]) serves(method string) bool {
	return method == e.Method || method == http.MethodHead && e.servesHead()
}

// servesHead: HEAD is a GET without a body, which makes no sense of a long
// answer.
func (e *Endpoint[C]) servesHead() bool { return e.Method == http.MethodGet && !e.Long }

func (e *Endpoint[C]) methods() []string {
	if e.servesHead() {
		return []string{e.Method, http.MethodHead}
	}
	return []string{e.Method}
}

// Allows reports whether the caller has a role that the endpoint needs.
func (e *Endpoint[C]) Allows(c auth.Caller) bool {
	return len(e.Roles) == 0 || slices.ContainsFunc(e.Roles, c.Has)
}

// Label names the route in logs and metrics. It holds nothing of the request.
func (e *Endpoint[C]) Label() string { return e.Method + " " + e.Path }

// StatusOf returns the HTTP status of a code in answers of this endpoint.
func (e *Endpoint[C]) StatusOf(code leasehold.Reason) int {
	return wire.Status(&leasehold.Error{Reason: code, Op: e.ID})
}

// RoleNames lists the endpoint's roles for people.
func (e *Endpoint[C]) RoleNames() string {
	names := make([]string, len(e.Roles))
	for i, r := range e.Roles {
		names[i] = string(r)
	}
	return strings.Join(names, " or ")
}

// variable returns the name of the path's open part, or "".
func (e *Endpoint[C]) variable() string {
	_, after, _ := strings.Cut(e.Path, "{")
	name, _, _ := strings.Cut(after, "}")
	return name
}
