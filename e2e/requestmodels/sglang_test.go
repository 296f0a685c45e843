//go:build requestmodels

package requestmodels

import (
	"bytes"
	"errors"
	"os/exec"
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

// TestSGLangRefuses checks that the models refuse something at all.
func TestSGLangRefuses(t *testing.T) {
	for _, tc := range []struct{ path, request, want string }{
		{"/generate", `{"input_ids":["x"],"sampling_params":{}}`, "expected a sequence"},
		{"/generate", `{"input_ids":[1],"sampling_params":{"top_p":0}}`, "top_p must be in (0, 1]"},
		{"/generate", `{"input_ids":[1],"sampling_params":{"max_tokens":1}}`, "unknown field `max_tokens`"},
		{"/generate", `{"input_ids":[1],"sampling_params":{},"prompt":[1]}`, `["prompt"]`},
		{"/generate", `{"input_ids":[1],"sampling_params":{},"stream":"true"}`, "invalid type"},
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
