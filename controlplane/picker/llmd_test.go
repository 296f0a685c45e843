package picker

import (
	"os"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
)

// llmdTypes are the plugins of llm-d-router 0.10.0 (cmd/epp/runner/runner.go there) that the example may use.
var llmdTypes = []string{"token-producer", "endpoint-notification-source", "metrics-data-source",
	"core-metrics-extractor", "single-profile-handler", "precise-prefix-cache-producer", "approx-prefix-cache-producer", "prefix-cache-scorer",
	"queue-scorer", "kv-cache-utilization-scorer", "max-score-picker", "openai-parser", "vllmhttp-parser",
	"passthrough-parser"}

type llmdRef struct {
	PluginRef string    `yaml:"pluginRef"`
	Weight    float64   `yaml:"weight"`
	More      []llmdRef `yaml:"extractors"`
}

// llmdConfig is the part of llm-d's EndpointPickerConfig (apix/config/v1alpha1 there) that the example may use.
type llmdConfig struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Plugins    []struct {
		Name       string         `yaml:"name"`
		Type       string         `yaml:"type"`
		Parameters map[string]any `yaml:"parameters"`
	} `yaml:"plugins"`
	DataLayer struct {
		Sources []llmdRef `yaml:"sources"`
	} `yaml:"dataLayer"`
	RequestHandler struct {
		Parsers []llmdRef `yaml:"parsers"`
	} `yaml:"requestHandler"`
	SchedulingProfiles []struct {
		Name    string    `yaml:"name"`
		Plugins []llmdRef `yaml:"plugins"`
	} `yaml:"schedulingProfiles"`
}

// TestLLMDConfig checks the configuration of examples/llm-d: its fields, that each plugin exists and each reference has
// a plugin, and that no tokenizer is asked.
func TestLLMDConfig(t *testing.T) {
	text, err := os.ReadFile("../../examples/llm-d/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c llmdConfig
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if c.APIVersion != "llm-d.ai/v1alpha1" || c.Kind != "EndpointPickerConfig" || len(c.SchedulingProfiles) != 1 {
		t.Errorf("it is %s %s, with %d profiles", c.APIVersion, c.Kind, len(c.SchedulingProfiles))
	}
	var known []string
	for _, p := range c.Plugins {
		known = append(known, p.Type)
		if !slices.Contains(llmdTypes, p.Type) {
			t.Errorf("llm-d has no plugin %s", p.Type)
		}
		if p.Type == "token-producer" && p.Parameters != nil {
			t.Errorf("the token-producer has a backend: %v", p.Parameters)
		}
	}
	refs := slices.Concat(c.DataLayer.Sources, c.RequestHandler.Parsers, c.SchedulingProfiles[0].Plugins)
	for _, r := range c.DataLayer.Sources {
		refs = append(refs, r.More...)
	}
	if len(refs) < 10 {
		t.Errorf("only %d references were found", len(refs))
	}
	for _, r := range refs {
		if !slices.Contains(known, r.PluginRef) {
			t.Errorf("%s is not among the plugins", r.PluginRef)
		}
	}
	if got := c.RequestHandler.Parsers; len(got) != 3 || got[2].PluginRef != "passthrough-parser" {
		t.Errorf("the parsers are %v: the one that takes every path must be the last", got)
	}
}
