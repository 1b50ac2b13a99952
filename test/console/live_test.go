package console

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// rowOf is an expression for the row of a lease in the table; null if there is none.
func rowOf(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('#rows tr')].find((r) => r.dataset.name === %q)`, name)
}

// mark makes sure that the page is not loaded anew: unmarked fails if it was.
func (b *tab) mark() {
	b.t.Helper()
	eval[any](b, `window.marked = true, null`)
}

func (b *tab) checkMark() {
	b.t.Helper()
	if !eval[bool](b, `window.marked === true`) {
		b.t.Errorf("the page was loaded anew; want live updates")
	}
}

// A lease appears, counts down and disappears, and so do its waiters, without a reload.
func TestLeaseComesAndGoes(t *testing.T) {
	s := start(t, nil)
	b := s.open("/console/")
	b.live()
	b.mark()
	b.until(`!document.getElementById('empty').hidden`)
	s.acquire("short", "anna", 6, nil)
	b.until(rowOf("short"))
	b.until(`document.getElementById('empty').hidden`)
	left := `Number(` + rowOf("short") + `.querySelector('progress').value)`
	first := eval[float64](b, left)
	b.until(fmt.Sprintf(`%s < %f`, left, first-1))
	if text := eval[string](b, rowOf("short")+`.querySelector('.t').textContent`); text == "6 s" || text == "no end" {
		t.Errorf("the time left reads %q after a second, want less than 6 s", text)
	}
	b.until(`!` + rowOf("short"))
	b.until(`!document.getElementById('empty').hidden`)

	id := s.acquire("long", "anna", 600, nil)
	b.until(rowOf("long"))
	b.shows("#count", "1")
	if status, answer := s.call("POST", "/v1/leases/renew", map[string]any{"lease_id": id, "ttl_seconds": 3000}); status != 200 {
		t.Fatalf("renew = %d %v", status, answer)
	}
	b.until(rowOf("long") + `.querySelector('progress').max === 3000`)
	s.release(id)
	b.until(`!` + rowOf("long"))
	b.shows("#count", "0")
	b.checkMark()
}

// Rows stand in the order of the server, wherever they come in.
func TestRowsStayInOrder(t *testing.T) {
	s := start(t, nil)
	b := s.open("/console/")
	b.live()
	names := []string{"m", "a", "z", "é", "\U0001F600", "\uFF5E", "M", "a/b", "aa"}
	for _, name := range names {
		s.acquire(name, "anna", 600, nil)
	}
	b.until(fmt.Sprintf(`document.querySelectorAll('#rows tr').length === %d`, len(names)))
	order := `[...document.querySelectorAll('#rows tr')].map((r) => r.dataset.name).join(' ')`
	live := eval[string](b, order)
	b.visit("/console/")
	if loaded := eval[string](b, order); live != loaded {
		t.Errorf("live rows are ordered %q, want %q as when loaded", live, loaded)
	}
}

// After a restart of the server the page recovers by itself, and says so meanwhile.
func TestRestart(t *testing.T) {
	s := start(t, nil)
	s.acquire("before", "anna", 600, nil)
	b := s.open("/console/")
	b.live()
	b.mark()
	b.until(rowOf("before"))
	s.stop()
	b.shows("#live", "Connection lost, trying again")
	s.run()
	s.acquire("after", "anna", 600, nil)
	b.live()
	b.shows("#live", "Live")
	b.until(rowOf("before") + ` && ` + rowOf("after"))
	s.acquire("later", "anna", 600, nil)
	b.until(rowOf("later"))
	b.checkMark()
}

// What came while the page was loaded again stays, though the answer is older.
func TestSlowAnswer(t *testing.T) {
	s := start(t, nil)
	b := s.open("/console/")
	b.live()
	b.mark()
	eval[any](b, `(() => {
		const real = window.fetch;
		window.fetch = async (...a) => {
			const text = await (await real(...a)).text();
			window.loaded = true;
			await new Promise((go) => { window.deliver = go });
			setTimeout(() => { window.delivered = true }, 300);
			return new Response(text);
		};
	})(), null`)
	s.stop()
	b.shows("#live", "Connection lost")
	s.run()
	b.until(`window.loaded`)
	s.acquire("meanwhile", "anna", 600, nil)
	b.until(rowOf("meanwhile"))
	eval[any](b, `window.deliver(), null`)
	b.until(`window.delivered`)
	if !eval[bool](b, `!!(`+rowOf("meanwhile")+`)`) {
		t.Error("an older answer took away a row that came after it")
	}
	b.checkMark()
}

// A page whose server has gone silent, with its connections open, says so, and recovers.
func TestSilentServer(t *testing.T) {
	s := start(t, nil)
	r := record(t, strings.TrimPrefix(s.url, "http://"))
	t.Cleanup(func() { r.listener.Close() })
	through := *s
	through.url = "http://" + r.listener.Addr().String()
	b := through.open("/console/")
	b.live()
	b.mark()
	r.stall(true)
	b.shows("#live", "Connection lost, trying again")
	s.acquire("meanwhile", "anna", 600, nil)
	r.stall(false)
	b.live()
	b.until(rowOf("meanwhile"))
	b.checkMark()
}

// A page that the server was too busy to make is asked for again.
func TestBusyServer(t *testing.T) {
	s := start(t, nil)
	b := s.open("/console/resource?name=deploy")
	b.live()
	b.mark()
	eval[any](b, `(() => {
		const real = window.fetch;
		window.refused = 0;
		window.fetch = (...a) => window.refused < 2 ? (window.refused++, Promise.resolve(new Response('', { status: [503, 429][window.refused - 1] }))) : real(...a);
	})(), null`)
	s.acquire("deploy", "ci:1", 600, nil)
	b.shows("#now", "ci:1")
	if n := eval[int](b, `window.refused`); n != 2 {
		t.Errorf("the page was refused %d times, want 2", n)
	}
	b.checkMark()
}

// The page of a resource follows its lease, its queue and its history.
func TestResourceLives(t *testing.T) {
	s := start(t, nil)
	b := s.open("/console/resource?name=deploy")
	b.live()
	b.mark()
	b.shows("#now", "available")
	id := s.acquire("deploy", "ci:1", 600, map[string]string{"commit": "abc"})
	b.shows("#now", "ci:1")
	b.shows("#now", "commit=abc")
	second := s.wait(map[string]any{"resource": "deploy", "holder": "ci:2"})
	b.shows("#queue", "ci:2")
	time.Sleep(30 * time.Millisecond) // the wait shall last
	s.release(id)
	if status, answer := second(); status != 201 {
		t.Fatalf("the waiter got %d %v, want the lease", status, answer)
	}
	b.shows("#now", "ci:2")
	b.shows("#queue", "Nobody waits")
	b.shows("#history", "released")
	b.shows("#history", "waited ")
	b.until(`document.querySelectorAll('#history .timeline rect:not(.track)').length === 2`)
	b.checkMark()
}

// A page that nobody sees closes its stream, and catches up when it is seen again.
func TestHiddenTabPauses(t *testing.T) {
	s := start(t, nil)
	b := s.open("/console/")
	b.live()
	hide := func(hidden bool) {
		eval[any](b, fmt.Sprintf(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => %v }), document.dispatchEvent(new Event('visibilitychange')), null`, hidden))
	}
	hide(true)
	b.until(`document.documentElement.dataset.live === 'paused'`)
	s.acquire("meanwhile", "anna", 600, nil)
	if eval[bool](b, `!!(`+rowOf("meanwhile")+`)`) {
		t.Errorf("a hidden page was updated")
	}
	hide(false)
	b.live()
	b.until(rowOf("meanwhile"))
}

