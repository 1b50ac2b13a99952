package observability

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold/leasehold/internal/testserver"
)

// TestPanels is the proof that the dashboard says what is: a real server and a
// program of its own get a counted load with failures, a real Prometheus scrapes
// both, and each panel's query returns what was counted.
//
// The load lies between two scrapes of each target. The windows of the queries reach
// from the first to the second, so that rate has nothing to estimate.
func TestPanels(t *testing.T) {
	testserver.Tool(t, "prometheus") // before the rest is built for nothing
	s := startServer(t)
	a := startApp(t, s.url)
	p := startPrometheus(t, s.addr(), a.addr(), "127.0.0.1:1")
	x := &proof{t: t, prometheus: p, load: newLoad(t, s, a)}
	x.load.run() // makes the series that are made when they are first needed
	x.app.from, x.server.from = x.scrapes(time.Now())
	before := cpuSeconds(t, s.Cmd.Process.Pid)
	x.load.run()
	x.load.hold(4, 2)
	x.app.until, x.server.until = x.scrapes(time.Now())
	x.cpu = cpuSeconds(t, s.Cmd.Process.Pid) - before
	x.checkPanels()
	for query := range documentQueries(t) {
		p.query(t, query, x.server.until) // Prometheus understands it
	}
}

// proof compares the panels with the counts.
type proof struct {
	t           *testing.T
	prometheus  *prometheus
	load        *load
	app, server span
	cpu         float64 // seconds that the server used
}

// span is the time between two scrapes of a target.
type span struct{ from, until time.Time }

// length is the window of the queries. Prometheus 2 counts both of its ends in; for
// Prometheus 3, which leaves out the first, it would have to be a millisecond more.
func (s span) length() time.Duration { return s.until.Sub(s.from) }

func (s span) seconds() float64 { return s.length().Seconds() }

// scrapes waits for the first scrape of each target after a time.
func (x *proof) scrapes(after time.Time) (app, server time.Time) {
	x.t.Helper()
	return x.prometheus.scrapeAfter(x.t, "applications", after), x.prometheus.scrapeAfter(x.t, "leasehold", after)
}

// check compares what a query returned, by labels, with what was counted.
type check func(got map[string]float64) error

func (x *proof) checkPanels() {
	panels, _ := readDashboard(x.t)
	app, server := x.appChecks(), x.serverChecks()
	for _, p := range panels {
		for _, q := range p.Targets {
			key := p.Title + "/" + q.RefID
			ofApp, ofServer := app[key], server[key]
			if ofApp == nil && ofServer == nil {
				x.t.Errorf("%s has no check", key)
			}
			x.checkQuery(key+" of the program", fill(q.Expr, "test", "remote", x.app.length()), x.app, ofApp)
			x.checkQuery(key+" of the server", fill(q.Expr, "test", "sqlite", x.server.length()), x.server, ofServer)
			delete(app, key)
			delete(server, key)
		}
	}
	for _, key := range append(slices.Sorted(maps.Keys(app)), slices.Sorted(maps.Keys(server))...) {
		x.t.Errorf("there is a check of %s, and no such query", key)
	}
}

func (x *proof) checkQuery(key, expression string, s span, ok check) {
	x.t.Helper()
	if ok == nil {
		return
	}
	got := map[string]float64{}
	for _, p := range x.prometheus.query(x.t, expression, s.until) {
		got[labelsOf(p.Metric)] = p.Value.value
	}
	if err := ok(got); err != nil {
		x.t.Errorf("%s: %v\n%s = %v", key, err, expression, got)
	}
}

// exactly wants these values, and no others but zeros and NaNs: those are series in
// which nothing happened.
func exactly(want map[string]float64) check {
	return func(got map[string]float64) error {
		for labels, w := range want {
			if g, ok := got[labels]; !ok || !same(g, w) {
				return fmt.Errorf("{%s} is %v, want %v", labels, g, w)
			}
		}
		for labels, g := range got {
			if _, ok := want[labels]; !ok && g != 0 && !math.IsNaN(g) {
				return fmt.Errorf("{%s} is %v, and was not counted", labels, g)
			}
		}
		return nil
	}
}

func one(labels string, want float64) check { return exactly(map[string]float64{labels: want}) }

