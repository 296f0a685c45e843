//go:build e2e

package up

import (
	"encoding/json"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestNemoGym serves the configurations of examples/nemo-gym in front of two servers of the shape that they name: a
// vLLM with parsers of calls and of reasoning, and a key.
func TestNemoGym(t *testing.T) {
	const model = "Qwen/Qwen3-30B-A3B"
	for _, name := range []string{"inference", "training"} {
		t.Run(name, func(t *testing.T) {
			o := sim.Options{Kind: sim.Chat, ChatForm: sim.ChatReasoning, Models: []string{model}, APIKey: "policy", MaxModelLen: 500}
			first, firstURL := lab.RunSim(t, o)
			second, secondURL := lab.RunSim(t, o)
			text, err := os.ReadFile(lab.File("examples/nemo-gym/" + name + ".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			config := filepath.Join(t.TempDir(), "config.yaml")
			replaced := strings.NewReplacer("http://gpu-node-1:10240", firstURL, "http://gpu-node-2:10240", secondURL).
				Replace(string(text))
			if err := os.WriteFile(config, []byte(replaced), 0o600); err != nil {
				t.Fatal(err)
			}
			up, url := lab.StartUpWith(t, []string{"POLICY_API_KEY=policy"}, "--config", config, "--envoy",
				lab.WriteScript(t, t.TempDir(), "envoy", `exec "$ENVOY" "$@"`))
			client := lab.HTTP1(t)
			if client.Jar, err = cookiejar.New(nil); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				a := lab.Ask(client, url+lab.ResponsesPath, lab.ResponsesBody(model, "Hello"))
				wantNemoResponse(t, a, name == "training")
			}
			if n, m := len(lab.Completions(first)), len(lab.Completions(second)); n*m != 0 || n+m != 4 {
				t.Errorf("the session's requests reached the servers %d and %d times", n, m)
			}
			// NeMo Gym gives an empty answer that ended at its limit.
			a := lab.Ask(client, url+lab.ResponsesPath, lab.ResponsesBody(model, strings.Repeat("Hello ", 1000)))
			if a.Status != 200 || !strings.Contains(a.Body, `"incomplete_details":{"reason":"max_output_tokens"}`) {
				t.Errorf("a conversation that is too long: %+v", a)
			}
			up.Stop(t, syscall.SIGTERM)
		})
	}
}

// wantNemoResponse checks a response: reasoning, a message, and for training the ids of both on the last item.
func wantNemoResponse(t *testing.T, a lab.Answer, ids bool) {
	t.Helper()
	var response struct {
		Output []struct {
			Type       string
			Prompt     []int     `json:"prompt_token_ids"`
			Generation []int     `json:"generation_token_ids"`
			LogProbs   []float64 `json:"generation_log_probs"`
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &response); err != nil || a.Status != 200 || len(response.Output) != 2 ||
		response.Output[0].Type != "reasoning" || response.Output[1].Type != "message" {
		t.Fatalf("got %+v", a)
	}
	last := response.Output[1]
	if (len(last.Prompt) > 0) != ids || (len(last.Generation) > 0) != ids || len(last.LogProbs) != len(last.Generation) {
		t.Errorf("ids: %+v", last)
	}
}
