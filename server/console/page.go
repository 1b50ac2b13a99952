package console

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/leasehold/leasehold/server/auth"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// templates has one set for each page: the layout and the parts around its content.
var templates = parseTemplates("leases", "resource", "holder", "waits", "plots", "settings", "health", "login", "problem")

func parseTemplates(names ...string) map[string]*template.Template {
	sets := map[string]*template.Template{}
	for _, name := range names {
		sets[name] = template.Must(template.New("layout.html").Funcs(functions).
			ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/"+name+".html"))
	}
	return sets
}

var functions = template.FuncMap{
	"left": leftText, "span": spanText, "clock": clockText, "day": dayText,
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"fixed": func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) },
}

// page is what the layout needs.
type page struct {
	Title   string // of the window, first; also the heading
	Name    string // a name that the heading shows as data
	Current string // path of the page's entry in the menu
	Stream  string // address of its live updates; empty: none
	NotLive bool   // the store cannot give it any
	Data    any

	// The rest is filled in by render.
	visit *visit
	done  string
}

// Menu is the navigation.
func (p page) Menu() []menuEntry {
	entries := []menuEntry{
		{"Leases", "", false}, {"Waiting", "waits", false}, {"Plots", "plots", false},
		{"Settings", "settings", false}, {"Health", "health", false},
	}
	for i := range entries {
		entries[i].Current = entries[i].Path == p.Current
		entries[i].Path = p.Link(entries[i].Path)
	}
	return entries
}

type menuEntry struct {
	Label, Path string
	Current     bool
}

// Link is the address of another page, as of the same moment. Pairs are keys and
// values of the query.
func (p page) Link(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Add(pairs[i], pairs[i+1])
	}
	if at := p.visit.query.Get("at"); at != "" && !p.visit.at.IsZero() && table[auth.ConsolePath+path].past {
		q.Set("at", at)
	}
	link := auth.ConsolePath + path
	if len(q) > 0 {
		link += "?" + q.Encode()
	}
	return link
}

// Resource and Holder are the addresses of their pages.
func (p page) Resource(name string) string { return p.Link("resource", "name", name) }
func (p page) Holder(name string) string   { return p.Link("holder", "name", name) }

// Caller, Secret and what follows are for the layout and the forms.
func (p page) Caller() auth.Caller { return p.visit.caller }
func (p page) LoggedIn() bool      { return p.visit.caller.Name != "" && !p.visit.s.o.Guard.Open() }
func (p page) Readable() bool      { return p.visit.mayRead() }

// MayOperate reports whether the page shows what changes anything: nothing changes
// the past.
func (p page) MayOperate() bool { return p.visit.mayOperate() && p.visit.moment().IsZero() }

// Secret is the value that each form carries.
func (p page) Secret() string  { return p.visit.formSecret() }
func (p page) Version() string { return p.visit.s.o.Version }
func (p page) Store() string   { return p.visit.s.o.Health.Store }
func (p page) Done() string    { return p.done }

// ShowsWaiters reports whether the table says who waits: of the past no record does, nor
// do some stores.
func (p page) ShowsWaiters() bool {
	return p.visit.moment().IsZero() && !p.visit.s.noWaits.Load()
}

// At is the moment that the page is of; zero is now.
func (p page) At() time.Time { return p.visit.moment() }

// Isolated is the name with the marks that keep its direction of writing to itself, for
// the window's title, which is plain text.
func (p page) Isolated() string { return isolated(p.Name) }

// Since is a time as the table shows it.
func (p page) Since(t time.Time) string {
	if at := p.At(); !at.IsZero() {
		return sinceText(t, at)
	}
	return sinceText(t, time.Now())
}

// Now is this page without its moment.
func (p page) Now() string {
	q := p.visit.r.URL.Query()
	q.Del("at")
	q.Del("cursor")
	u := url.URL{Path: p.visit.r.URL.Path, RawQuery: q.Encode()}
	return u.String()
}

// Kept are the other fields of this page's address, for the form that chooses a moment.
func (p page) Kept() [][2]string {
	var kept [][2]string
	for key, values := range p.visit.query {
		if key == "at" || key == "cursor" || key == "done" {
			continue
		}
		for _, value := range values {
			kept = append(kept, [2]string{key, value})
		}
	}
	return kept
}

// WideTokens reports whether the table needs room for tokens of many digits, as those of
// some stores have.
func (p page) WideTokens(rows []row) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return r.Token >= 1_000_000 })
}

// Row is a row of this page.
func (p page) Row(r row) rowView { return rowView{p, r} }

// eventsView is a list of records. Named says that it is of one holder, so each names
// its resource instead.
type eventsView struct {
	Page   page
	Events []event
	Named  bool
}

func (p page) Events(events []event, named bool) eventsView { return eventsView{p, events, named} }

// Text is a short duration.
func (p page) Text(d time.Duration) string { return preciseText(d) }

// namedDistribution is a row of the table of numbers.
type namedDistribution struct {
	Label string
	D     distribution
}

func (p page) Rows(a string, x distribution, b string, y distribution) []namedDistribution {
	return []namedDistribution{{a, x}, {b, y}}
}

// render writes a page.
func (v *visit) render(status int, name string, p page) error {
	p.visit, p.done = v, doneText(v.query)
	if p.NotLive = p.Stream != "" && v.moment().IsZero() && !v.s.watches(); p.NotLive || !v.moment().IsZero() {
		p.Stream = ""
	}
	var b bytes.Buffer
	if err := templates[name].Execute(&b, p); err != nil {
		return err
	}
	v.wrote = true
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	if v.r.Method == http.MethodHead {
		return nil
	}
	_, _ = v.w.Write(b.Bytes()) // the visitor may have gone
	return nil
}

// static serves an embedded file.
func static(name, media string) func(*visit) error {
	return func(v *visit) error {
		body, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			return err
		}
		v.w.Header().Set("Content-Type", media)
		v.w.Header().Set("Cache-Control", "no-cache")
		v.wrote = true
		if v.r.Method == http.MethodHead {
			return nil
		}
		_, _ = v.w.Write(body)
		return nil
	}
}
