//go:build e2e

package lab

import (
	"context"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/envoy"
)

// StartEnvoy starts an Envoy with a configuration in YAML, and stops it after the test.
func StartEnvoy(t *testing.T, text []byte) *envoy.Process {
	t.Helper()
	bootstrap, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), ReadyLimit)
	defer cancel()
	p, err := envoy.Start(ctx, envoy.Options{
		Path: Tool(t, "ENVOY"), Bootstrap: bootstrap, Concurrency: 1, ReadyTimeout: ReadyLimit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	return p
}