// same allows for rounding.
func same(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

// perSecond divides counts by the time that they took.
func perSecond(s span, counts map[string]float64) check {
	want := map[string]float64{}
	for labels, n := range counts {
		want[labels] = n / s.seconds()
	}
	return exactly(want)
}

// between wants one value within bounds.
func between(labels string, least, most float64) check {
	return func(got map[string]float64) error {
		if g, ok := got[labels]; !ok || len(got) != 1 || !(g >= least && g <= most) {
			return fmt.Errorf("{%s} is %v, want %v to %v, and nothing else", labels, g, least, most)
		}
		return nil
	}
}

// histogram is what was observed in the time, by group and upper bound.
type histogram map[string]map[float64]float64

// observed reads the buckets at both ends of the span and subtracts them.
func (x *proof) observed(metric, matchers string, s span, by ...string) histogram {
	x.t.Helper()
	h := histogram{}
	for sign, at := range map[float64]time.Time{-1: s.from, 1: s.until} {
		for _, p := range x.prometheus.query(x.t, metric+"_bucket{"+matchers+"}", at) {
			group := map[string]string{}
			for _, label := range by {
				group[label] = p.Metric[label]
			}
			bound, err := strconv.ParseFloat(p.Metric["le"], 64)
			if err != nil {
				x.t.Fatalf("%s: le is %q", metric, p.Metric["le"])
			}
			key := labelsOf(group)
			if h[key] == nil {
				h[key] = map[float64]float64{}
			}
			h[key][bound] += sign * p.Value.value
		}
	}
	return h
}

// quantile wants that as many were observed as counted, and their quantile. A nil
// count is not known.
func (x *proof) quantile(q, scale float64, counts map[string]float64, metric, matchers string, s span, by ...string) check {
	x.t.Helper()
	h, want := x.observed(metric, matchers, s, by...), map[string]float64{}
	for group, buckets := range h {
		n := buckets[math.Inf(1)]
		if counts != nil && n != counts[group] {
			x.t.Errorf("%s{%s} observed %v, want %v", metric, group, n, counts[group])
		}
		if n > 0 {
			want[group] = scale * quantileOf(q, buckets)
		}
	}
	for group, n := range counts {
		if n > 0 && h[group] == nil {
			x.t.Errorf("%s{%s} observed nothing, want %v", metric, group, n)
		}
	}
	return exactly(want)
}

// quantileOf interpolates within the bucket that has the quantile in it.
func quantileOf(q float64, cumulative map[float64]float64) float64 {
	rank, lower, below := q*cumulative[math.Inf(1)], 0.0, 0.0
	for _, upper := range slices.Sorted(maps.Keys(cumulative)) {
		if n := cumulative[upper]; n >= rank {
			if math.IsInf(upper, 1) {
				return lower
			}
			return lower + (upper-lower)*(rank-below)/(n-below)
		}
		lower, below = upper, cumulative[upper]
	}
	return math.NaN()
}

// appChecks are what the program's own metrics must show.
func (x *proof) appChecks() map[string]check {
	c, s := x.load.counts, x.app
	const of = "provider=remote"
	granted := c["acquired"] + c["waited"]
	acquisitions := granted + c["conflicts"] + c["timeouts"] + c["failures"]
	failed := c["renewals failed"] + c["renewals lost"]
	renewals := c["renewed"] + failed
	took := func(q float64) check {
		return x.quantile(q, 1, map[string]float64{of: acquisitions}, "leasing_acquisition_duration_milliseconds", `provider="remote"`, s, "provider")
	}
	calls := map[string]float64{
		"operation=acquire,provider=remote,result=success": c["acquired"], "operation=acquire,provider=remote,result=conflict": c["conflicts"],
		"operation=acquire,provider=remote,result=failure": c["failures"],
		"operation=wait,provider=remote,result=success":    c["waited"], "operation=wait,provider=remote,result=timeout": c["timeouts"],
		"operation=renew,provider=remote,result=success": c["renewed"], "operation=renew,provider=remote,result=failure": c["renewals failed"],
		"operation=renew,provider=remote,result=lost":      c["renewals lost"],
		"operation=release,provider=remote,result=success": c["released"],
	}
	all := 0.0
	for _, n := range calls {
		all += n
	}
	oldest := s.until.Sub(x.load.heldSince).Seconds()
	return map[string]check{
		"Leases lost/A":         one(of, c["lost"]),
		"Acquisition success/A": one(of, 1-c["failures"]/acquisitions),
		"Renewal success/A":     one(of, c["renewed"]/renewals),
		"Error budget used/A":   one(of, c["failures"]/acquisitions/0.001),
		"Active leases/A":       one(of, 4),
		"Acquisition rate/A": perSecond(s, map[string]float64{
			of + ",result=success": granted, of + ",result=conflict": c["conflicts"], of + ",result=timeout": c["timeouts"], of + ",result=failure": c["failures"],
		}),
		"Acquisition latency/A": x.heatMap("leasing_acquisition_duration_milliseconds", `provider="remote"`, acquisitions, c["slow"]),
		"Acquisition time/A":    took(0.5),
		"Acquisition time/B":    both(took(0.95), between(of, 500, math.Inf(1))), // the slow ones are 3 of fewer than 60
		"Acquisition time/C":    both(took(0.99), between(of, 500, math.Inf(1))),
		"Waiters/A":             one(of, 2),
		"Time waited/A": x.quantile(0.95, 0.001, map[string]float64{of: c["timeouts"] + c["waited"]},
			"leasing_acquisition_wait_milliseconds", `provider="remote"`, s, "provider"),
		"Leases held/A": one(of, 4),
		"Renewal rate/A": perSecond(s, map[string]float64{
			of + ",result=success": c["renewed"], of + ",result=failure": c["renewals failed"], of + ",result=lost": c["renewals lost"],
		}),
		"Renewal failure rate/A":  one(of, failed/renewals),
		"Leases lost over time/A": one(of, c["lost"]),
		"Oldest renewal/A":        between("instance="+x.load.app.addr()+","+of, oldest-1, oldest+5),
		"Renewal time/A": x.quantile(0.95, 1, map[string]float64{of: renewals},
			"leasing_renewal_duration_milliseconds", `provider="remote"`, s, "provider"),
		"Releases and lease duration/A": perSecond(s, map[string]float64{of + ",result=success": c["released"]}),
		"Releases and lease duration/B": x.quantile(0.5, 1, map[string]float64{of: c["released"] + c["lost"]},
			"leasing_lease_duration_seconds", `provider="remote"`, s, "provider"),
		"Provider health/A":  one(of, 1-(c["failures"]+c["renewals failed"])/all),
		"Store operations/A": perSecond(s, calls),
		"Store time/A": x.quantile(0.95, 1, map[string]float64{
			"operation=acquire," + of: c["acquired"] + c["conflicts"] + c["failures"], "operation=renew," + of: renewals, "operation=release," + of: c["released"],
		}, "leasehold_store_operation_duration_seconds", `provider="remote",operation!="wait"`, s, "provider", "operation"),
	}
}

func both(checks ...check) check {
	return func(got map[string]float64) error {
		for _, c := range checks {
			if err := c(got); err != nil {
				return err
			}
		}
		return nil
	}
}

// heatMap wants all in the last bucket, and the slow ones in none up to 500 ms.
func (x *proof) heatMap(metric, matchers string, all, slow float64) check {
	h := x.observed(metric, matchers, x.app)[""]
	return func(got map[string]float64) error {
		rates := map[float64]float64{}
		for labels, g := range got {
			bound, err := strconv.ParseFloat(strings.TrimPrefix(labels, "le="), 64)
			if err != nil || !same(g*x.app.seconds(), h[bound]) {
				return fmt.Errorf("{%s} is %v, want %v", labels, g, h[bound]/x.app.seconds())
			}
			rates[bound] = g * x.app.seconds()
		}
		if fast := rates[500]; !same(rates[math.Inf(1)], all) || len(rates) != len(h) || fast > all-slow+0.5 || fast == 0 {
			return fmt.Errorf("it has %v in all and %v up to 500 ms, want %v and at most %v", rates[math.Inf(1)], fast, all, all-slow)
		}
		return nil
	}
}

// serverChecks are what the server's metrics must show.
func (x *proof) serverChecks() map[string]check {
	c, s := x.load.counts, x.server
	const of = "provider=sqlite"
	at := "instance=" + x.load.server.addr()
	byCode, byProblem, byRoute := x.answers()
	acquired := c["acquired"] + c["direct"] + c["checks"]
	unknown := byProblem["code=lease_not_found"]
	live := 4.0
	resources := byRoute["route=GET /v1/resource"]
	calls := map[string]float64{
		"operation=acquire,provider=sqlite,result=success": acquired, "operation=acquire,provider=sqlite,result=conflict": c["conflicts"],
		"operation=wait,provider=sqlite,result=success": c["waited"], "operation=wait,provider=sqlite,result=timeout": c["timeouts"],
		"operation=renew,provider=sqlite,result=success": c["renewed"], "operation=renew,provider=sqlite,result=lost": c["renewals lost"] + unknown,
		"operation=release,provider=sqlite,result=success": c["released"] + c["checks"], "operation=break,provider=sqlite,result=success": byRoute["route=POST /v1/leases/break"],
		"operation=status,provider=sqlite,result=success": resources, "operation=cleanup,provider=sqlite,result=success": c["cleanups"],
	}
	timed := map[string]float64{}
	for labels, n := range calls {
		if operation, _, _ := strings.Cut(labels, ","); operation != "operation=wait" {
			timed[operation+","+of] += n
		}
	}
	delete(byRoute, "")
	blobs := map[string]float64{}
	for labels, n := range blobCounts {
		_, operation, _ := strings.Cut(labels, ",")
		blobs[operation] += n
	}
	took := func(q float64) check {
		return x.quantile(q, 1, nil, "leasehold_commit_duration_seconds", "", s, "instance")
	}
	commits, changes := x.increase("leasehold_commit_batch_size_count"), x.increase("leasehold_commit_batch_size_sum")
	written := acquired + c["waited"] + c["renewed"] + c["released"] + c["lost"] // at least
	if changes < written || commits > changes+c["cleanups"] {
		x.t.Errorf("%v commits had %v changes, want at least %v changes", commits, changes, written)
	}
	pid := x.load.server.Cmd.Process.Pid
	resident, database := residentBytes(x.t, pid), databaseBytes(x.t, x.load.server.data)
	return map[string]check{
		"Leases lost/A":         one(of, 0),
		"Acquisition success/A": one(of, 1),
		"Renewal success/A":     one(of, c["renewed"]/(c["renewed"]+c["renewals lost"]+unknown)),
		"Error budget used/A":   one(of, 0),
		"Active leases/A":       one(of, live),
		"Health/A":              one("check=leasing,"+at+",status=healthy", 1),
		"Acquisition rate/A": perSecond(s, map[string]float64{
			of + ",result=success": acquired + c["waited"], of + ",result=conflict": c["conflicts"], of + ",result=timeout": c["timeouts"],
		}),
		"Waiters/A": one(of, 2),
		"Waiters/B": one(at, 2),
		"Waiters/C": one(at, 2),
		"Time waited/B": x.quantile(0.95, 1, map[string]float64{at: c["timeouts"] + c["waited"]},
			"leasehold_acquire_wait_seconds", "", s, "instance"),
		"Leases held/A": one(of, live),
		"Leases held/B": one(at, live),
		"Renewal rate/A": perSecond(s, map[string]float64{
			of + ",result=success": c["renewed"], of + ",result=lost": c["renewals lost"] + unknown,
		}),
		"Provider health/A":  one(of, 1),
		"Store operations/A": perSecond(s, calls),
		"Store time/A": x.quantile(0.95, 1, timed, "leasehold_store_operation_duration_seconds",
			`provider="sqlite",operation!="wait"`, s, "provider", "operation"),
		"Requests by code/A":          perSecond(s, byCode),
		"Request time/A":              x.quantile(0.95, 1, byRoute, "leasehold_http_request_duration_seconds", "", s, "route"),
		"Refusals/A":                  perSecond(s, byProblem),
		"Blob requests/A":             perSecond(s, blobCounts),
		"Blob request time/A":         x.quantile(0.95, 1, blobs, "leasehold_blob_request_duration_seconds", "", s, "operation"),
		"Event streams/A":             one(at, 1),
		"Commit batch size/A":         one(at, changes/commits),
		"Commit time/A":               took(0.5),
		"Commit time/B":               took(0.99),
		"Commits/A":                   perSecond(s, map[string]float64{at: commits}),
		"Commits/B":                   one(at, 0),
		"Cleanup/A":                   exactly(map[string]float64{"what=expired": c["expired"], "what=history": 0, "what=forgotten": 0}),
		"Cleanup/B":                   one(at, c["cleanups"]),
		"History/A":                   one(at, x.load.historyRecords()),
		"Database size/A":             between(at, 0.9*database, 1.1*database), // the engine notes the time now and then
		"Free disk space/A":           between(at, 0.5*freeBytes(x.t, x.load.server.data), 2*freeBytes(x.t, x.load.server.data)),
		"Disk reserve/A":              one(at, 64<<20),
		"Version/A":                   one("go_version="+runtime.Version()+","+at+",version=dev", 1),
		"Memory/A":                    between(at, resident/2, resident*2),
		"Memory/B":                    between(at, 1<<20, resident*2),
		"CPU/A":                       between(at, 0, (x.cpu+0.1)/s.seconds()),
		"Goroutines and open files/A": between(at, 5, 1000),
		"Goroutines and open files/B": between(at, float64(openFiles(x.t, pid))-20, float64(openFiles(x.t, pid))+20),
		"Goroutines and open files/C": one(at, maxFiles(x.t, pid)),
	}
}

// answers returns what the clients got, by status, by code of the problem, and by
// route without those that waited. Prometheus' own requests count, too.
func (x *proof) answers() (byCode, byProblem, byRoute map[string]float64) {
	byCode, byProblem, byRoute = map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, r := range []*recorder{x.load.direct, x.load.app.requests} {
		r.mu.Lock()
		for a, n := range r.counts {
			byCode["code="+a.status] += n
			byRoute["route="+a.route] += n
			if a.code != "" {
				byProblem["code="+a.code] += n
			}
		}
		r.mu.Unlock()
	}
	byRoute["route=POST /v1/leases/acquire"] -= x.load.counts["timeouts"] + x.load.counts["waited"]
	up := x.prometheus.query(x.t, fmt.Sprintf(`up{job="leasehold"}[%dms]`, x.server.length().Milliseconds()), x.server.until)
	scrapes := float64(len(up[0].Values) - 1) // a scrape does not see itself
	byCode["code=200"] += scrapes
	byRoute["route=GET /metrics"] += scrapes
	return byCode, byProblem, byRoute
}

// increase returns how much a counter of the server grew.
func (x *proof) increase(metric string) float64 {
	x.t.Helper()
	from, until := x.prometheus.query(x.t, metric, x.server.from), x.prometheus.query(x.t, metric, x.server.until)
	if len(from) != 1 || len(until) != 1 {
		x.t.Fatalf("%s has %d and %d series, want 1", metric, len(from), len(until))
	}
	return until[0].Value.value - from[0].Value.value
}

// What the system says about the server.

func residentBytes(t *testing.T, pid int) float64 {
	return 1024 * firstNumber(t, fmt.Sprintf("/proc/%d/status", pid), `VmRSS:\s+(\d+) kB`)
}

func maxFiles(t *testing.T, pid int) float64 {
	return firstNumber(t, fmt.Sprintf("/proc/%d/limits", pid), `Max open files\s+(\d+)`)
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func cpuSeconds(t *testing.T, pid int) float64 {
	t.Helper()
	fields := strings.Fields(read(t, fmt.Sprintf("/proc/%d/stat", pid)))
	user, err1 := strconv.ParseFloat(fields[13], 64)
	system, err2 := strconv.ParseFloat(fields[14], 64)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return (user + system) / 100 // the kernel's unit is 10 ms everywhere
}

func firstNumber(t *testing.T, file, pattern string) float64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
	if found == nil {
		t.Fatalf("%s has no %s", file, pattern)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func databaseBytes(t *testing.T, dir string) (n float64) {
	t.Helper()
	for _, file := range []string{"leases.db", "leases.db-wal"} {
		info, err := os.Stat(dir + "/" + file)
		if err != nil {
			t.Fatal(err)
		}
		n += float64(info.Size())
	}
	return n
}

func freeBytes(t *testing.T, dir string) float64 {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return float64(s.Bavail) * float64(s.Bsize)
}
