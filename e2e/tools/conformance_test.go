//go:build e2e

package tools

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// conformanceProgram is the program of MCP's conformance tests, below the folder of packages.
const conformanceProgram = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// scenarios are those for clients that call tools. Others are about what the service does not do: to log in by OAuth,
// to ask a user, to read resources, and to fetch the rest of an answer whose stream a server has closed (sse-retry),
// which MCP 2026-07-28 has no more. There the call fails, and the model is told so. Each is run by a server of each of
// these versions of MCP.
var scenarios = map[string][]string{
	"initialize": {"2025-06-18", "2025-11-25"}, "tools_call": {"2025-06-18", "2025-11-25", "2026-07-28"},
	"json-schema-ref-no-deref": {"2026-07-28"}, "http-standard-headers": {"2026-07-28"},
	"http-custom-headers": {"2026-07-28"}, "http-invalid-tool-headers": {"2026-07-28"},
}

// allPassed is what is said of a scenario that was run, and in which nothing has failed.
var allPassed = regexp.MustCompile(`Passed: [1-9][0-9]*/[0-9]+, 0 failed, 0 warnings`)

// TestConformance runs MCP's own conformance tests with the service's client.
func TestConformance(t *testing.T) {
	client := filepath.Join(t.TempDir(), "mcpclient")
	if out, err := exec.Command("go", "build", "-o", client, "./mcpclient").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := filepath.Join(lab.Tool(t, "HARMONY_MCP"), conformanceProgram)
	for scenario, versions := range scenarios {
		for _, version := range versions {
			t.Run(scenario+" "+version, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
				defer cancel()
				cmd := exec.CommandContext(ctx, filepath.Join(lab.Tool(t, "HARMONY_CLIENTS"), "node"), program, "client",
					"--command", client, "--scenario", scenario, "--spec-version", version)
				cmd.Dir = t.TempDir() // it writes its results there
				out, err := cmd.CombinedOutput()
				if passed := allPassed.FindString(string(out)); err != nil || passed == "" {
					t.Errorf("%v\n%s", err, out)
				} else {
					t.Log(passed)
				}
			})
		}
	}
}
