package api

import (
	"errors"
	"fmt"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/internal/rest"
	"github.com/leasehold/leasehold/wire"
)

// decodeBatch reads a body that is known to be a JSON object. The operations may
// be of the endpoints.
func decodeBatch(body []byte, endpoints map[string]*endpoint) ([]operation, error) {
	var list []byte
	err := rest.EachField(body, func(key, value []byte) error {
		switch name, _ := rest.Unquote(key); {
		case name != "operations":
			return rest.UnknownName("field", name, "operations")
		case list != nil:
			return leasehold.Invalid("operations", "is there twice; send it once")
		case value[0] != '[':
			return leasehold.Invalid("operations", "is %s; want a list of operations", rest.KindOf(value[0]))
		}
		list = value
		return nil
	})
	if err != nil {
		return nil, err
	}
	if list == nil {
		return nil, leasehold.Invalid("operations", "is missing; want a list of operations")
	}
	return decodeOperations(list, endpoints)
}

func decodeOperations(list []byte, endpoints map[string]*endpoint) ([]operation, error) {
	var all []operation
	err := rest.EachItem(list, func(item []byte) error {
		if len(all) == wire.MaxOperations {
			return leasehold.Invalid("operations", "has more than %d operations; send several batches", wire.MaxOperations)
		}
		o, field, problem := decodeOperation(item, endpoints)
		if problem != "" {
			return leasehold.Invalid(fmt.Sprintf("operations[%d]%s", len(all), field), "%s", problem)
		}
		all = append(all, o)
		return nil
	})
	if err == nil && len(all) == 0 {
		return nil, leasehold.Invalid("operations", "is empty; want at least one operation")
	}
	return all, err
}

// decodeOperation returns the operation, or the field of it that has a problem.
func decodeOperation(item []byte, endpoints map[string]*endpoint) (o operation, field, problem string) {
	if item[0] != '{' {
		return o, "", "is " + rest.KindOf(item[0]) + "; want an object"
	}
	_ = rest.EachField(item, func(key, value []byte) error {
		name, _ := rest.Unquote(key)
		if problem = o.decodeField(name, value, endpoints); problem != "" {
			field = fmt.Sprintf(".%.64s", name)
			return errStop
		}
		return nil
	})
	switch {
	case problem != "":
	case o.endpoint == nil:
		return o, ".op", "is missing; want acquire, renew or release"
	case o.body == nil:
		return o, ".request", "is missing; want the body of the call"
	}
	return o, field, problem
}

var errStop = errors.New("the problem is known")

func (o *operation) decodeField(name string, value []byte, endpoints map[string]*endpoint) (problem string) {
	switch {
	case name == "op" && o.endpoint == nil:
		op, _ := rest.Unquote(value)
		if o.endpoint = endpoints[op]; o.endpoint == nil {
			return "wants acquire, renew or release"
		}
	case name == "request" && o.body == nil:
		if o.body = value; value[0] != '{' {
			return "is " + rest.KindOf(value[0]) + "; want an object"
		}
	case name == "op", name == "request":
		return "is there twice; send it once"
	case name == "traceparent":
		o.trace.Parent, _ = rest.Unquote(value)
	case name == "tracestate":
		o.trace.State, _ = rest.Unquote(value)
	default:
		return "is no field of an operation; it takes op, request"
	}
	return ""
}
