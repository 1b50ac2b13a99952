package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
)

// endpoint is one call: all that the router, the document and the page know.
type endpoint struct {
	Method  string
	Path    string // a part in braces takes anything, slashes too
	ID      string // the operation's name in the document and in errors
	Summary string
	Roles   []auth.Role // any of them will do; none: open to everybody
	Status  int         // of success
	Codes   []leasehold.Reason
	Request any // an example of the body
	Answer  any // an example of the answer
	action
}

// action is what an endpoint does, with the types that go in and come out.
type action struct {
	body   reflect.Type // nil: no body
	query  reflect.Type // nil: no parameters
	answer reflect.Type // nil: not JSON
	media  string       // of an answer that is not JSON
	long   bool         // the answer has no end, or a far one
	most   int64        // bytes of the body; zero: Options.MaxBody

	// run returns the answer to write; an action with media has written it.
	run func(*call) (any, error)

	// handle is run with a body that has been read already and is known to be
	// a JSON object. Nil: the action takes no body.
	handle func(c *call, body []byte) (any, error)
}

// body is an action that takes a JSON body.
func body[Req, Ans any](do func(*call, Req) (Ans, error)) action {
	shape := shapeOf(reflect.TypeFor[Req]())
	return bodied[Req, Ans](func(c *call, body []byte) (any, error) {
		var in Req
		if err := shape.read(body, reflect.ValueOf(&in).Elem()); err != nil {
			return nil, err
		}
		return do(c, in)
	})
}

// bodied is body for an action that reads its body itself.
func bodied[Req, Ans any](handle func(*call, []byte) (any, error)) action {
	return action{
		body: reflect.TypeFor[Req](), answer: reflect.TypeFor[Ans](), handle: handle,
		run: func(c *call) (any, error) {
			if err := noQuery.decode(c.r, reflect.Value{}); err != nil {
				return nil, err
			}
			data, err := c.readBody()
			if err != nil {
				return nil, err
			}
			return handle(c, data)
		},
	}
}

// query is an action that takes query parameters.
func query[Q, Ans any](do func(*call, Q) (Ans, error)) action {
	form := formOf(reflect.TypeFor[Q]())
	return action{
		query: reflect.TypeFor[Q](), answer: reflect.TypeFor[Ans](),
		run: func(c *call) (any, error) {
			var in Q
			if err := form.decode(c.r, reflect.ValueOf(&in).Elem()); err != nil {
				return nil, err
			}
			return do(c, in)
		},
	}
}

// text is an action that answers with a document that is not of a Go type.
func text(media string, do func() []byte) action {
	a := query(func(c *call, _ none) (none, error) {
		return none{}, c.write(c.status, media, do())
	})
	a.answer, a.media = nil, media
	return a
}

// stream is an action that writes its long answer itself.
func stream[Q any](media string, do func(*call, Q) error) action {
	a := query(func(c *call, in Q) (none, error) { return none{}, do(c, in) })
	a.answer, a.media, a.long = nil, media, true
	return a
}

// none is the query of calls that take no parameters.
type none struct{}

// serves says whether the endpoint answers this method. HEAD is a GET without
// a body, which makes no sense of a stream.
func (e *endpoint) serves(method string) bool {
	return method == e.Method || method == http.MethodHead && e.takesHead()
}

func (e *endpoint) takesHead() bool { return e.Method == http.MethodGet && !e.long }

// allows says whether the caller has a role that the call needs.
func (e *endpoint) allows(c auth.Caller) bool {
	return len(e.Roles) == 0 || slices.ContainsFunc(e.Roles, c.Has)
}

// status returns the HTTP status of a code in answers of this call.
func (e *endpoint) status(code leasehold.Reason) int {
	return wire.Status(&leasehold.Error{Reason: code, Op: e.ID})
}

// label names the route in logs and metrics. It holds nothing of the request.
func (e *endpoint) label() string { return e.Method + " " + e.Path }

// variable returns the name of the path's open part, or "".
func (e *endpoint) variable() string {
	_, after, _ := strings.Cut(e.Path, "{")
	name, _, _ := strings.Cut(after, "}")
	return name
}
