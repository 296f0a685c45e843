//go:build e2e

package monitoring

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// query is a query of a page or of the dashboard.
type query struct {
	where  string // what a failure names
	text   string
	legend string // what its series are called
}

// variables are what the dashboard's variables stand for in the test.
var variables = strings.NewReplacer("$__rate_interval", "1m", "$model", ".*", "$envoy", ".*", "$pool", ".*")

// dashboardQueries returns the queries of all panels, and of variables.
func dashboardQueries(t *testing.T) (all []query, choices []string) {
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct {
				Type  string
				Query json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(read(t, examples("dashboard.json"))), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all = append(all, query{"the panel " + p.Title, variables.Replace(target.Expr), target.LegendFormat})
		}
	}
	for _, v := range board.Templating.List {
		if v.Type == "query" {
			var text string
			if err := json.Unmarshal(v.Query, &text); err != nil {
				t.Fatal(err)
			}
			choices = append(choices, text)
		}
	}
	return all, choices
}

// ruleQueries returns the expressions of the alerts.
func ruleQueries(t *testing.T) (all []query) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, examples("alerts.yaml"))), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			legend := ""
			for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations["summary"], -1) {
				legend += "{{" + m[1] + "}}"
			}
			all = append(all, query{"the alert " + r.Alert, r.Expr, legend})
		}
	}
	return all
}

// pageQueries returns the questions of docs/metrics.md: indented lines behind a line that ends with a colon or is the
// heading Questions. A line that ends with an operator goes on in the next.
func pageQueries(t *testing.T) (all []query) {
	t.Helper()
	text := read(t, lab.File("docs/metrics.md"))
	for _, begin := range []string{"\n### Questions\n", "\nIn Prometheus' language:\n"} {
		_, block, found := strings.Cut(text, begin)
		if !found {
			t.Fatalf("docs/metrics.md has no %q", begin)
		}
		open := ""
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "\n")
			if line != "" && !strings.HasPrefix(line, "    ") {
				break
			}
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if open += line; strings.ContainsRune("/*+-", rune(line[len(line)-1])) {
				open += " "
				continue
			}
			all = append(all, query{"docs/metrics.md", open, ""})
			open = ""
		}
		if open != "" {
			t.Errorf("docs/metrics.md: %s has no end", open)
		}
	}
	return all
}

// reading is what a query reads.
type reading struct {
	metrics   []string // names of metrics
	selectors []string // with the names
	labels    []string // in selectors, in by (…), and in the names of its series
}

// parse says what a query reads.
func parse(t *testing.T, q query) (r reading) {
	t.Helper()
	expression, err := metricsql.Parse(q.text)
	if err != nil {
		t.Fatalf("%s: %s: %v", q.where, q.text, err)
	}
	metricsql.VisitAll(expression, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.MetricExpr:
			r.selectors = append(r.selectors, string(e.AppendString(nil)))
			for _, filter := range e.LabelFilterss[0] {
				if filter.Label == "__name__" {
					r.metrics = append(r.metrics, filter.Value)
				} else {
					r.labels = append(r.labels, filter.Label)
				}
			}
		case *metricsql.AggrFuncExpr:
			r.labels = append(r.labels, e.Modifier.Args...)
		}
	})
	for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.legend, -1) {
		r.labels = append(r.labels, m[1])
	}
	// Labels that the query itself makes.
	for _, m := range regexp.MustCompile(`"(\w+)", "\$1"`).FindAllStringSubmatch(q.text, -1) {
		r.labels = slices.DeleteFunc(r.labels, func(label string) bool { return label == m[1] })
	}
	return r
}
