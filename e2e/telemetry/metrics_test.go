//go:build e2e

package telemetry

import (
	"context"
	"os"
	"strings"
	"testing"

	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"github.com/tetratelabs/wazero"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestEditsRefused has a proxy that does not let the filter edit requests. Clients get errors, no server gets a body,
// and the reason is logged once and counted each time.
func TestEditsRefused(t *testing.T) {
	for _, mode := range []string{contract.ModeFull, contract.ModeReduced} {
		t.Run(mode, func(t *testing.T) {
			gpu, url := lab.RunSim(t, sim.Options{})
			c := lab.OneModel(url)
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
				lab.WantRefused(t, lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, lab.ChatBody(lab.Model, "Hi")), 500,
					"gateway_misconfigured")
			}
			if n := lab.Counter(t, h, "harmony_edits_refused_total"); n != 3 {
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
	data, err := os.ReadFile(lab.Tool(t, "HARMONY_WASM"))
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
	lab.EditPlugin(t, r, func(c *wasmv3.PluginConfig) {
		c.CapabilityRestrictionConfig = &wasmv3.CapabilityRestrictionConfig{AllowedCapabilities: allowed} //nolint:staticcheck // Envoy 1.37 knows the restriction only here
	})
}

// TestResponseChunks: the counter counts the pieces in which an answer came.
func TestResponseChunks(t *testing.T) {
	const tokens = 8
	_, url := lab.RunSim(t, sim.Options{TokensPerSecond: 50,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})})
	h := lab.RunEnvoy(t, lab.OneModel(url))
	if a := lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath,
		`{"stream":true,`+lab.ChatBody(lab.Model, "Hi")[1:]); a.Status != 200 ||
		!lab.Read(a.Body).Finished() {
		t.Fatalf("got %+v", a)
	}
	if n := lab.Counter(t, h, "harmony_response_chunks_total"); n < tokens {
		t.Errorf("%d pieces are counted of an answer of more than %d tokens", n, tokens)
	}
	lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, lab.ChatBody("other", "Hi"))
	before := lab.Counter(t, h, "harmony_response_chunks_total")
	lab.Ask(lab.HTTP1(t), h.URL+"/v1/models", "{}")
	if n := lab.Counter(t, h, "harmony_response_chunks_total"); n != before {
		t.Error("a piece of another answer is counted")
	}
}
