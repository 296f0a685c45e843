//go:build e2e

package e2e

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"github.com/tetratelabs/wazero"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// counter is a counter of the filter's in an Envoy.
func counter(t *testing.T, h *hosts.Host, name string) uint64 {
	t.Helper()
	return statistic(t, h, "wasmcustom."+name)
}

// statistic is a counter of Envoy's, 0 while there is nothing to count.
func statistic(t *testing.T, h *hosts.Host, name string) uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stats, err := h.Process.Get(ctx, "/stats?filter="+name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(stats)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+": "); ok {
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// TestEditsRefused: a proxy that lets no request be rewritten gets errors to send, no bodies to forward. It is told once
// in the log, and counted each time.
func TestEditsRefused(t *testing.T) {
	for _, mode := range []string{contract.ModeFull, contract.ModeReduced} {
		t.Run(mode, func(t *testing.T) {
			gpu, url := runSim(t, sim.Options{})
			c := oneModel(url)
			c.Mode = mode
			setup := hosts.Setup{Config: c}
			r, err := hosts.Resources(setup)
			if err != nil {
				t.Fatal(err)
			}
			withoutCapability(t, r, "proxy_replace_header_map_value")
			h, err := hosts.EnvoyWith(setup, r)
			if err != nil {
				t.Fatal(err)
			}
			defer h.Stop()
			for range 3 {
				refused(t, ask(http1(t), h.URL+chatPath, chatBody(caseModel, "Hi")), 500, "gateway_misconfigured")
			}
			if n := counter(t, h, "harmony_edits_refused_total"); n != 3 {
				t.Errorf("%d refusals are counted, want 3", n)
			}
			if n := strings.Count(h.Process.Log(1000), "harmony: set "); n != 1 {
				t.Errorf("the log has it %d times:\n%s", n, h.Process.Log(50))
			}
			if n := len(gpu.Requests()); n != 0 {
				t.Errorf("%d requests reached the server", n)
			}
		})
	}
}

// withoutCapability takes one function of Envoy's away from the filter.
func withoutCapability(t *testing.T, r *xds.Resources, name string) {
	t.Helper()
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	defer runtime.Close(ctx)
	data, err := os.ReadFile(tool(t, "HARMONY_WASM"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := runtime.CompileModule(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]*wasmv3.SanitizationConfig{}
	for _, f := range module.ImportedFunctions() {
		_, function, _ := f.Import()
		allowed[function] = &wasmv3.SanitizationConfig{}
	}
	for function := range module.ExportedFunctions() {
		allowed[function] = &wasmv3.SanitizationConfig{}
	}
	if allowed[name] == nil {
		t.Fatalf("the filter does not use %s", name)
	}
	delete(allowed, name)
	editPlugin(t, r, func(c *wasmv3.PluginConfig) {
		c.CapabilityRestrictionConfig = &wasmv3.CapabilityRestrictionConfig{AllowedCapabilities: allowed} //nolint:staticcheck // Envoy 1.37 knows the restriction only here
	})
}

// TestResponseChunks: the counter counts the pieces in which an answer came.
func TestResponseChunks(t *testing.T) {
	const tokens = 8
	_, url := runSim(t, sim.Options{TokensPerSecond: 50,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: spoken(said)})})
	h := runEnvoy(t, oneModel(url))
	if a := ask(http1(t), h.URL+chatPath, `{"stream":true,`+chatBody(caseModel, "Hi")[1:]); a.status != 200 ||
		!read(a.body).finished() {
		t.Fatalf("got %+v", a)
	}
	if n := counter(t, h, "harmony_response_chunks_total"); n < tokens {
		t.Errorf("%d pieces are counted of an answer of more than %d tokens", n, tokens)
	}
	ask(http1(t), h.URL+chatPath, chatBody("other", "Hi"))
	before := counter(t, h, "harmony_response_chunks_total")
	ask(http1(t), h.URL+"/v1/models", "{}")
	if n := counter(t, h, "harmony_response_chunks_total"); n != before {
		t.Error("a piece of another answer is counted")
	}
}

// counters are all counters of the filter's, on Envoy or without it.
func counters(t *testing.T, h *hosts.Host) map[string]int {
	t.Helper()
	counts := map[string]int{}
	if h.Process == nil {
		for name, value := range h.Server.Proxy().Metrics() {
			counts[name] = int(value)
		}
		return counts
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stats, err := h.Process.Get(ctx, "/stats?filter=harmony")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(stats)) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "wasmcustom."), ": ")
		if n, err := strconv.Atoi(value); err == nil {
			counts[name] = n
		}
	}
	return counts
}
