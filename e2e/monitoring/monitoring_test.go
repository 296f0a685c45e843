//go:build e2e

package monitoring

import (
	"maps"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// absent are metrics that a fleet has no series of, and why. A query that reads one may give nothing.
var absent = map[string]string{
	"harmony_responses_store_errors_total":      "no operation of the database has failed",
	"harmony_failed_attempts_total":             "no server's answer fails before its first token",
	"harmony_cache_missed_tokens_total":         "cache_reasons is off",
	"harmony_client_cache_missed_tokens_total":  "the same",
	"envoy_cluster_upstream_rq_active_overflow": "in Envoy 1.37 this is counted by another name, which is read too",
}

// TestQueries has a real Prometheus scrape a real fleet under traffic. Every query of the dashboard and of
// docs/metrics.md must give numbers, every alert must be evaluated, and all must read metrics and labels that exist.
func TestQueries(t *testing.T) {
	f := startFleet(t)
	f.ask()
	p := startPrometheus(t, f)
	panels, choices := dashboardQueries(t)
	alerts, questions := ruleQueries(t), pageQueries(t)
	if len(panels) < 80 || len(choices) != 3 || len(alerts) < 20 || len(questions) < 20 {
		t.Fatalf("%d queries of panels, %d of variables, %d alerts, %d questions", len(panels), len(choices), len(alerts),
			len(questions))
	}
	for _, name := range slices.AppendSeq(slices.Clone(silent), maps.Keys(fires)) {
		if !slices.ContainsFunc(alerts, func(q query) bool { return q.where == "the alert "+name }) {
			t.Errorf("there is no alert %s", name)
		}
	}
	mayBeEmpty := func(q query) bool {
		return slices.ContainsFunc(parse(t, q).metrics, func(metric string) bool { return absent[metric] != "" })
	}
	// A counter that has labels begins at its first event, so a rate needs events behind the first scrape.
	waiting := slices.DeleteFunc(slices.Concat(panels, questions), mayBeEmpty)
	for deadline := time.Now().Add(lab.Patience); len(waiting) > 0 && time.Now().Before(deadline); {
		f.change()
		f.ask()
		f.fill()
		waiting = slices.DeleteFunc(waiting, func(q query) bool {
			ok, err := p.answered(q.text)
			if err != nil {
				t.Fatalf("%s: %s: %v", q.where, q.text, err)
			}
			return ok
		})
	}
	for _, q := range waiting {
		t.Errorf("%s: nothing for %s", q.where, q.text)
	}
	all := slices.Concat(panels, questions, alerts)
	t.Run("names", func(t *testing.T) { checkNames(t, p, all) })
	t.Run("variables", func(t *testing.T) { checkChoices(t, p, choices) })
	// The counter of refusals may have been scraped for the first time when it had the first of them.
	p.await(func() { f.ask(); f.fill() }, slices.Collect(maps.Keys(fires)), silent)
	t.Run("alerts", func(t *testing.T) { checkAlerts(t, p, alerts) })
	if ok, err := p.answered(`harmony_requests_total{status="503",model=` + strconv.Quote(lost) + `}`); err != nil || !ok {
		t.Errorf("a model's name does not arrive as it is (%v)", err)
	}
	f.mislead()
	p.await(func() {}, []string{"HarmonyEnvoyRefuses", "HarmonyEnvoyNotCurrent"}, nil)
}

// checkNames checks that queries read metrics and labels that exist.
func checkNames(t *testing.T, p *prometheus, all []query) {
	pages := read(t, lab.File("docs/metrics.md"))
	for _, q := range all {
		r := parse(t, q)
		known := map[string]bool{}
		for _, metric := range r.metrics {
			labels := p.labels(metric)
			if documented := strings.Contains(pages, "`"+metric+"`") || strings.HasPrefix(metric, "envoy_"); len(labels) == 0 &&
				(absent[metric] == "" || !documented) {
				t.Errorf("%s: there is no metric %s", q.where, metric)
			}
			for _, label := range labels {
				known[label] = true
			}
			if absent[metric] != "" {
				known = nil
				break
			}
		}
		for _, label := range r.labels {
			if known != nil && !known[label] {
				t.Errorf("%s: %v have no label %s", q.where, r.metrics, label)
			}
		}
	}
}

// checkChoices checks that the dashboard's variables have values.
func checkChoices(t *testing.T, p *prometheus, choices []string) {
	for _, text := range choices {
		m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s is not label_values(METRIC, LABEL)", text)
			continue
		}
		var values []string
		if err := p.get("label/"+m[2]+"/values", url.Values{"match[]": {m[1]}}, &values); err != nil || len(values) == 0 {
			t.Errorf("%s: %v %v", text, values, err)
		}
	}
}

