//go:build e2e

package nemogym

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// steps is how many steps an agent takes with gpt-oss: calls, and then an answer.
const steps = 10

// steppingModel is gpt-oss with a call in each step but the last. Arguments are spelled a character at a time, as no
// encoder does: a policy samples what it likes.
func steppingModel() *sim.Script {
	var lines []sim.Line
	for step := range steps - 1 {
		ids := lab.Tokens(fmt.Sprintf("<|channel|>analysis<|message|>Step %d.<|end|><|start|>assistant<|channel|>commentary "+
			"to=functions.get_weather <|constrain|>json<|message|>", step))
		for _, c := range fmt.Sprintf(`{"city": "Paris", "day":%d}`, step) {
			ids = append(ids, lab.Tokens(string(c))...)
		}
		lines = append(lines, sim.Line{Tokens: append(ids, lab.Tokens("<|call|>")...)})
	}
	return sim.NewScript(append(lines, sim.Line{Tokens: lab.Tokens(thenAnswer)})...)
}

// gptOSS serves examples/nemo-gym/gpt-oss.yaml before a simulated server.
func gptOSS(t *testing.T, host string) (server *sim.Server, url string) {
	t.Helper()
	server, serverURL := lab.RunSim(t, sim.Options{Kind: sim.VLLM, Models: []string{"openai/gpt-oss-120b"}, Keep: 100,
		Script: steppingModel()})
	text, err := os.ReadFile(lab.File("examples/nemo-gym/gpt-oss.yaml"))
	if err != nil || bytes.Count(text, []byte("http://gpu-node-1:8000")) != 1 {
		t.Fatal(err, "the example has no such server")
	}
	path := filepath.Join(t.TempDir(), "gpt-oss.yaml")
	text = bytes.ReplaceAll(text, []byte("http://gpu-node-1:8000"), []byte(serverURL))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, url = lab.StartUpWith(t, nil, "--host", host, "--config", path)
	return server, url
}

// stepper is an agent of an API. It sends everything back as it came.
type stepper struct {
	path, list, tools string
	// said returns what the model has said, and the id of its call, if it has called.
	said func(t *testing.T, body string) (said []json.RawMessage, call string)
	// result is the result of a call.
	result string
}

// TestStepsAsSampled has an agent on gpt-oss: over ten steps each prompt is the one before, what was sampled after it,
// and what is new, to the id, and the trainer has these ids.
func TestStepsAsSampled(t *testing.T) {
	agents := map[string]stepper{
		"chat": {lab.ChatPath, "messages",
			`[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}]`, saidInChat,
			`{"role":"tool","tool_call_id":%q,"content":"Rain."}`},
		"responses": {lab.ResponsesPath, "input",
			`[{"type":"function","name":"get_weather","parameters":{"type":"object"}}]`, saidInResponses,
			`{"type":"function_call_output","call_id":%q,"output":"Rain."}`},
	}
	for _, host := range []string{"wazero", "envoy"} {
		for api, agent := range agents {
			t.Run(host+"/"+api, func(t *testing.T) {
				server, url := gptOSS(t, host)
				history := []json.RawMessage{json.RawMessage(`{"role":"user","content":"` + question + `"}`)}
				for step := range steps {
					list, _ := json.Marshal(history)
					a := lab.Ask(lab.HTTP1(t), url+agent.path, fmt.Sprintf(`{"model":"policy","tools":%s,%q:%s}`, agent.tools,
						agent.list, list))
					if a.Status != 200 {
						t.Fatalf("step %d: %d %s", step, a.Status, a.Body)
					}
					said, call := agent.said(t, a.Body)
					if (call == "") != (step == steps-1) {
						t.Fatalf("step %d calls %q: %s", step, call, a.Body)
					}
					wantTrained(t, server, step, said[len(said)-1])
					history = append(append(history, said...), json.RawMessage(fmt.Sprintf(agent.result, call)))
				}
			})
		}
	}
}

// wantTrained compares the ids that a trainer gets with the server's, and the server's prompt with the one before.
func wantTrained(t *testing.T, server *sim.Server, step int, said json.RawMessage) {
	t.Helper()
	var ids struct {
		Prompt  []uint32 `json:"prompt_token_ids"`
		Sampled []uint32 `json:"generation_token_ids"`
	}
	asked := lab.Completions(server)
	if err := json.Unmarshal(said, &ids); err != nil || len(asked) != step+1 ||
		!slices.Equal(ids.Prompt, asked[step].PromptIDs) || !slices.Equal(ids.Sampled, asked[step].SampledIDs) {
		t.Fatalf("step %d: %v: the trainer gets %s", step, err, said)
	}
	if step == 0 {
		return
	}
	before := slices.Concat(asked[step-1].PromptIDs, asked[step-1].SampledIDs)
	if len(ids.Prompt) <= len(before) || !slices.Equal(ids.Prompt[:len(before)], before) {
		t.Errorf("step %d: the prompt is %s\nafter %s", step, lab.Vocabulary.DecodeString(ids.Prompt),
			lab.Vocabulary.DecodeString(before))
	}
	if new := lab.Vocabulary.DecodeString(ids.Prompt[len(before):]); strings.Count(new, "<|message|>") != 1 {
		t.Errorf("step %d: what is new is %s", step, new)
	}
}

func saidInChat(t *testing.T, body string) (said []json.RawMessage, call string) {
	t.Helper()
	var answer struct {
		Choices []struct{ Message json.RawMessage }
	}
	var message struct {
		Calls []struct{ ID string } `json:"tool_calls"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Choices) != 1 ||
		json.Unmarshal(answer.Choices[0].Message, &message) != nil {
		t.Fatal(body)
	}
	if len(message.Calls) == 1 {
		call = message.Calls[0].ID
	}
	return []json.RawMessage{answer.Choices[0].Message}, call
}

func saidInResponses(t *testing.T, body string) (said []json.RawMessage, call string) {
	t.Helper()
	var answer struct{ Output []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Output) == 0 {
		t.Fatal(body)
	}
	var last struct {
		CallID string `json:"call_id"`
	}
	if err := json.Unmarshal(answer.Output[len(answer.Output)-1], &last); err != nil {
		t.Fatal(err)
	}
	return answer.Output, last.CallID
}
