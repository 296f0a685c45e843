//go:build e2e

package lab

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// RunIstio runs a plain Envoy with what Istio makes of a configuration's objects. The test fails as [RunEnvoy]'s does.
func RunIstio(t *testing.T, c *config.Config, i hosts.Istio) *hosts.Host {
	t.Helper()
	h, err := i.Run(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkHealthy(t, h)
		h.Stop()
	})
	return h
}

// RunIstioPod runs a plain Envoy in the place of a gateway's pod. The test fails as [RunEnvoy]'s does.
func RunIstioPod(t *testing.T, pod hosts.IstioPod, xds string, port int) *hosts.Host {
	t.Helper()
	h, err := pod.Run(hosts.Setup{Config: OneModel("http://127.0.0.1:1")}, xds, port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkHealthy(t, h)
		h.Stop()
	})
	return h
}

// RunEnvoyGateway runs the Envoy that Envoy Gateway starts for a configuration's objects.
func RunEnvoyGateway(t *testing.T, c *config.Config, g hosts.EnvoyGateway) *hosts.Host {
	t.Helper()
	h, err := g.Run(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	return h
}
