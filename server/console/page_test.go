package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/store/chaos"
)

// populate fills the store with one of everything.
func populate(s *site) (ids []string) {
	s.t.Helper()
	keep := func(g leasehold.Grant) { ids = append(ids, g.ID.String()) }
	keep(s.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:1", TTL: time.Hour, Metadata: map[string]string{"commit": "abc"}}))
	keep(s.acquire(leasehold.AcquireRequest{Resource: "printer", Holder: "ben", TTL: leasehold.Infinite}))
	keep(s.acquire(leasehold.AcquireRequest{Holder: "agent", TTL: time.Hour, Claims: leasehold.Paths("shop", "src/**", "go.mod")}))
	keep(s.acquire(leasehold.AcquireRequest{Resource: "blob:acct/c/b", Holder: "azure", TTL: time.Hour}))
	g := s.acquire(leasehold.AcquireRequest{Resource: "deploy:old", Holder: "ci:0", TTL: time.Hour})
	if _, err := s.store.Release(s.t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource, Why: "done early"}); err != nil {
		s.t.Fatal(err)
	}
	ids = append(ids, g.ID.String())
	id := leasehold.NewID()
	s.queue(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:2", ID: id, Timeout: leasehold.NoTimeout})
	return append(ids, id.String())
}

// Every page has what it is for, a strict policy, and no lease id.
func TestPages(t *testing.T) {
	s := start(t, nil, "")
	ids := populate(s)
	for path, parts := range map[string][]string{
		"/console/":                                {"deploy", "printer", "no end", "shop src/**", "go.mod", ">set<", ">blob<", "commit=abc", `id="count">4<`, `id="waiting">1<`, "ci:2"},
		"/console/?prefix=dep":                     {`id="count">1<`, "ci:1", "Clear"},
		"/console/?holder=ben":                     {"printer", `id="count">1<`},
		"/console/?metadata=commit%3Dabc":          {`id="count">1<`, `value="commit=abc"`},
		"/console/?prefix=nothing":                 {"No lease matches"},
		"/console/resource?name=deploy":            {"active", "ci:1", "Queue", "ci:2", "acquired", "Break this lease", `class="timeline"`},
		"/console/resource?name=deploy%3Aold":      {"released", "done early", "Last holder"},
		"/console/resource?name=never":             {"available", "No lease is known", "No records"},
		"/console/holder?name=ci:1":                {"deploy", "Force-release", "It waits for nothing"},
		"/console/holder?name=ci:2":                {"It holds nothing", "position 1", "behind"},
		"/console/holder?name=agent":               {"shop src/**"},
		"/console/waits":                           {"ci:2", "<svg", "ci:2 waits for deploy of ci:1", "Cycles refused"},
		"/console/plots":                           {`id="granted">5<`, `id="ended">1<`, "<svg", "Records by kind"},
		"/console/plots?window=7d&prefix=deploy":   {`id="granted">2<`},
		"/console/settings":                        {"max_leases", "1000000", "Change…", "No change is on record"},
		"/console/health":                          {"healthy", "keeps a history", "open to its own machine"},
		"/console/leasehold.css":                   {"prefers-color-scheme"},
		"/console/leasehold.js":                    {"EventSource"},
		"/console/leasehold.svg":                   {"<svg"},
		"/console/resource?name=src&done=broken":   {"The lease is broken"},
		"/console/resource?name=src&done=breaking": {"being broken"},
	} {
		a := s.shows(path, http.StatusOK, parts...)
		for _, id := range ids {
			if strings.Contains(a.body, id) {
				t.Errorf("GET %s shows the lease id %s", path, id)
			}
		}
		if got := a.header.Get("Content-Security-Policy"); got != securityPolicy {
			t.Errorf("GET %s has the policy %q", path, got)
		}
		if got := a.header.Get("Cache-Control"); got != "no-store" && !strings.Contains(path, "/leasehold.") {
			t.Errorf("GET %s has Cache-Control %q, want no-store", path, got)
		}
		for _, bad := range []string{" style=", "<style", "javascript:", " onclick", "http://", "https://"} {
			if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") && strings.Contains(a.body, bad) {
				t.Errorf("GET %s has %q", path, bad)
			}
		}
		if head := s.send(http.MethodHead, path, ""); head.status != http.StatusOK || head.body != "" {
			t.Errorf("HEAD %s = %d %q", path, head.status, head.body)
		}
	}
}

