package rest

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/wire"
)

// Info is what the document says about the API as a whole.
type Info struct {
	Title, Version, Description string
	Problem                     wire.Problem // an example
}

// OpenAPI makes the document from the table, in OpenAPI 3.1.
func OpenAPI[C any](endpoints []*Endpoint[C], info Info) []byte {
	s := schemas{named: object{}}
	paths := object{}
	for _, e := range endpoints {
		path, ok := paths[e.Path].(object)
		if !ok {
			path = object{}
			paths[e.Path] = path
		}
		path[strings.ToLower(e.Method)] = e.operation(s, info.Problem)
	}
	s.of(reflect.TypeFor[wire.Problem]())
	document := object{
		"openapi": "3.1.0",
		"info": object{"title": info.Title, "version": info.Version, "description": info.Description,
			"license": object{"name": "Apache License 2.0", "identifier": "Apache-2.0"}},
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

func (e *Endpoint[C]) operation(s schemas, problem wire.Problem) object {
	o := object{"operationId": e.ID, "summary": e.Summary, "responses": e.responses(s, problem), "security": []object{}}
	if params := e.parameters(s); len(params) > 0 {
		o["parameters"] = params
	}
	if e.BodyType != nil {
		o["requestBody"] = object{
			"required": needsFields(e.BodyType),
			"content":  object{"application/json": object{"schema": s.of(e.BodyType), "example": e.Request}},
		}
	}
	if len(e.Roles) > 0 {
		o["description"] = "Roles: " + e.RoleNames() + "."
		o["security"] = []object{{}, {"token": []string{}}} // an open listener asks for none
	}
	return o
}

func needsFields(t reflect.Type) bool {
	return slices.ContainsFunc(fieldsOf(t, "json"), func(f field) bool { return f.Required || len(f.Or) > 0 })
}

func (e *Endpoint[C]) parameters(s schemas) []object {
	var params []object
	if name := e.variable(); name != "" {
		params = append(params, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, f := range fieldsOf(e.QueryType, "query") {
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

// responses lists success and, by status, the codes of every problem.
func (e *Endpoint[C]) responses(s schemas, problem wire.Problem) object {
	media, _, _ := strings.Cut(e.Media, ";")
	schema, content := object{"type": "string"}, object{}
	if e.AnswerType != nil {
		media, schema = "application/json", s.of(e.AnswerType)
		content["example"] = e.Answer
	}
	content["schema"] = schema
	responses := object{strconv.Itoa(e.Status): object{"description": http.StatusText(e.Status), "content": object{media: content}}}
	for status, when := range e.Also {
		also := content
		if status >= http.StatusMultipleChoices {
			also = object{"schema": schema} // the example is one of success
		}
		responses[strconv.Itoa(status)] = object{"description": http.StatusText(status) + ": " + when, "content": object{media: also}}
	}
	byStatus := map[int][]string{}
	for _, c := range e.Codes {
		status := e.StatusOf(c)
		byStatus[status] = append(byStatus[status], string(c))
	}
	for status, names := range byStatus {
		responses[strconv.Itoa(status)] = s.problem(status, names, problem)
	}
	return responses
}

// problem is the answer of a status whose problems have these codes.
func (s schemas) problem(status int, names []string, example wire.Problem) object {
	content := object{"schema": object{"allOf": []object{
		s.of(reflect.TypeFor[wire.Problem]()),
		{"type": "object", "properties": object{"code": object{"enum": names}}},
	}}}
	if slices.Contains(names, example.Code) {
		content["example"] = example
	}
	return object{
		"description": http.StatusText(status) + ": " + strings.Join(names, ", "),
		"content":     object{wire.ProblemType: content},
	}
}
