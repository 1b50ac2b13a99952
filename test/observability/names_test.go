//go:build unix

package observability

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNamesAreExported: every metric that the dashboard, the rules and the queries
// for Azure Monitor name is on the page of a real server or a real program after
// some load, with the labels by which it is selected and grouped.
func TestNamesAreExported(t *testing.T) {
	x := newExported(t)
	x.checkPromQL(t)
	x.checkKusto(t)
}

// exported has the labels of each metric, by the name of its samples.
type exported map[string]map[string]bool

func newExported(t *testing.T) exported {
	t.Helper()
	s := startServer(t)
	a := startApp(t, s.url)
	newLoad(t, s, a).run()
	x := exported{"up": {}}
	for _, url := range []string{s.url + "/metrics", a.page.URL} {
		for name, family := range readPage(t, getText(t, url)) {
			for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
				labels := x[name+suffix]
				if labels == nil {
					labels = map[string]bool{}
					x[name+suffix] = labels
				}
				labels["le"] = suffix == "_bucket"
				for _, m := range family.Metric {
					for _, pair := range m.Label {
						labels[pair.GetName()] = true
					}
				}
			}
			if len(family.Metric[0].GetHistogram().GetBucket()) == 0 {
				delete(x, name+"_bucket")
				delete(x, name+"_count")
				delete(x, name+"_sum")
			} else {
				delete(x, name)
			}
		}
	}
	return x
}

// added are the labels that Prometheus adds.
var added = []string{"job", "instance", "environment"}

func (x exported) checkPromQL(t *testing.T) {
	t.Helper()
	queries := map[string]string{} // and where they stand
	panels, annotations := readDashboard(t)
	for _, p := range panels {
		for _, q := range p.Targets {
			queries[q.Expr] = "panel " + p.Title
		}
	}
	for _, q := range annotations {
		queries[q] = "annotation"
	}
	recorded := map[string]bool{}
	for _, r := range readRules(t, "recording.yml") {
		recorded[r.Record] = true
		queries[r.Expr] = "rule " + r.Record
	}
	for _, a := range readAlerts(t) {
		queries[a.Expr] = "alert " + a.Alert
	}
	for q, where := range documentQueries(t) {
		queries[q] = where
	}
	used := map[string]bool{}
	for q, where := range queries {
		if strings.Contains(q, "vector(") {
			t.Errorf("%s has a constant that hides missing data: %s", where, q)
		}
		found := selectors(q)
		if len(found) == 0 {
			t.Errorf("%s names no metric: %s", where, q)
		}
		have := map[string]bool{} // labels of any of its metrics
		for _, s := range found {
			used[s.Metric] = true
			labels, known := x[s.Metric]
			if !known && !recorded[s.Metric] {
				t.Errorf("%s names %s, which is not exported: %s", where, s.Metric, q)
				continue
			}
			maps.Copy(have, labels)
			checkLabels(t, where+": "+s.Metric, s.Labels, labels)
		}
		checkLabels(t, where, groups(q), have)
	}
	for name := range recorded {
		if !used[name] {
			t.Errorf("no query uses the recorded %s", name)
		}
	}
}

// documentQueries returns the queries of docs/slo.md and the runbooks, and where they
// stand: one in each line of a block of promql.
func documentQueries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{}
	for _, file := range append(files, "../../docs/slo.md") {
		for _, block := range promqlBlock.FindAllStringSubmatch(read(t, file), -1) {
			for _, line := range strings.Split(strings.TrimSpace(block[1]), "\n") {
				queries[line] = filepath.Base(file)
			}
		}
	}
	if len(queries) < 20 {
		t.Fatalf("the documents have %d queries; too little is checked", len(queries))
	}
	return queries
}

var promqlBlock = regexp.MustCompile("(?s)```promql\n(.*?)```")

func checkLabels(t *testing.T, where string, want []string, have map[string]bool) {
	t.Helper()
	for _, label := range want {
		if !have[label] && !slices.Contains(added, label) {
			t.Errorf("%s has no label %s", where, label)
		}
	}
}

var (
	kustoName = regexp.MustCompile(`"(leas(?:ing|ehold)\.[a-z_.]+)"`)
	kustoKey  = regexp.MustCompile(`Properties\["([^"]+)"\]`)
)

// checkKusto compares names of OpenTelemetry with those that Prometheus makes of
// them: dots become underscores, units and _total are added.
func (x exported) checkKusto(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shipped, "azure", "*.kql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("azure has %q, %v", files, err)
	}
	names := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]bool{"deployment.environment.name": true} // of the resource
		for _, found := range kustoName.FindAllStringSubmatch(string(text), -1) {
			names++
			base := strings.ReplaceAll(found[1], ".", "_")
			known := false
			for _, suffix := range []string{"", "_total", "_bytes", "_seconds", "_seconds_count", "_milliseconds_count"} {
				if of, ok := x[base+suffix]; ok {
					known = true
					maps.Copy(labels, of)
				}
			}
			if !known {
				t.Errorf("%s names %s, which is not exported", filepath.Base(file), found[1])
			}
		}
		for _, key := range kustoKey.FindAllStringSubmatch(string(text), -1) {
			if !labels[key[1]] && !strings.HasPrefix(key[1], "lease.") { // of spans
				t.Errorf("%s uses %s, which its metrics do not have", filepath.Base(file), key[1])
			}
		}
	}
	if names < 10 {
		t.Errorf("the queries have %d names; too little was checked", names)
	}
}