func TestWrongRequests(t *testing.T) {
	s := start(t, nil, "")
	for path, want := range map[string]struct {
		status int
		part   string
	}{
		"/console/nothing":                                   {404, "no such page"},
		"/console/resource":                                  {400, "resource"},
		"/console/holder?name=":                              {400, "holder"},
		"/console/?metadata=nonsense":                        {400, "key=value"},
		"/console/?cursor=nonsense":                          {400, "cursor"},
		"/console/?at=yesterday":                             {400, "is no time"},
		"/console/?at=0001-01-01T00:00:00Z":                  {400, "is no time"},
		"/console/?at=9999-12-31T23:59:59Z":                  {400, "in the future"},
		"/console/plots?at=9999-12-31T23:59:59-23:59":        {400, "in the future"},
		"/console/resource?name=x&at=2300-01-01T00:00":       {400, "in the future"},
		"/console/?metadata=a%3D1&metadata=a%3D2":            {400, "two values"},
		"/console/break":                                     {405, "method"},
		"/console/resource?name=x&cursor=nonsense":           {400, "cursor"},
		"/console/plots?prefix=" + strings.Repeat("x", 2000): {400, "prefix"},
		"/console/stream?of=nothing":                         {400, "no page with live updates"},
		"/console/stream?of=resource":                        {400, "resource"},
		"/console/stream?of=holder":                          {400, "holder"},
		"/console/stream?of=leases&metadata=x":               {400, "key=value"},
	} {
		s.shows(path, want.status, want.part)
	}
	for _, path := range []string{"/", "/console"} {
		if a := s.get(path); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/" {
			t.Errorf("GET %s = %d to %q, want the console", path, a.status, a.header.Get("Location"))
		}
	}
	if a := s.send(http.MethodOptions, "/console/", ""); a.status != http.StatusMethodNotAllowed {
		t.Errorf("OPTIONS = %d, want 405", a.status)
	}
	if a := s.get("/console/", "Host: evil.example"); a.status != http.StatusOK {
		t.Errorf("GET = %d", a.status) // Go sends Host elsewhere; TestForeignPages tries it
	}
}

// Names are text wherever they show.
func TestHostileNames(t *testing.T) {
	s := start(t, nil, "")
	for _, name := range []string{`<script>x</script>`, `"><img src=x>`, "a\u202eb", strings.Repeat("é", 512), "{{.Secret}}", "a b/../c?d#e&f=g%41"} {
		s.acquire(leasehold.AcquireRequest{Resource: name, Holder: name[:min(len(name), 200)], TTL: time.Hour, Metadata: map[string]string{"k": name}})
		s.queue(leasehold.AcquireRequest{Resource: name, Holder: "w" + name[:min(len(name), 200)], Timeout: leasehold.NoTimeout})
		q := url.Values{"name": {name}}.Encode()
		at := "at=" + url.QueryEscape(time.Now().UTC().Format(time.RFC3339Nano))
		for _, path := range []string{"/console/", "/console/waits", "/console/resource?" + q, "/console/plots", "/console/?" + at, "/console/resource?" + q + "&" + at, "/console/waits?" + at, "/console/?" + url.Values{"prefix": {name}}.Encode()} {
			a := s.shows(path, http.StatusOK)
			if strings.Contains(a.body, "<script>x") || strings.Contains(a.body, "<img src=x") {
				t.Errorf("GET %s shows %q as HTML", path, name)
			}
		}
	}
}

// The window's title is plain text: a name in it turns nothing but itself.
func TestTitleIsIsolated(t *testing.T) {
	s := start(t, nil, "")
	for _, name := range []string{"a\u202eb", "a\u2069\u202eb"} {
		want := "<title>\u2068" + strings.ReplaceAll(name, "\u2069", "") + "\u2069 · Resource"
		s.shows("/console/resource?"+url.Values{"name": {name}}.Encode(), http.StatusOK, want)
	}
}

