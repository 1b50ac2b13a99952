package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"slices"
)

//go:embed docs.html
var docsHTML string

var docsTemplate = template.Must(template.New("docs").Funcs(template.FuncMap{
	"json":  pretty,
	"param": paramName,
}).Parse(docsHTML))

// section is a group of calls on the page.
type section struct {
	Title string
	Calls []pageCall
}

// pageCall is an endpoint as the page shows it.
type pageCall struct {
	*endpoint
	RoleNames               string
	Params, Fields, Answers []field
	Codes                   []codeOfCall
}

type codeOfCall struct {
	Code   string
	Status int
}

// page renders the page for people, once: it is the same for everybody.
func page(endpoints []*endpoint) []byte {
	var b bytes.Buffer
	data := struct {
		Sections []section
		Codes    []code
	}{sections(endpoints), codes}
	if err := docsTemplate.Execute(&b, data); err != nil {
		panic(err) // the template does not fit the table
	}
	return b.Bytes()
}

func sections(endpoints []*endpoint) []section {
	all := []section{{Title: "Holding leases"}, {Title: "Looking"}, {Title: "Operating"}, {Title: "The server itself"}}
	for _, e := range endpoints {
		i := 3
		switch {
		case slices.Equal(e.Roles, operators):
			i = 2
		case e.Method == "POST":
			i = 0
		case len(e.Roles) > 0 && e.ID != "metrics":
			i = 1
		}
		all[i].Calls = append(all[i].Calls, forPage(e))
	}
	return all
}

func forPage(e *endpoint) pageCall {
	p := pageCall{endpoint: e, RoleNames: roleNames(e)}
	if e.query != nil {
		p.Params = fieldsOf(e.query, "query")
	}
	if e.body != nil {
		p.Fields = fieldsOf(e.body, "json")
	}
	if e.answer != nil {
		p.Answers = fieldsOf(e.answer, "json")
	}
	for _, c := range e.allCodes() {
		p.Codes = append(p.Codes, codeOfCall{string(c), e.statusOf(c)})
	}
	slices.SortStableFunc(p.Codes, func(a, b codeOfCall) int { return a.Status - b.Status })
	return p
}

func pretty(v any) (string, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return string(data), err
}
