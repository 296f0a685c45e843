package picker

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"
)

// TestAutoscaling: the examples for autoscalers are YAML, go by metrics that a picker with a queue has, by labels that
// those have, and scale as their kind can.
func TestAutoscaling(t *testing.T) {
	p := queuing(oneClass(1), servers(1)...)
	p.ask("a", 1)
	p.ask("a", 1)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewService(p.Picker, nil).Collector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, f := range families {
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[f.GetName()] = append(labels[f.GetName()], l.GetName())
		}
	}
	for _, name := range []string{"harmony_queue_requests", "harmony_queue_tokens", "harmony_queue_oldest_seconds",
		"harmony_queue_bytes", "harmony_queue_requests_total", "harmony_queue_wait_seconds"} {
		if !slices.Contains(labels[name], "pool") || !slices.Contains(labels[name], "class") {
			t.Errorf("%s has the labels %v", name, labels[name])
		}
	}
	files, err := filepath.Glob("../../examples/autoscaling/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("the examples are %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			Kind string `yaml:"kind"`
			Spec struct {
				MinReplicas *int `yaml:"minReplicas"`
				Target      struct {
					Name string `yaml:"name"`
				} `yaml:"scaleTargetRef"`
			} `yaml:"spec"`
		}
		if err := yaml.Unmarshal(text, &object); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if object.Spec.Target.Name == "" || object.Kind == "HorizontalPodAutoscaler" && *object.Spec.MinReplicas < 1 {
			t.Errorf("%s: %+v", file, object)
		}
		used := regexp.MustCompile(`harmony_[a-z_]+`).FindAllString(string(text), -1)
		if len(used) < 2 {
			t.Errorf("%s uses %v", file, used)
		}
		for _, name := range used {
			if !slices.Contains(labels[name], "pool") {
				t.Errorf("%s uses %s, which has the labels %v", file, name, labels[name])
			}
		}
	}
}
