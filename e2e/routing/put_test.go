//go:build e2e

package routing

import (
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestRawPromptsByPut: SGLang takes prompts by PUT as by POST, so the gateway treats both alike.
func TestRawPromptsByPut(t *testing.T) {
	const allow, deny = contract.RawPromptsAllow, "deny"
	for _, setting := range []string{allow, deny} {
		c, gpu := oneModelOf(t, sim.Options{Kind: sim.SGLang, AnyPrompt: true})
		c.Models[0].RawPrompts = setting
		for name, base := range map[string]string{"envoy": lab.RunEnvoy(t, c).URL, "wazero": lab.RunWazero(t, c).URL,
			"native": lab.RunNative(t, c).URL} {
			t.Run(setting+"/"+name, func(t *testing.T) {
				put := func(path string) lab.Answer {
					return lab.Do(lab.HTTP1(t), http.MethodPut, base+path, nil,
						strings.NewReader(`{"model":"`+lab.Model+`","input_ids":[1]}`))
				}
				before := len(gpu.Requests())
				for _, path := range []string{"/completion", "/inference/v1/generate", lab.RawPath, "/generate/x", "/Generate"} {
					lab.WantRefused(t, put(path), 403, contract.CodeRawPromptNotAllowed)
				}
				a := put("/generate")
				seen := gpu.Requests()[before:]
				if setting == deny {
					lab.WantRefused(t, a, 403, contract.CodeRawPromptNotAllowed)
					if len(seen) != 0 {
						t.Errorf("%d requests reached the server", len(seen))
					}
					return
				}
				if a.Status != 200 || !strings.Contains(a.Body, `"output_ids":[`) || len(seen) != 1 ||
					seen[0].Method != http.MethodPut {
					t.Errorf("got %+v; the server got %d requests", a, len(seen))
				}
			})
		}
	}
}
