//go:build e2e

package lab

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/envoy"
)

// EdgeBootstrap returns the bootstrap, in JSON, of an Envoy of a control plane at an address, with more options of
// harmony controlplane bootstrap.
func EdgeBootstrap(t *testing.T, xds, node string, options ...string) []byte {
	t.Helper()
	boot := RunHarmony(t, nil, append([]string{
		"controlplane", "bootstrap", "--control-plane", xds, "--node", node, "--admin", "127.0.0.1:0"}, options...)...)
	if !boot.Ended(ReadyLimit) || boot.ExitCode(t) != 0 {
		t.Fatalf("harmony controlplane bootstrap: %v\n%s", boot.Err, &boot.Stderr)
	}
	return []byte(boot.Stdout.String())
}

// StartEdge starts an Envoy of a control plane, with more in its environment, and returns where its clients connect.
func StartEdge(t *testing.T, bootstrap []byte, environment ...string) (edge *envoy.Process, address string) {
	t.Helper()
	edge, err := envoy.Start(t.Context(), envoy.Options{Path: Tool(t, "ENVOY"), Bootstrap: bootstrap, Concurrency: 1,
		Environment: environment, ReadyTimeout: Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = edge.Stop() })
	if address, err = edge.Listener(t.Context(), "harmony"); err != nil {
		t.Fatal(err)
	}
	return edge, address
}
