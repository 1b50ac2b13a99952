package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/wire"
)

// openapi makes the document from the table.
func openapi(endpoints []*endpoint, version string) []byte {
	s := schemas{named: object{}}
	paths := object{}
	for _, e := range endpoints {
		path, ok := paths[e.Path].(object)
		if !ok {
			path = object{}
			paths[e.Path] = path
		}
		path[strings.ToLower(e.Method)] = s.operation(e)
	}
	s.of(reflect.TypeFor[wire.Problem]())
	document := object{
		"openapi": "3.1.0",
		"info": object{"title": "Leasehold", "version": version,
			"license":     object{"name": "Apache License 2.0", "identifier": "Apache-2.0"},
			"description": "Exclusive, time-bound, fenced leases on named resources. Errors are problem documents (RFC 9457) with a stable code; /docs explains each."},
		"servers": []object{{"url": "/"}},
		"paths":   paths,
		"components": object{
			"schemas":         s.named,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
	}
	data, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		panic(err) // the table holds something that is no JSON
	}
	return append(data, '\n')
}

func (s schemas) operation(e *endpoint) object {
	o := object{"operationId": e.ID, "summary": e.Summary, "responses": s.responses(e), "security": []object{}}
	if params := s.parameters(e); len(params) > 0 {
		o["parameters"] = params
	}
	if e.body != nil {
		o["requestBody"] = object{
			"required": needsFields(e.body),
			"content":  object{"application/json": object{"schema": s.of(e.body), "example": e.Request}},
		}
	}
	if len(e.Roles) > 0 {
		o["description"] = "Roles: " + roleNames(e) + "."
		o["security"] = []object{{}, {"token": []string{}}} // an open listener asks for none
	}
	return o
}

func roleNames(e *endpoint) string {
	names := make([]string, len(e.Roles))
	for i, r := range e.Roles {
		names[i] = string(r)
	}
	return strings.Join(names, " or ")
}

func needsFields(t reflect.Type) bool {
	return slices.ContainsFunc(fieldsOf(t, "json"), func(f field) bool { return f.Required || f.Or != "" })
}

func (s schemas) parameters(e *endpoint) []object {
	var params []object
	if name := e.variable(); name != "" {
		params = append(params, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	if e.query == nil {
		return params
	}
	for _, f := range fieldsOf(e.query, "query") {
		p := object{"name": f.Name, "in": "query", "schema": s.field(field{Type: f.Type, Enum: f.Enum}), "description": f.Doc}
		if f.Type.Kind() == reflect.Map {
			p["name"] = paramName(f)
			p["description"] = f.Doc + " KEY stands for the key."
			p["schema"] = object{"type": "string"}
		}
		if f.Required {
			p["required"] = true
		}
		if f.Example != "" {
			p["example"] = f.Example
		}
		params = append(params, p)
	}
	return params
}

// responses lists success and, by status, the codes of every refusal.
func (s schemas) responses(e *endpoint) object {
	media := e.media
	content := object{"schema": object{"type": "string"}}
	if e.answer != nil {
		media = "application/json"
		content = object{"schema": s.of(e.answer), "example": e.Answer}
	}
	media, _, _ = strings.Cut(media, ";")
	responses := object{strconv.Itoa(e.Status): object{"description": http.StatusText(e.Status), "content": object{media: content}}}
	switch e.ID {
	case "acquire":
		responses["200"] = object{"description": "OK: it was held already", "content": object{media: content}}
	case "ready", "leasing":
		responses["503"] = object{"description": "Service Unavailable: unhealthy", "content": object{media: object{"schema": content["schema"]}}}
	}
	byStatus := map[int][]string{}
	for _, c := range e.allCodes() {
		status := e.statusOf(c)
		byStatus[status] = append(byStatus[status], string(c))
	}
	for status, names := range byStatus {
		responses[strconv.Itoa(status)] = s.problem(status, names)
	}
	return responses
}

func (s schemas) problem(status int, names []string) object {
	content := object{"schema": object{"allOf": []object{
		s.of(reflect.TypeFor[wire.Problem]()),
		{"type": "object", "properties": object{"code": object{"enum": names}}},
	}}}
	if slices.Contains(names, exampleProblem.Code) {
		content["example"] = exampleProblem
	}
	return object{
		"description": http.StatusText(status) + ": " + strings.Join(names, ", "),
		"content":     object{wire.ProblemType: content},
	}
}
