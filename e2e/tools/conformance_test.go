//go:build e2e

package tools

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// conformanceProgram is the program of MCP's conformance tests, below the folder of packages.
const conformanceProgram = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// scenarios are those for clients that call tools. Others are about what the service does not do: to log in by OAuth, to
// ask a user, to read resources, and to fetch the rest of an answer whose stream a server has closed (sse-retry), which
// MCP 2026-07-28 has no more. There the call fails, and the model is told so.
var scenarios = []string{"initialize", "tools_call", "json-schema-ref-no-deref", "http-standard-headers",
	"http-custom-headers", "http-invalid-tool-headers"}

// TestConformance runs MCP's own conformance tests with the service's client.
func TestConformance(t *testing.T) {
	client := filepath.Join(t.TempDir(), "mcpclient")
	if out, err := exec.Command("go", "build", "-o", client, "./mcpclient").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
			defer cancel()
			cmd := exec.CommandContext(ctx, filepath.Join(lab.Tool(t, "HARMONY_CLIENTS"), "node"),
				filepath.Join(lab.Tool(t, "HARMONY_MCP"), conformanceProgram), "client", "--command", client, "--scenario", scenario)
			cmd.Dir = t.TempDir() // it writes its results there
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			} else {
				t.Logf("%s", out)
			}
		})
	}
}
