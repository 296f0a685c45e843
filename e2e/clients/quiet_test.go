//go:build e2e

package clients

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The models of a gateway before a server with a slow prefill: the streams of one are kept alive.
const (
	aliveModel = "alive"
	stillModel = "still"
)

const quietConfig = `
responses_service: { store: %q, listen: %q }
models:
  - { name: ` + aliveModel + `, server_model: ` + lab.Model + `, servers: ['vllm=%[3]s'], relay: retry, keep_alive: 1s }
  - { name: ` + stillModel + `, server_model: ` + lab.Model + `, servers: ['vllm=%[3]s'], relay: retry }
`

const (
	// quietPrefill is how long the server is silent, and quietLimit how long clients bear silence.
	quietPrefill = 7 * time.Second
	quietLimit   = "3.5"
	quietAnswer  = "Well."
)

// TestQuietClients: clients with a limit on silence give up on a slow prefill, and do not where the gateway gives them
// signs of life.
func TestQuietClients(t *testing.T) {
	lab.Long(t, "test-clients")
	_, serverURL := lab.RunSim(t, sim.Options{TimeToFirstToken: quietPrefill, Script: sim.NewScript(sim.Line{
		Match: "Hi", Tokens: lab.Tokens("<|channel|>analysis<|message|>A greeting.<|end|><|start|>assistant<|channel|>final<|message|>" +
			quietAnswer + "<|return|>")})})
	programs := clientFolder(t)
	for _, host := range clientHosts {
		t.Run(host, func(t *testing.T) {
			config := lab.WriteConfig(t, fmt.Sprintf(quietConfig, filepath.Join(t.TempDir(), "responses.db"),
				lab.FreeAddress(t), serverURL))
			_, url := lab.StartUp(t, "--host", host, "--config", config)
			models := []string{aliveModel}
			if host == clientHosts[0] { // that clients give up does not depend on the host
				models = append(models, stillModel)
			}
			for _, model := range models {
				t.Run(model, func(t *testing.T) {
					t.Parallel()
					asksQuietly(t, programs, url, model)
				})
			}
		})
	}
}

// asksQuietly runs all clients at once.
func asksQuietly(t *testing.T, programs, url, model string) {
	gives := model == stillModel
	for _, c := range []struct{ variable, program string }{
		{"HARMONY_OPENAI_PYTHON", "openai-python/quiet.py"}, {"HARMONY_ANTHROPIC_PYTHON", "anthropic-python/quiet.py"},
		{"HARMONY_ANTHROPIC_1_PYTHON", "anthropic-python/quiet.py"}, {"HARMONY_CLIENTS", "quiet.mjs"},
	} {
		t.Run(c.variable, func(t *testing.T) {
			t.Parallel()
			interpreter := lab.Tool(t, c.variable)
			if c.program == "quiet.mjs" {
				interpreter = filepath.Join(interpreter, "node")
			}
			cmd := exec.CommandContext(t.Context(), interpreter, filepath.Join(programs, c.program), url+"/v1", model,
				quietLimit)
			cmd.Env = clientEnvironment(programs)
			said, err := cmd.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(said)), "\n")
			if err != nil || len(lines) < 2 {
				t.Fatalf("%v: %s", err, said)
			}
			for _, line := range lines {
				if want := map[bool]string{false: ": " + quietAnswer, true: ": gave up"}[gives]; !strings.HasSuffix(line, want) {
					t.Errorf("%s, want%s", line, want)
				}
			}
		})
	}
	t.Run("Codex over WebSocket", func(t *testing.T) {
		t.Parallel()
		c := newCodex(t, url, model)
		const gateway = "model_providers.gateway."
		cmd := c.command(t, "-c", gateway+"supports_websockets=true", "-c", gateway+"stream_idle_timeout_ms=3500", "Hi")
		said, err := cmd.CombinedOutput()
		// Codex asks again by HTTP then, where it waits for the headers however long they take.
		if gave := strings.Contains(string(said), "idle timeout"); gave != gives || !strings.Contains(string(said),
			quietAnswer) {
			t.Errorf("gave up: %v, %v\n%s", gave, err, said)
		}
	})
	t.Run("Claude Code", func(t *testing.T) {
		t.Parallel()
		c := newClaude(t, url, model)
		c.environment = []string{"API_TIMEOUT_MS=3500", "CLAUDE_CODE_MAX_RETRIES=0"}
		if turn := c.run(t, "Hi"); (turn.ended(quietAnswer) != "") != gives {
			t.Errorf("%+v", turn)
		}
	})
}
