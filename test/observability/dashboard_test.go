//go:build unix

package observability

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// panel is a panel of the dashboard.
type panel struct {
	Type, Title, Description string
	FieldConfig              struct {
		Defaults struct {
			Unit       string
			Thresholds struct{ Steps []json.RawMessage }
		}
	}
	Targets []struct{ RefID, Expr string }
}

// readDashboard returns the panels that are no rows, and the queries of annotations.
func readDashboard(t testing.TB) (panels []panel, annotations []string) {
	t.Helper()
	var dashboard struct {
		Panels      []panel
		Annotations struct {
			List []struct{ Target struct{ Expr string } }
		}
	}
	if err := json.Unmarshal([]byte(read(t, shipped, "grafana/leasehold.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		if p.Type != "row" {
			panels = append(panels, p)
		}
	}
	for _, a := range dashboard.Annotations.List {
		annotations = append(annotations, a.Target.Expr)
	}
	return panels, annotations
}

func TestPanelsHaveUnitsAndThresholds(t *testing.T) {
	panels, _ := readDashboard(t)
	seen := map[string]bool{}
	for _, p := range panels {
		d := p.FieldConfig.Defaults
		if p.Title == "" || p.Description == "" || d.Unit == "" || len(d.Thresholds.Steps) == 0 || len(p.Targets) == 0 || seen[p.Title] {
			t.Errorf("panel %q has no description, unit, thresholds or query, or is there twice", p.Title)
		}
		seen[p.Title] = true
		for _, q := range p.Targets {
			if !strings.Contains(q.Expr, `environment=~"$environment"`) {
				t.Errorf("panel %q: the variable environment does not select: %s", p.Title, q.Expr)
			}
			if strings.Contains(q.Expr, "leasing_") && !strings.Contains(q.Expr, `provider=~"$provider"`) {
				t.Errorf("panel %q: the variable provider does not select: %s", p.Title, q.Expr)
			}
		}
	}
	if len(panels) < 20 {
		t.Errorf("the dashboard has %d panels; too little was checked", len(panels))
	}
}

var window = regexp.MustCompile(`\[[^\]]*\]`)

// fill replaces the variables of a query as Grafana does, and all windows by one.
func fill(expression, environment, provider string, over time.Duration) string {
	expression = window.ReplaceAllString(expression, "["+strconv.FormatInt(over.Milliseconds(), 10)+"ms]")
	return strings.NewReplacer("$environment", environment, "$provider", provider).Replace(expression)
}
