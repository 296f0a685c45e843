//go:build e2e

package lab

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// OneModel returns a configuration with one model, [Model], on one server.
func OneModel(server string) *config.Config {
	c := config.Default()
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	c.BodyLimit, c.StallTimeout = 1<<20, config.Duration(20*time.Second)
	AddModel(c, Model, server)
	return c
}

// AddModel adds a model on one server to a configuration.
func AddModel(c *config.Config, name, server string) {
	m := config.DefaultModel(name, "vllm="+server)
	m.System.Date = Date
	c.Models = append(c.Models, m)
}

// RunEnvoy runs Envoy with the shipped filter. The test fails if Envoy loses a VM, ends early, or logs a line about the
// filter.
func RunEnvoy(t *testing.T, c *config.Config, changes ...Change) *hosts.Host {
	t.Helper()
	return startHealthy(t, hosts.EnvoyWith, c, changes)
}

// RunEnvoyOverADS is RunEnvoy with an Envoy that receives its resources over delta ADS.
func RunEnvoyOverADS(t *testing.T, c *config.Config, changes ...Change) *hosts.Host {
	t.Helper()
	return startHealthy(t, hosts.EnvoyOverADS, c, changes)
}

// RunEnvoyOfAll runs one Envoy with several configurations side by side, and returns a host for each. They share the
// process with its statistics, and the filter's VMs: see [hosts.EnvoyOfAll]. Each change is made to each.
func RunEnvoyOfAll(t *testing.T, all []*config.Config, changes ...Change) []*hosts.Host {
	t.Helper()
	var resources []*xds.Resources
	for _, c := range all {
		resources = append(resources, Resources(t, c, changes...))
	}
	return RunEnvoyOfResources(t, all[0], resources...)
}

// RunEnvoyOfResources is RunEnvoyOfAll where each configuration has changes of its own ([Resources]). c is one of them.
func RunEnvoyOfResources(t *testing.T, c *config.Config, all ...*xds.Resources) []*hosts.Host {
	t.Helper()
	running, err := hosts.EnvoyOfAll(hosts.Setup{Config: c}, all)
	if err != nil {
		t.Fatal(err)
	}
	stopHealthy(t, running[0])
	return running
}

// Resources returns Envoy's resources for a configuration, with changes.
func Resources(t *testing.T, c *config.Config, changes ...Change) *xds.Resources {
	t.Helper()
	r, err := hosts.Resources(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(t, r)
	}
	return r
}

func startHealthy(t *testing.T, start func(hosts.Setup, *xds.Resources) (*hosts.Host, error), c *config.Config,
	changes []Change) *hosts.Host {
	t.Helper()
	h, err := start(hosts.Setup{Config: c}, Resources(t, c, changes...))
	if err != nil {
		t.Fatal(err)
	}
	stopHealthy(t, h)
	return h
}

// stopHealthy stops an Envoy when the test ends, and fails the test if it is not healthy then.
func stopHealthy(t *testing.T, h *hosts.Host) {
	t.Helper()
	t.Cleanup(func() {
		checkHealthy(t, h)
		h.Stop()
	})
}

// RunProxy runs the shipped filter in one of its hosts.
type RunProxy func(t *testing.T, c *config.Config, changes ...Change) *hosts.Host

// OnProxies runs a test in each host of the shipped filter.
func OnProxies(t *testing.T, test func(t *testing.T, run RunProxy)) {
	t.Run("envoy", func(t *testing.T) { test(t, RunEnvoy) })
	t.Run("wazero", func(t *testing.T) { test(t, RunWazero) })
}

// RunProxies runs the shipped filter in one of its hosts, with several configurations.
type RunProxies func(t *testing.T, all []*config.Config, changes ...Change) []*hosts.Host

// OnProxiesOfAll is [OnProxies] for a test of several configurations, which one Envoy has side by side.
func OnProxiesOfAll(t *testing.T, test func(t *testing.T, run RunProxies)) {
	t.Run("envoy", func(t *testing.T) { test(t, RunEnvoyOfAll) })
	t.Run("wazero", func(t *testing.T) {
		test(t, func(t *testing.T, all []*config.Config, changes ...Change) (running []*hosts.Host) {
			t.Helper()
			for _, c := range all {
				running = append(running, RunWazero(t, c, changes...))
			}
			return running
		})
	})
}

// RunNative runs the core without proxy and wasm.
func RunNative(t *testing.T, c *config.Config) *hosts.Host {
	t.Helper()
	h, err := hosts.Native(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	return h
}

var reloads = regexp.MustCompile(`(?m)^wasm\.\S*(?:reload|fail)\S*: (\d+)`)

// checkHealthy fails the test if Envoy has ended, lost a VM, or logged a line about the filter.
func checkHealthy(t *testing.T, h *hosts.Host) {
	t.Helper()
	if h.Process == nil {
		return
	}
	if err := h.Process.Err(); err != nil {
		t.Errorf("%v:\n%s", err, h.Process.Log(100))
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	stats, err := h.Process.Get(ctx, "/stats?filter=wasm")
	if err != nil {
		t.Error(err)
	}
	for _, m := range reloads.FindAllStringSubmatch(string(stats), -1) {
		if m[1] != "0" {
			t.Errorf("Envoy's statistics: %s", m[0])
		}
	}
	for line := range strings.Lines(h.Process.Log(1000)) {
		if isServersFailure(line) {
			continue
		}
		if strings.Contains(line, "wasm") || strings.Contains(line, "harmony:") || strings.Contains(line, "[critical]") {
			t.Errorf("Envoy's log: %s", line)
		}
	}
}

// isServersFailure reports whether a line of a log tells of a server that has failed, and not of the filter.
func isServersFailure(line string) bool {
	return strings.Contains(line, "has failed before its first token")
}

// ReducedModel returns the configuration of [OneModel] in reduced mode, with [StallTimeout].
func ReducedModel(server string) *config.Config {
	c := OneModel(server)
	c.Mode, c.StallTimeout = contract.ModeReduced, config.Duration(StallTimeout)
	return c
}

// RunWazero runs the shipped filter in this process, without Envoy. The test fails if the filter or its host logs a
// warning, a VM is lost, or the filter does what Envoy would not survive.
func RunWazero(t *testing.T, c *config.Config, changes ...Change) *hosts.Host {
	t.Helper()
	h, err := hosts.WazeroWith(Resources(t, c, changes...), inprocess.Options{
		Workers: c.Envoy.Concurrency,
		Log: func(level wasmhost.Level, text string) {
			if level >= wasmhost.Warn && !isServersFailure(text) {
				t.Errorf("the filter says [%s] %s", level, text)
			}
		},
		Violation: func(what string) { t.Errorf("Envoy would not survive this: %s", what) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range h.Server.Proxy().Stats() {
			if s.Failed || s.Reloads > 0 {
				t.Errorf("a VM was lost: %+v", s)
			}
		}
		h.Stop()
	})
	return h
}
