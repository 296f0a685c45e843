package server

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
	"github.com/harmonyedge/harmonyedge/responses"
)

// alertFile is the part of a Prometheus rules file that examples/alerts.yaml uses. Unknown members are an error here,
// as in Prometheus.
type alertFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// TestAlerts checks that the rules read only metrics and states that exist. Their expressions are simple enough to be
// checked without Prometheus.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../examples/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file alertFile
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL), "filter.wasm", string(stub.Filter("1"))), handsOut,
		func(o *Options) { o.Collectors = append(o.Collectors, responses.New(responses.Options{}).Metrics()) })
	p.ready()
	eventually(t, "the pool is known", func() bool { return p.metric(`harmony_controlplane_pool_up{pool="p"}`) == "1" })
	_, scrape := p.get("/metrics")
	metric := `(harmony_\w+)(\{[^}]*\})?`
	expr := regexp.MustCompile(`^` + metric + ` (?:==|<|>) (?:\d+|` + metric + `)$`)
	var names []string
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			names = append(names, rule.Alert)
			parts := expr.FindStringSubmatch(rule.Expr)
			if parts == nil {
				t.Errorf("%s: %q is not METRIC OPERATOR NUMBER-OR-METRIC", rule.Alert, rule.Expr)
				continue
			}
			for _, name := range []string{parts[1], parts[3]} {
				if name != "" && !strings.Contains(scrape, "# TYPE "+name+" gauge\n") {
					t.Errorf("%s: there is no gauge %s", rule.Alert, name)
				}
			}
			if selector := parts[2]; selector != "" &&
				!slices.ContainsFunc(states, func(s pools.State) bool { return selector == `{state="`+string(s)+`"}` }) {
				t.Errorf("%s: %s selects no state", rule.Alert, selector)
			}
			if _, err := time.ParseDuration(rule.For); err != nil || rule.Labels["severity"] == "" ||
				rule.Annotations["summary"] == "" {
				t.Errorf("%s: for %q, labels %v, annotations %v", rule.Alert, rule.For, rule.Labels, rule.Annotations)
			}
			for _, used := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(rule.Annotations["summary"], -1) {
				if !regexp.MustCompile(`(?m)^` + parts[1] + `\{[^}]*` + used[1] + `="`).MatchString(scrape) {
					t.Errorf("%s: %s has no label %s", rule.Alert, parts[1], used[1])
				}
			}
		}
	}
	if !slices.Contains(names, "HarmonyPoolDown") {
		t.Errorf("the alerts are %v", names)
	}
}