// These alerts fire, and must not, in a fleet with one pool that is down, another that was full, and a model that
// breaks its format. fires has the pools too.
var (
	fires = map[string]string{"HarmonyPoolDown": "gone", "HarmonyServerUnreachable": "gone",
		"HarmonyNoServerForEnvoy": "gone", "HarmonyPoolFull": "gpus", "HarmonyRecoveriesUp": ""}
	silent = []string{"HarmonyServerWithoutModel", "HarmonyStructuralTagsLost",
		"HarmonyContextTooLarge", "HarmonyConfigurationNotInForce",
		"HarmonyFilterNotInForce", "HarmonyEnvoyRefuses", "HarmonyRolloutTakenBack", "HarmonyNoEnvoy", "HarmonyEnvoyMissing",
		"HarmonyVMReloads",
		"HarmonyVMHeapFull", "HarmonyQueueLate", "HarmonyQueueRefuses", "HarmonyQueueHeld",
		"HarmonyEnvoyHeapFull", "HarmonyConnectionsFull", "HarmonyNotScraped",
		"HarmonyResponsesStoreDown"}
)

// checkAlerts checks that Prometheus evaluates the rules, that what they read is there, and for which pools they fire.
func checkAlerts(t *testing.T, p *prometheus, alerts []query) {
	for _, q := range alerts {
		for _, selector := range parse(t, q).selectors {
			metric, _, _ := strings.Cut(selector, "{")
			if all, err := p.query(selector); err != nil || len(all) == 0 && absent[metric] == "" {
				t.Errorf("%s: nothing for %s (%v)", q.where, selector, err)
			}
		}
	}
	for _, r := range p.rules() {
		if r.Health != "ok" {
			t.Errorf("%s is %s: %s", r.Name, r.Health, r.LastError)
		}
		for _, alert := range r.Alerts {
			if pool, must := fires[r.Name]; must && alert.Labels["pool"] != pool {
				t.Errorf("%s fires: %v", r.Name, alert.Labels)
			}
		}
	}
}

// TestAlertsAreTested checks that promtool's tests pass, and that they have for each alert a case in which it fires and
// one in which it does not; and that docs/monitoring.md has the same alerts.
func TestAlertsAreTested(t *testing.T) {
	type cases struct {
		Tests []struct {
			Rules []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	fired, quiet := map[string]bool{}, map[string]bool{}
	for _, name := range []string{"alerts_test.yaml", "alerts_days_test.yaml"} {
		var file cases
		if err := yaml.Unmarshal([]byte(read(t, examples(name))), &file); err != nil {
			t.Fatal(err)
		}
		for _, test := range file.Tests {
			for _, r := range test.Rules {
				if len(r.Expected) > 0 {
					fired[r.Alert] = true
				} else {
					quiet[r.Alert] = true
				}
			}
		}
	}
	page := read(t, lab.File("docs/monitoring.md"))
	for _, q := range ruleQueries(t) {
		name := strings.TrimPrefix(q.where, "the alert ")
		if !fired[name] || !quiet[name] {
			t.Errorf("%s: fires in a test: %v; does not in one: %v", name, fired[name], quiet[name])
		}
		if !strings.Contains(page, "\n| `"+name+"`") {
			t.Errorf("docs/monitoring.md does not know %s", name)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(Harmony\\w+)`").FindAllStringSubmatch(page, -1) {
		if !fired[m[1]] {
			t.Errorf("docs/monitoring.md has %s, which is no alert", m[1])
		}
	}
	promtool := exec.Command(filepath.Join(lab.Tool(t, "HARMONY_PROMETHEUS"), "promtool"), "test", "rules",
		"alerts_test.yaml", "alerts_days_test.yaml")
	promtool.Dir = examples("")
	if said, err := promtool.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
