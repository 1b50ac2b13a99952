//go:build unix

package observability

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/testserver"
)

// prometheus is a real one with the shipped configuration and rules. Only addresses,
// the environment and the intervals are the test's.
type prometheus struct {
	*testserver.Server
}

func startPrometheus(t *testing.T, server, app, alertmanager string) *prometheus {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{"rules/recording.yml", "rules/alerts.yml"} {
		write(t, read(t, shipped, file), dir, file)
	}
	config := replaceAll(t, read(t, shipped, "prometheus.yml"), map[string]string{
		"127.0.0.1:8105": server, "127.0.0.1:9464": app, "127.0.0.1:9093": alertmanager,
		"environment: local": "environment: test", "interval: 15s": "interval: 1s",
	})
	return &prometheus{testserver.Prometheus(t, write(t, config, dir, "prometheus.yml"))}
}

// replaceAll replaces what must be there.
func replaceAll(t testing.TB, text string, by map[string]string) string {
	t.Helper()
	for from, to := range by {
		if !strings.Contains(text, from) {
			t.Fatalf("%q is not in:\n%s", from, text)
		}
		text = strings.ReplaceAll(text, from, to)
	}
	return text
}

// point is one element of an answer of Prometheus.
type point struct {
	Metric map[string]string
	Value  sample
	Values []sample
}

// sample is a time and a value.
type sample struct {
	at    time.Time
	value float64
}

// UnmarshalJSON reads [seconds, "value"].
func (s *sample) UnmarshalJSON(text []byte) error {
	var pair [2]json.RawMessage
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	seconds, err := strconv.ParseFloat(string(pair[0]), 64)
	if err != nil {
		return err
	}
	s.at = time.UnixMilli(int64(math.Round(seconds * 1000)))
	s.value, err = strconv.ParseFloat(strings.Trim(string(pair[1]), `"`), 64)
	return err
}

// query runs a query at a time.
func (p *prometheus) query(t testing.TB, expression string, at time.Time) []point {
	t.Helper()
	var answer struct {
		Data struct{ Result []point }
	}
	values := url.Values{"query": {expression}, "time": {fmt.Sprintf("%.3f", float64(at.UnixMilli())/1000)}}
	text := getText(t, "http://"+p.Addr+"/api/v1/query?"+values.Encode())
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("query %s: %v in %s", expression, err, text)
	}
	return answer.Data.Result
}

// scrapeAfter waits for a scrape that was started after a time, and returns its
// time: that of all samples of the target.
func (p *prometheus) scrapeAfter(t *testing.T, job string, after time.Time) (at time.Time) {
	t.Helper()
	eventually(t, "a scrape of "+job, func() bool {
		for _, series := range p.query(t, fmt.Sprintf(`up{job=%q}[10m]`, job), time.Now()) {
			i := slices.IndexFunc(series.Values, func(s sample) bool { return s.value == 1 && s.at.After(after) })
			if i >= 0 {
				at = series.Values[i].at
			}
		}
		return !at.IsZero()
	})
	return at
}

// labelsOf writes labels as a=b,c=d, without the metric's name.
func labelsOf(labels map[string]string) string {
	var pairs []string
	for name, value := range labels {
		if name != "__name__" {
			pairs = append(pairs, name+"="+value)
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}
