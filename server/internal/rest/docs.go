package rest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"

	"github.com/leasehold/leasehold"
)

//go:embed docs.html
var docsHTML string

var docsTemplate = template.Must(template.New("docs").Funcs(template.FuncMap{
	"json":   indentJSON,
	"param":  paramName,
	"fields": fieldsOf,
}).Parse(docsHTML))

// Code is a problem code and what it means.
type Code struct {
	Code leasehold.Reason
	When string
}

// Page makes the page for people: the introduction, the sections, the codes.
func Page[C any](title string, intro template.HTML, sections []Section[C], codes []Code) []byte {
	var b bytes.Buffer
	data := struct {
		Title    string
		Intro    template.HTML
		Sections []Section[C]
		Codes    []Code
	}{title, intro, sections, codes}
	if err := docsTemplate.Execute(&b, data); err != nil {
		panic(err) // the template does not fit the table
	}
	return b.Bytes()
}

func indentJSON(v any) (string, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return string(data), err
}
