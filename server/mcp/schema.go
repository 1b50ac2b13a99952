package mcp

import (
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Schemas are made once for all servers, and checked once by the protocol's package.
var (
	schemas  sync.Map // reflect.Type → *jsonschema.Schema
	resolved = sdk.NewSchemaCache()
)

// schemaOf returns the schema of a tool's arguments or answer. Unknown fields are
// refused.
func schemaOf[T any]() *jsonschema.Schema {
	if schema, ok := schemas.Load(reflect.TypeFor[T]()); ok {
		return schema.(*jsonschema.Schema)
	}
	schema, _ := schemas.LoadOrStore(reflect.TypeFor[T](), makeSchema[T]())
	return schema.(*jsonschema.Schema)
}

func makeSchema[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // only a type of this package that no schema can describe
	}
	withoutNull(schema)
	for name, property := range schema.Properties {
		switch name {
		case "mode":
			property.Enum = []any{"exclusive", "shared"}
		case "ttl_seconds", "wait_seconds", "break_period_seconds", "since_seconds", "limit":
			property.Minimum = new(0.0)
		}
	}
	return schema
}

// withoutNull removes null from the types of lists, which have to be left out
// instead: some clients refuse a schema with several types.
func withoutNull(schema *jsonschema.Schema) {
	if slices.Contains(schema.Types, "null") && len(schema.Types) == 2 {
		schema.Type = schema.Types[1-slices.Index(schema.Types, "null")]
		schema.Types = nil
	}
	for _, property := range schema.Properties {
		withoutNull(property)
	}
	if schema.Items != nil {
		withoutNull(schema.Items)
	}
}
