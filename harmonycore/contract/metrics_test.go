package contract

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLabelPatterns: what the patterns leave of a metric's name is the name, and what they take are its labels' values.
func TestLabelPatterns(t *testing.T) {
	values := map[string]string{
		"model": "openai/gpt-oss-20b:v1.5", "api": "chat", "status": "200", "kind": "tool_call", "channel": "final",
		"cause": "server", "pool": "gpu.policy.a", "policy": "session", "class": "2xx", "result": "done", "reason": "length",
		"version": "v1.2", "config": "0a0b0c0d", "client": "team.search",
	}
	seen := map[string]bool{}
	for m := range MetricCount {
		info := m.Info()
		whole := MetricPrefix + info.Name
		for _, label := range info.Labels {
			whole += "." + label + "." + values[label]
			seen[label] = true
		}
		rest := whole
		for _, p := range LabelPatterns() {
			if found := regexp.MustCompile(p.Regex).FindStringSubmatch(whole); found != nil {
				if !slices.Contains(info.Labels, p.Label) || found[2] != values[p.Label] {
					t.Errorf("%s: %s is %q", whole, p.Label, found[2])
				}
				rest = strings.Replace(rest, found[1], "", 1)
			}
		}
		if rest != MetricPrefix+info.Name {
			t.Errorf("%s: %s is left", whole, rest)
		}
	}
	if len(seen) != len(LabelPatterns()) {
		t.Errorf("%d labels, and patterns for %d", len(seen), len(LabelPatterns()))
	}
}

// TestMetricInfos: every metric is described, under a name of its own, and histograms alone have buckets.
func TestMetricInfos(t *testing.T) {
	names := map[string]bool{}
	for m := range MetricCount {
		info := m.Info()
		if info.Name == "" || names[info.Name] || (info.Kind == Histogram) != (m.Buckets() != nil) {
			t.Errorf("metric %d is %+v with the buckets %v", m, info, m.Buckets())
		}
		names[info.Name] = true
	}
	if got := MetricCount.Info(); got.Name != "" {
		t.Errorf("got %+v", got)
	}
}