// After whatever happened, pages that were kept up to date show what those show that
// are loaded now.
func TestLiveIsWhatIsLoaded(t *testing.T) {
	s := start(t, nil)
	tabs := map[string]*tab{}
	for _, path := range []string{"/console/", "/console/?holder=h1", "/console/waits", "/console/resource?name=r05", "/console/holder?name=h1"} {
		tabs[path] = s.open(path)
		tabs[path].live()
		tabs[path].mark()
	}
	churn(s)
	// All but the times that run.
	const shown = `(() => {
		const main = document.querySelector('main').cloneNode(true);
		main.querySelectorAll('[data-left], [data-for], .left, form, .timeline, .ends, #refused').forEach((e) => e.remove());
		main.querySelectorAll('td, th, li, p, h2, title').forEach((e) => e.append(' '));
		return main.textContent.replace(/\s+/g, ' ');
	})()`
	loaded := s.open("/console/")
	for path, live := range tabs {
		for deadline := time.Now().Add(patience); ; time.Sleep(300 * time.Millisecond) { // until leases of a second and short waits are over
			loaded.visit(path)
			got, want := eval[string](live, shown), eval[string](loaded, shown)
			if got == want {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%s shows, live,\n%s\nand loaded\n%s", path, got, want)
				break
			}
		}
		live.checkMark()
	}
}

// churn lets holders acquire, wait, renew, release and break, by dice.
func churn(s *site) {
	ids := map[string]string{}
	for range 400 {
		name, holder := fmt.Sprintf("r%02d", rand.IntN(30)), fmt.Sprintf("h%d", rand.IntN(5))
		switch rand.IntN(6) {
		case 0, 1:
			if _, answer := s.call("POST", "/v1/leases/acquire", map[string]any{"resource": name, "holder": holder, "ttl_seconds": 1 + 600*rand.IntN(2)}); answer["lease_id"] != nil {
				ids[name] = answer["lease_id"].(string)
			}
		case 2:
			s.call("POST", "/v1/leases/renew", map[string]any{"lease_id": ids[name], "ttl_seconds": 1 + 600*rand.IntN(2)})
		case 3:
			s.call("POST", "/v1/leases/release", map[string]any{"lease_id": ids[name]})
		case 4:
			s.call("POST", "/v1/leases/break", map[string]any{"resource": name, "break_period_seconds": rand.IntN(2)})
		case 5:
			s.wait(map[string]any{"resource": name, "holder": holder, "ttl_seconds": 600, "timeout_ms": 50 + 600_000*rand.IntN(2)})
		}
		time.Sleep(time.Duration(rand.IntN(12)) * time.Millisecond) // so that some updates come together
	}
}
