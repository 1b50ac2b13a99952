package api

import (
	"errors"
	"fmt"

	"github.com/leasehold/leasehold/wire"
)

// operation is one operation of a batch that was read.
type operation struct {
	endpoint *endpoint
	body     []byte
}

// readBatch reads a body that is known to be a JSON object.
func (s *Server) readBatch(body []byte) ([]operation, error) {
	var list []byte
	err := eachField(body, func(key, value []byte) error {
		switch name, _ := unquote(key); {
		case name != "operations":
			return invalid(clip(name), "is no field of this call; it takes operations")
		case list != nil:
			return invalid("operations", "is there twice; send it once")
		case value[0] != '[':
			return invalid("operations", "is "+kindOfJSON(value[0])+"; want a list of operations")
		}
		list = value
		return nil
	})
	if err != nil {
		return nil, err
	}
	if list == nil {
		return nil, invalid("operations", "is missing; want a list of operations")
	}
	return s.readOperations(list)
}

func (s *Server) readOperations(list []byte) ([]operation, error) {
	var all []operation
	err := eachItem(list, func(item []byte) error {
		if len(all) == wire.MaxOperations {
			return invalid("operations", fmt.Sprintf("has more than %d operations; send several batches", wire.MaxOperations))
		}
		o, field, problem := s.readOperation(item)
		if problem != "" {
			return invalid(fmt.Sprintf("operations[%d]%s", len(all), field), problem)
		}
		all = append(all, o)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = invalid("operations", "is empty; want at least one operation")
	}
	return all, err
}

// readOperation returns the operation, or in which field of it the problem is.
func (s *Server) readOperation(item []byte) (o operation, field, problem string) {
	if item[0] != '{' {
		return o, "", "is " + kindOfJSON(item[0]) + "; want an object"
	}
	_ = eachField(item, func(key, value []byte) error {
		name, _ := unquote(key)
		if problem = s.readPart(&o, name, value); problem != "" {
			field = "." + clip(name)
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

func (s *Server) readPart(o *operation, name string, value []byte) (problem string) {
	switch {
	case name == "op" && o.endpoint == nil:
		op, _ := unquote(value)
		if o.endpoint = s.batchable[op]; o.endpoint == nil {
			return "wants acquire, renew or release"
		}
	case name == "request" && o.body == nil:
		if o.body = value; value[0] != '{' {
			return "is " + kindOfJSON(value[0]) + "; want an object"
		}
	case name == "op", name == "request":
		return "is there twice; send it once"
	default:
		return "is no field of an operation; it takes op, request"
	}
	return ""
}
