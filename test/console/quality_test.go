package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pages are all pages of a populated site.
var pages = []string{
	"/console/", "/console/?holder=anna&metadata=job%3D4711", "/console/resource?name=deploy:prod", "/console/holder?name=agent:refactor",
	"/console/waits", "/console/plots", "/console/settings", "/console/health", "/console/nothing-here",
}

// pastPages are pages as of a moment ago.
func pastPages() (paths []string) {
	at := time.Now().Add(-time.Second).UTC().Format("2006-01-02T15:04:05Z")
	for _, path := range []string{"/console/?", "/console/resource?name=deploy:prod&", "/console/waits?", "/console/settings?"} {
		paths = append(paths, path+"at="+at)
	}
	return paths
}

// axe-core finds nothing to complain of, in light and dark, on a desktop and a phone.
func TestAccessibility(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if err != nil && os.Getenv(required) == "1" {
		t.Fatalf("axe-core is missing; make test-console installs it: %v", err)
	}
	s := start(t, nil)
	populate(s)
	makeCycle(s)
	b := s.open("/console/")
	check := func(b *tab, path, scheme string) {
		run(b, chromedp.Evaluate[chromedp.Void](string(axe)))
		found := eval[string](b, `axe.run(document, {resultTypes: ['violations']}).then((r) => JSON.stringify(r.violations.map((v) =>
			({rule: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => n.html + ' ' + n.failureSummary)}))))`)
		var violations []struct {
			Rule, Help string
			Nodes      []string
		}
		if err := json.Unmarshal([]byte(found), &violations); err != nil {
			t.Fatal(err)
		}
		for _, v := range violations {
			t.Errorf("%s in %s: %s: %s\n%s", path, scheme, v.Rule, v.Help, strings.Join(v.Nodes, "\n"))
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for _, path := range append(pages, pastPages()...) {
			b.size(1280, 900)
			b.visit(path)
			if strings.Contains(path, "resource") || strings.Contains(path, "holder?") {
				eval[any](b, `document.querySelectorAll('details.danger').forEach((d) => { d.open = true }), null`)
			}
			check(b, path, scheme)
		}
		b.size(360, 740)
		b.visit("/console/")
		check(b, "the phone's table", scheme)
	}
	tokens, _, _, _ := withTokens(t)
	login := tokens.open("/console/")
	check(login, "login", "light")
	login.scheme("dark")
	check(login, "login", "dark")
}

// Nothing is wider than a phone of 360 pixels.
func TestPhone(t *testing.T) {
	s := start(t, nil)
	populate(s)
	hostile(s)
	b := s.open("/console/")
	makeCycle(s)
	b.size(360, 740)
	b.visit(pastPages()[0])
	if less := eval[float64](b, `(() => { const e = document.querySelector('#at'), has = e.offsetWidth; e.style.flex = e.style.maxWidth = 'none'; return e.offsetWidth - has })()`); less > 0 {
		t.Errorf("the field of the moment is %v pixels narrower than what it shows", less)
	}
	for _, path := range append(append(pages, pastPages()...), "/console/resource?"+url.Values{"name": {hostileNames[3]}}.Encode(), "/console/?prefix="+strings.Repeat("long", 20)) {
		b.visit(path)
		if n := eval[int](b, `[...document.querySelectorAll('.leases td.num')].filter((c) => { const r = document.createRange(); r.selectNodeContents(c); return r.getClientRects().length > 1 && c.offsetHeight > 30 }).length`); n > 0 {
			t.Errorf("%s has %d numbers on several lines", path, n)
		}
		if width := eval[int](b, `document.documentElement.scrollWidth`); width > 360 {
			wide := eval[string](b, `[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > 361 && !e.closest('.scroll, .hidden')).slice(0, 5).map((e) => e.outerHTML.slice(0, 200)).join('\n')`)
			t.Errorf("%s is %d pixels wide on a phone of 360:\n%s", path, width, wide)
		}
	}
}

// All can be done with the keyboard alone, and the focus shows.
func TestKeyboard(t *testing.T) {
	s := start(t, nil)
	s.acquire("deploy", "ci:1", 600, nil)
	b := s.open("/console/")
	b.live()
	focus := `(document.activeElement.getAttribute('href') || document.activeElement.id || document.activeElement.textContent.trim()).slice(0, 80)`
	tabTo := func(what string) {
		t.Helper()
		var seen []string
		for range 60 {
			run(b, chromedp.KeyEvent(kb.Tab))
			at := eval[string](b, focus)
			if outline := eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
				t.Errorf("the focus on %q does not show", at)
			}
			if at == what {
				return
			}
			seen = append(seen, at)
		}
		t.Fatalf("Tab never reaches %q; it reaches %q", what, seen)
	}
	tabTo("#main") // the first of all is the skip link
	run(b, chromedp.KeyEvent(kb.Enter))
	if at := eval[string](b, `document.activeElement.id`); at != "main" {
		t.Errorf("the skip link leads to %q, want main", at)
	}
	tabTo("/console/resource?name=deploy")
	run(b, chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname === '/console/resource' && document.readyState === 'complete'`)
	tabTo("Break this lease…")
	run(b, chromedp.KeyEvent(kb.Enter))
	tabTo("reason")
	run(b, chromedp.KeyEvent("by keyboard"))
	run(b, chromedp.KeyEvent(kb.Enter))
	b.shows("#history q", "by keyboard")

	// A live update does not take the focus away.
	b.visit("/console/")
	b.live()
	id := s.acquire("focus", "anna", 600, nil)
	b.until(rowOf("focus"))
	tabTo("/console/resource?name=focus")
	s.call("POST", "/v1/leases/renew", map[string]any{"lease_id": id, "ttl_seconds": 1200})
	b.until(rowOf("focus") + `.querySelector('progress').max === 1200`)
	if at := eval[string](b, focus); at != "/console/resource?name=focus" {
		t.Errorf("after a live update the focus is on %q", at)
	}
	// A row that goes gives it to the one in its place.
	s.acquire("further", "anna", 600, nil)
	b.until(rowOf("further"))
	s.release(id)
	b.until("!" + rowOf("focus"))
	if at := eval[string](b, focus); at != "/console/resource?name=further" {
		t.Errorf("after the row has gone the focus is on %q, want the next row", at)
	}
}

// A drawing that is wider than the screen stays where it was moved to, and keeps the
// focus, while the page changes.
func TestWideDrawing(t *testing.T) {
	s := start(t, nil)
	s.acquire("r1", "h1", 600, nil)
	for i := 1; i <= 3; i++ {
		holder := fmt.Sprintf("h%d", i+1)
		s.acquire(fmt.Sprintf("r%d", i+1), holder, 600, nil)
		s.wait(map[string]any{"resource": fmt.Sprintf("r%d", i), "holder": holder})
		s.untilWaiting(fmt.Sprintf("r%d", i), 1)
	}
	b := s.open("/console/waits")
	b.size(360, 740)
	b.live()
	b.shows(".sideways", "moves sideways")
	eval[any](b, `document.querySelector('#graph .scroll').focus(), document.querySelector('#graph .scroll').scrollLeft = 150, null`)
	s.wait(map[string]any{"resource": "r4", "holder": "h5"})
	b.shows("#graph", "4 waiting")
	if left := eval[int](b, `document.querySelector('#graph .scroll').scrollLeft`); left != 150 {
		t.Errorf("after a live update the drawing has moved to %d, want 150", left)
	}
	if !eval[bool](b, `document.activeElement === document.querySelector('#graph .scroll')`) {
		t.Error("a live update took the focus from the drawing")
	}
}

// hostileNames are names that try to be more than text.
var hostileNames = []string{
	`<script>document.title='owned'</script>`, `"><img src=x onerror="document.title='owned'">`,
	"abc\u202eevil\u202c\u0645\u0631\u062d\u0628\u0627", strings.Repeat("0123456789abcdef", 64), `{{.Secret}}`, `'-alert(1)-'`,
}

// hostile makes leases with such names, holders, metadata, reasons and waiters.
func hostile(s *site) {
	for _, name := range hostileNames {
		s.acquire(name, cut(name, 200), 3600, map[string]string{"note": cut(name, 1000)})
		s.wait(map[string]any{"resource": name, "holder": "w" + cut(name, 200)})
	}
}

func cut(s string, most int) string { return s[:min(len(s), most)] }

// Names are shown as text, and break nothing.
func TestHostileNames(t *testing.T) {
	s := start(t, nil)
	b := s.open("/console/")
	b.live()
	hostile(s) // rows come live
	check := func(where string) {
		t.Helper()
		for _, bad := range []string{`document.title.includes('owned') && !document.title.includes('<')`, `document.querySelector('main script, main img, main iframe, main [onerror]')`} {
			if eval[bool](b, `!!(`+bad+`)`) {
				t.Errorf("%s: %s", where, bad)
			}
		}
		if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > 1280 {
			t.Errorf("%s is %d pixels wide, want at most 1280", where, wide)
		}
	}
	b.until(fmt.Sprintf(`document.querySelectorAll('#rows tr').length === %d`, len(hostileNames)))
	check("the live table")
	b.visit("/console/")
	check("the table")
	for _, name := range hostileNames {
		quoted, _ := json.Marshal(name)
		if n := eval[int](b, fmt.Sprintf(`[...document.querySelectorAll('#rows th bdi')].filter((e) => e.textContent === %s).length`, quoted)); n != 1 {
			t.Errorf("the table shows %.40q %d times, want once and as text", name, n)
		}
		if height := eval[float64](b, rowOf(name)+`.getBoundingClientRect().height`); height > 250 {
			t.Errorf("the row of %.40q is %v pixels high", name, height)
		}
		b.visit("/console/resource?" + url.Values{"name": {name}}.Encode())
		check("the page of " + name)
		if text := eval[string](b, `document.querySelector('h1 bdi').textContent`); text != name {
			t.Errorf("the resource's page is headed %.60q, want %.60q", text, name)
		}
		b.visit("/console/holder?" + url.Values{"name": {cut(name, 200)}}.Encode())
		check("the holder's page of " + name)
		b.visit("/console/")
	}
	// The largest token stays in its cell.
	for _, class := range []string{"leases", "leases wide"} {
		over := eval[int](b, fmt.Sprintf(`(() => { document.querySelector('.leases').className = %q; const c = document.querySelector('#rows .token'); c.textContent = '9007199254740991'; return c.scrollWidth - c.clientWidth })()`, class))
		lines := eval[int](b, `(() => { const r = document.createRange(); r.selectNodeContents(document.querySelector('#rows .token')); return r.getClientRects().length })()`)
		if over > 0 || class == "leases wide" && lines > 1 {
			t.Errorf("in %q the largest token is %d pixels too wide, on %d lines", class, over, lines)
		}
	}
	b.visit("/console/waits")
	b.until(fmt.Sprintf(`document.querySelectorAll('#graph .node').length >= %d`, len(hostileNames)))
	if long := eval[string](b, `[...document.querySelectorAll('#graph .node')].filter((n) => n.querySelector('text').getComputedTextLength() + 18 > n.querySelector('rect').getBBox().width).map((n) => n.textContent.slice(0, 40)).join('\n')`); long != "" {
		t.Errorf("in the drawing these names are wider than their boxes:\n%s", long)
	}
}