// Pages of the table have cursors, and the counts cover all.
func TestManyLeases(t *testing.T) {
	s := start(t, nil, "")
	for i := range 450 {
		s.acquire(leasehold.AcquireRequest{Resource: fmt.Sprintf("r%04d", i), Holder: "h", TTL: time.Hour})
	}
	next, seen := "", 0
	for range 5 {
		a := s.shows("/console/"+next, http.StatusOK, `id="count">450<`)
		seen += strings.Count(a.body, "<tr data-name")
		_, link, ok := strings.Cut(a.body, `rel="next"`)
		if !ok {
			break
		}
		_ = link
		before, _, _ := strings.Cut(a.body, `" rel="next"`)
		next = strings.ReplaceAll(before[strings.LastIndex(before, `"`)+1:], "&amp;", "&")
	}
	if seen != 450 {
		t.Errorf("the pages show %d rows, want 450", seen)
	}
	s.shows("/console/holder?name=h", http.StatusOK, "All of its leases")
}

func TestTimeTravel(t *testing.T) {
	s := start(t, nil, "")
	s.shows("/console/?at=2020-01-01T00:00:00Z", http.StatusOK, "the history is empty")
	g := s.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:1", TTL: time.Hour})
	set := s.acquire(leasehold.AcquireRequest{Holder: "agent", TTL: time.Hour, Claims: leasehold.Paths("shop", "src/**")})
	time.Sleep(20 * time.Millisecond) // records have times of milliseconds
	then := time.Now()
	time.Sleep(20 * time.Millisecond) // as above
	if _, err := s.store.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource}); err != nil {
		t.Fatal(err)
	}
	s.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:2", TTL: time.Hour})
	at := "at=" + url.QueryEscape(then.UTC().Format(time.RFC3339Nano))
	past := s.shows("/console/?"+at, http.StatusOK, "As of", "Back to now", "deploy", "ci:1", "src/**", `id="count">2<`)
	if strings.Contains(past.body, "ci:2") || strings.Contains(past.body, "data-stream") {
		t.Errorf("the past shows what came later, or has live updates:\n%s", past.body)
	}
	s.shows("/console/?holder=ci:1&metadata=a%3Db&"+at, http.StatusOK, `id="count">1<`, "Metadata is not on record")
	page := s.shows("/console/resource?name=deploy&"+at, http.StatusOK, "ci:1", "Time left")
	if strings.Contains(page.body, "Break this lease") {
		t.Error("the past can be broken")
	}
	s.shows("/console/resource?name="+url.QueryEscape(set.Resource)+"&"+at, http.StatusOK, "agent")
	s.shows("/console/holder?name=ci:1&"+at, http.StatusOK, "deploy")
	s.shows("/console/plots?"+at, http.StatusOK, `id="granted">2<`, `id="ended">0<`)
	s.shows("/console/waits?"+at, http.StatusOK, "Nobody was seen waiting")
	// What no record has is not said to have been none.
	for _, path := range []string{"?", "holder?name=ci:1&"} {
		if a := s.shows("/console/"+path+at, http.StatusOK, "ci:1"); strings.Contains(a.body, ">Waiting</th>") || strings.Contains(a.body, ">Metadata</th>") {
			t.Errorf("GET %s: the table of the past has columns that no record fills", path)
		}
	}
	s.server.first = cached[time.Time]{}
	for path, bad := range map[string]string{"?": `id="count"`, "holder?name=ci:1&": "It held nothing"} {
		a := s.shows("/console/"+path+"at=2020-01-01T00:00:00Z", http.StatusOK, "before the history that is kept", "No lease is on record")
		if strings.Contains(a.body, bad) {
			t.Errorf("GET %s of a moment of which nothing is known has %q", path, bad)
		}
	}
	s.shows("/console/?at=2020-01-01T00:00:00", http.StatusOK, "No lease is on record")
}

