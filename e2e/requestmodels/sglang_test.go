//go:build requestmodels

package requestmodels

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestSGLang gives everything that the gateway makes of the suite's requests to SGLang's request models: they must
// accept all of it, and know every member.
func TestSGLang(t *testing.T) {
	for _, kind := range []string{contract.SGLang, contract.SGLangCompletions} {
		names, requests := requestsTo(t, kind)
		answers := ask(t, contract.KindNamed(kind).Path, requests)
		if len(answers) != len(names) || len(names) < 250 {
			t.Fatalf("%s: %d answers to %d requests", kind, len(answers), len(names))
		}
		for i, name := range names {
			if answers[i] != "[]" {
				t.Errorf("%s, %s: SGLang does not know, or refuses: %s", kind, name, answers[i])
			}
		}
		t.Logf("%s: %d requests are as SGLang wants them", kind, len(names))
	}
}

// TestSGLangChat does the same with the Responses requests that servers of conversations get. SGLang does not know some
// of their members: one that names earlier reasoning as newer servers do, one that few models have, vLLM's form of a
// choice or a pattern, which is the client's own, and ids of tokens that come back. It has no files.
func TestSGLangChat(t *testing.T) {
	all, bodies := requestsTo(t, contract.Chat)
	apis := apisOf(t)
	var names []string
	var requests []byte
	for i, body := range bytes.Split(bytes.TrimSpace(bodies), []byte{'\n'}) {
		if apis[all[i]] == "responses" { // a Chat request goes on as the client wrote it
			names, requests = append(names, all[i]), append(append(requests, body...), '\n')
		}
	}
	answers := ask(t, contract.ChatPath, requests)
	if len(answers) != len(names) || len(names) < 100 {
		t.Fatalf("%d answers to %d requests", len(answers), len(names))
	}
	for i, name := range names {
		var unknown []string
		err := json.Unmarshal([]byte(answers[i]), &unknown)
		unknown = slices.DeleteFunc(unknown, func(name string) bool {
			switch name {
			case "reasoning", "verbosity", "structured_outputs",
				"prompt_token_ids", "generation_token_ids", "generation_log_probs":
				return true
			}
			return false
		})
		if (err != nil || len(unknown) > 0) && name != "responses_dropped_content" {
			t.Errorf("%s: SGLang does not know, or refuses: %s", name, answers[i])
		}
	}
	t.Logf("%d requests are as SGLang wants them", len(names))
}

// TestSGLangRefuses checks that the models refuse something at all.
func TestSGLangRefuses(t *testing.T) {
	for _, tc := range []struct{ path, request, want string }{
		{"/generate", `{"input_ids":["x"],"sampling_params":{}}`, "expected a sequence"},
		{"/generate", `{"input_ids":[1],"sampling_params":{"top_p":0}}`, "top_p must be in (0, 1]"},
		{"/generate", `{"input_ids":[1],"sampling_params":{"max_tokens":1}}`, "unknown field `max_tokens`"},
		{"/generate", `{"input_ids":[1],"sampling_params":{},"prompt":[1]}`, `["prompt"]`},
		{"/generate", `{"input_ids":[1],"sampling_params":{},"stream":"true"}`, "invalid type"},
		{"/v1/chat/completions", `{"messages":[{"role":"x"}]}`, "'role' must be one of"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"u","x":1}],"y":1}`, `["x", "y"]`},
		{"/v1/completions", `{"prompt":[1,"x"]}`, "validation errors for CompletionRequest"},
		{"/v1/completions", `{"prompt":[1],"max_tokens":0}`, "max_tokens must be positive"},
		{"/v1/completions", `{"prompt":[1],"top_p":0}`, "top_p must be in (0, 1]"},
		{"/v1/completions", `{"prompt":[1],"min_tokens":17}`, "min_new_tokens must be in"},
		{"/v1/completions", `{"prompt":[1],"structured_outputs":{},"input_ids":[1]}`, `["input_ids", "structured_outputs"]`},
	} {
		if got := ask(t, tc.path, []byte(tc.request+"\n")); len(got) != 1 || !strings.Contains(got[0], tc.want) {
			t.Errorf("%s %s: got %s", tc.path, tc.request, got)
		}
	}
}

// ask returns what the request models of a path say of each request.
func ask(t *testing.T, path string, requests []byte) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), lab.Tool(t, "HARMONY_OPENAI_PYTHON"), "sglang.py",
		lab.Tool(t, "HARMONY_SGLANG"), path)
	command.Stdin = bytes.NewReader(requests)
	said, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%v: %s", err, failed.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(said)), "\n")
}
