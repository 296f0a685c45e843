//go:build e2e

package up

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestChatCommand talks to a gateway by harmony chat and each API. The model calls a tool, and answers its result. What
// it then gets is the whole conversation.
func TestChatCommand(t *testing.T) {
	const thinks, calls = "<|channel|>analysis<|message|>I look it up.<|end|><|start|>assistant",
		`<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>`
	tools := lab.WriteConfig(t, `[{"type":"function","name":"weather","parameters":{"type":"object"}}]`)
	for name, flags := range map[string][]string{"Chat": nil, "Responses": {"--responses"}} {
		t.Run(name, func(t *testing.T) {
			server, serverURL := lab.RunSim(t, sim.Options{Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(thinks + calls)},
				sim.Line{Tokens: lab.Tokens("<|channel|>final<|message|>It is sunny.<|return|>")},
				sim.Line{Tokens: lab.Tokens("<|channel|>final<|message|>In Paris.<|return|>")})})
			_, url := lab.StartUp(t, "--host", "wazero", "--model", lab.Model, "--backend", "vllm="+serverURL)
			c := exec.Command(lab.Tool(t, "HARMONY_BIN"), append([]string{"chat", url, "--tools", tools}, flags...)...)
			c.Stdin = strings.NewReader("The weather?\nsun, 20 degrees\nWhere?\n")
			out, err := c.CombinedOutput()
			const want = "I look it up.\nweather{\"city\":\"Paris\"}\nIt is sunny.\nIn Paris.\n"
			if err != nil || string(out) != want {
				t.Fatalf("%v\n%s", err, out)
			}
			all := lab.Completions(server)
			last := lab.Vocabulary.DecodeString(all[len(all)-1].PromptIDs)
			for _, part := range []string{"The weather?", "sun, 20 degrees", "It is sunny.", "Where?"} {
				if !strings.Contains(last, part) {
					t.Errorf("the last prompt has no %q: %s", part, last)
				}
			}
		})
	}
}