// Where old records are purged the page says where the rest begins, and guesses nothing.
func TestPurgedPast(t *testing.T) {
	s := start(t, nil, "")
	s.acquire(leasehold.AcquireRequest{Resource: "old", Holder: "ci:1", TTL: time.Hour})
	time.Sleep(20 * time.Millisecond) // records have times of milliseconds
	lost := time.Now()
	time.Sleep(1100 * time.Millisecond) // pages write whole seconds
	s.acquire(leasehold.AcquireRequest{Resource: "new", Holder: "ci:2", TTL: time.Hour})
	kept := s.newest(leasehold.KindAcquired).At
	if _, err := s.store.(leasehold.Configurer).SetSetting(t.Context(), leasehold.SettingHistoryMaxRows, int64(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.(leasehold.Cleaner).Cleanup(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := "at=" + url.QueryEscape(lost.UTC().Format(time.RFC3339Nano))
	for _, path := range []string{"?", "resource?name=old&", "holder?name=ci:1&", "waits?", "settings?"} {
		a := s.shows("/console/"+path+at, http.StatusOK, "Nothing is known of this moment", "begins at <time datetime=\""+kept.UTC().Format(time.RFC3339)+"\"")
		if strings.Contains(a.body, `data-name="old"`) {
			t.Errorf("GET %s shows a lease whose records are purged", path)
		}
	}
}

// More waiters than a list has: pages that show a part of them say so.
func TestManyWaiters(t *testing.T) {
	s := start(t, nil, "")
	s.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:1", TTL: time.Hour})
	ctx, cancel := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	t.Cleanup(func() { cancel(); waiting.Wait() })
	const n = leasehold.MaxPage + 5
	for i := range n {
		waiting.Go(func() {
			_, _ = s.store.(leasehold.Waiter).Wait(ctx, leasehold.AcquireRequest{Resource: "deploy", Holder: fmt.Sprint("w", i), Timeout: leasehold.NoTimeout})
		})
	}
	for deadline := time.Now().Add(30 * time.Second); s.waiting() < n && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // the store lives in real time
	}
	part := fmt.Sprintf("only the first %d ", leasehold.MaxPage)
	s.shows("/console/", http.StatusOK, fmt.Sprintf(`id="waiting">%d<`, n), part)
	a := s.shows("/console/holder?name=nobody", http.StatusOK, part)
	if strings.Contains(a.body, "It waits for nothing") {
		t.Error("a holder that was not looked for in all waits is said to wait for nothing")
	}
	s.shows("/console/waits", http.StatusOK, fmt.Sprintf("<b>%d</b> waiting", n), fmt.Sprintf("The first %d are listed", pageRows))
}

// Who waited at a moment shows once the wait is over.
func TestWaitsAt(t *testing.T) {
	s := start(t, nil, "")
	g := s.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:1", TTL: time.Hour})
	s.queue(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:2", Timeout: leasehold.NoTimeout, TTL: time.Hour})
	time.Sleep(20 * time.Millisecond) // records have times of milliseconds
	then := time.Now()
	time.Sleep(20 * time.Millisecond) // as above
	path := "/console/waits?at=" + url.QueryEscape(then.UTC().Format(time.RFC3339Nano))
	s.shows(path, http.StatusOK, "Nobody was seen waiting", "As of")
	if _, err := s.store.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource}); err != nil {
		t.Fatal(err)
	}
	queue := s.shows(strings.Replace(path, "waits?", "resource?name=deploy&", 1), http.StatusOK, "ci:2")
	if strings.Contains(queue.body, "Priority") {
		t.Error("the queue of the past has priorities, which no record has")
	}
	a := s.shows(path, http.StatusOK, "<b>1</b> waited", "ci:2", "deploy", "granted at")
	if strings.Contains(a.body, "data-stream") || strings.Contains(a.body, `id="refused"`) {
		t.Error("the page of the past has live parts")
	}
}

// The settings as of a moment are those before all later changes, and cannot be changed.
func TestSettingsAt(t *testing.T) {
	s := start(t, nil, "")
	configurer := s.store.(leasehold.Configurer)
	var moments []time.Time
	set := func(key string, value any) {
		t.Helper()
		time.Sleep(5 * time.Millisecond) // records have times of milliseconds
		moments = append(moments, time.Now())
		time.Sleep(5 * time.Millisecond)
		if _, err := configurer.SetSetting(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	set("max_leases", int64(4711))
	set("history_renewals", false)
	set("max_leases", int64(4712))
	set("keep_history", false)
	at := func(moment time.Time) string {
		return "/console/settings?at=" + url.QueryEscape(moment.UTC().Format(time.RFC3339Nano))
	}
	value := func(text string) string { return `data-label="Value" class="num changed">` + text + "<" }
	for i, want := range [][]string{{}, {"4711"}, {"4711", "false"}, {"4712", "false"}} {
		a := s.shows(at(moments[i]), http.StatusOK, "As of", "history that is kept begins at")
		for _, text := range want {
			if !strings.Contains(a.body, value(text)) {
				t.Errorf("the settings at moment %d lack %s:\n%s", i, text, a.body)
			}
		}
		if n := strings.Count(a.body, `class="num changed"`); n != len(want) {
			t.Errorf("at moment %d %d settings differ from their defaults, want %d", i, n, len(want))
		}
		if strings.Contains(a.body, `name="reason"`) {
			t.Error("a setting of the past can be changed")
		}
	}
	s.shows(at(moments[0]), http.StatusOK, "No change is on record")
	s.shows("/console/settings", http.StatusOK, value("4712"))
}

// A store that lacks a power: the page says so.
func TestSmallStore(t *testing.T) {
	s := start(t, nil, "")
	small := start(t, struct{ leasehold.Store }{s.store}, "")
	small.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:1", TTL: time.Hour})
	for path, part := range map[string]string{
		"/console/":                     "does not list its leases",
		"/console/resource?name=deploy": "keeps no history",
		"/console/holder?name=ci:1":     "keeps no history",
		"/console/waits":                "does not say who waits",
		"/console/plots":                "keeps no history",
		"/console/settings":             "no run-time settings",
		"/console/health":               "<b>no</b>",
	} {
		small.shows(path, http.StatusOK, part)
	}
	if a := small.shows("/console/resource?name=deploy", http.StatusOK, "ci:1"); strings.Contains(a.body, "Break this") {
		t.Error("a lease can be broken in a store that cannot")
	}
	small.shows("/console/stream?of=leases", http.StatusNotImplemented)
	small.shows("/console/?at=2020-01-01T00:00:00Z", http.StatusOK, "keeps no history")
	small.shows("/console/resource?name=deploy&at=2020-01-01T00:00:00Z", http.StatusOK, "keeps no history")
	for path, form := range map[string]url.Values{
		"/console/break": {"resource": {"deploy"}, "reason": {"x"}}, "/console/release": {"holder": {"ci:1"}, "reason": {"x"}},
		"/console/settings": {"key": {"max_leases"}, "value": {"1"}, "reason": {"x"}},
	} {
		form.Set("secret", small.server.secretFor("local"))
		if a := small.post(path, form); a.status != http.StatusNotImplemented {
			t.Errorf("POST %s = %d, want 501:\n%s", path, a.status, a.body)
		}
	}
}

// A wrapper's type has every power: then the kind of store counts, and what it answers.
func TestWrappedSmallStore(t *testing.T) {
	whole := start(t, nil, "")
	wrapped := chaos.Wrap(struct {
		leasehold.Store
		leasehold.Lister
		leasehold.Breaker
	}{whole.store, whole.store.(leasehold.Lister), whole.store.(leasehold.Breaker)}, nil)
	s := start(t, wrapped, "")
	s.server.o.Health.Store = powers.KindAzblob
	s.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:1", TTL: time.Hour})
	for path, bad := range map[string]string{
		"/console/": ">Waiting</th>", "/console/holder?name=ci:1": "Force-release this", "/console/resource?name=deploy": "Nobody waits",
		"/console/waits": "data-stream",
	} {
		a := s.shows(path, http.StatusOK, "Not live")
		if strings.Contains(a.body, bad) || strings.Contains(a.body, "data-stream") {
			t.Errorf("GET %s of a store that cannot has %q or live updates:\n%s", path, bad, a.body)
		}
	}
	s.shows("/console/resource?name=deploy", http.StatusOK, "does not say who waits", "Break this lease")
	health := s.shows("/console/health", http.StatusOK)
	for power, has := range map[string]string{
		"lists leases": "yes", "keeps a queue of waiters": "yes", "says who waits for whom": "no", "keeps a history": "no",
		"reports changes as they happen": "no", "breaks leases": "yes", "force-releases holders": "no", "has run-time settings": "no",
	} {
		if !strings.Contains(health.body, power+" <b>"+has+"</b>") {
			t.Errorf("the page of health does not say %q: %s", power, has)
		}
	}
	s.server.o.Health.Store = powers.KindRedis // which may have its history switched off
	s.shows("/console/health", http.StatusOK, "keeps a history <b>no</b>", "has run-time settings <b>no</b>")
}

// largeTokens is a store with the largest token that there is.
type largeTokens struct{ leasehold.Store }

func (s largeTokens) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	page, err := s.Store.(leasehold.Lister).List(ctx, r)
	for i := range page.Leases {
		page.Leases[i].Token = 1<<53 - 1
	}
	return page, err
}

func TestLargeTokens(t *testing.T) {
	s := start(t, largeTokens{start(t, nil, "").store}, "")
	s.shows("/console/", http.StatusOK, `class="leases"`)
	s.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:1", TTL: time.Hour})
	for _, path := range []string{"/console/", "/console/holder?name=ci:1"} {
		s.shows(path, http.StatusOK, `class="leases wide"`, "9007199254740991")
	}
}

// A store that fails: the page says that, and nothing else works less.
func TestClosedStore(t *testing.T) {
	s := start(t, nil, "")
	s.shows("/console/", http.StatusOK)
	s.store.Close()
	for _, path := range []string{"/console/?prefix=x", "/console/resource?name=x", "/console/holder?name=x", "/console/settings"} {
		s.shows(path, http.StatusServiceUnavailable, "unavailable")
	}
	s.shows("/console/health", http.StatusOK, "fails", "unhealthy")
}

// brokenStore panics, or fails in the middle of a page.
type brokenStore struct {
	leasehold.Store
	panics bool
}

func (s brokenStore) List(context.Context, leasehold.ListRequest) (leasehold.LeasePage, error) {
	if s.panics {
		panic("no store should")
	}
	return leasehold.LeasePage{}, errors.New("disk 7 of host db-3 is gone")
}

func (s brokenStore) Watch(ctx context.Context, _ leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	_ = each(leasehold.Notice{Reset: true})
	<-ctx.Done()
	return ctx.Err()
}

// What goes wrong inside is logged, not shown.
func TestBrokenStore(t *testing.T) {
	whole := start(t, nil, "")
	for _, panics := range []bool{false, true} {
		s := start(t, brokenStore{whole.store, panics}, "")
		a := s.shows("/console/", http.StatusInternalServerError, "the server&#39;s log says why")
		if strings.Contains(a.body, "db-3") {
			t.Errorf("the page shows what only the log should have:\n%s", a.body)
		}
	}
	s := start(t, brokenStore{whole.store, false}, "")
	s.listen("of=waits").next("changed")
}

func TestServes(t *testing.T) {
	for path, want := range map[string]bool{"/": true, "/console": true, "/console/": true, "/console/x": true, "/consolex": false, "/v1/leases": false, "/docs": false} {
		if got := Serves(path); got != want {
			t.Errorf("Serves(%q) = %v, want %v", path, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	l := leasehold.Lease{Resource: "prod:x", Holder: "anna", State: leasehold.StateActive, Metadata: map[string]string{"a": "1"}}
	ended := l
	ended.State = leasehold.StateExpired
	for i, try := range []struct {
		r    leasehold.ListRequest
		l    leasehold.Lease
		want bool
	}{
		{leasehold.ListRequest{}, l, true}, {leasehold.ListRequest{}, ended, false}, {leasehold.ListRequest{Prefix: "prod"}, l, true},
		{leasehold.ListRequest{Prefix: "test"}, l, false}, {leasehold.ListRequest{Holder: "ben"}, l, false},
		{leasehold.ListRequest{Metadata: map[string]string{"a": "1"}}, l, true}, {leasehold.ListRequest{Metadata: map[string]string{"a": ""}}, l, false},
		{leasehold.ListRequest{Metadata: map[string]string{"b": ""}}, l, false},
	} {
		if got := matches(try.r, try.l); got != try.want {
			t.Errorf("case %d: matches = %v, want %v", i, got, try.want)
		}
	}
}
