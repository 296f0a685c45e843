//go:build requestmodels

package requestmodels

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// TestSGLang gives everything that the gateway makes of the suite's requests to SGLang's request models: they must
// accept all of it, and know every member.
func TestSGLang(t *testing.T) {
	names, requests := requestsTo(t, contract.SGLang)
	answers := ask(t, requests)
	if len(answers) != len(names) || len(names) < 250 {
		t.Fatalf("%d answers to %d requests", len(answers), len(names))
	}
	for i, name := range names {
		if answers[i] != "[]" {
			t.Errorf("%s: SGLang does not know, or refuses: %s", name, answers[i])
		}
	}
	t.Logf("%d requests are as SGLang wants them", len(names))
}

// TestSGLangRefuses checks that the models refuse something at all.
func TestSGLangRefuses(t *testing.T) {
	for request, want := range map[string]string{
		`{"input_ids":["x"],"sampling_params":{}}`:               "expected a sequence",
		`{"input_ids":[1],"sampling_params":{"top_p":0}}`:        "top_p must be in (0, 1]",
		`{"input_ids":[1],"sampling_params":{"max_tokens":1}}`:   "unknown field `max_tokens`",
		`{"input_ids":[1],"sampling_params":{},"prompt":[1]}`:    `["prompt"]`,
		`{"input_ids":[1],"sampling_params":{},"stream":"true"}`: "invalid type",
	} {
		if got := ask(t, []byte(request+"\n")); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: got %s", request, got)
		}
	}
}

// requestsTo returns the names of the suite's cases that reach a server of a kind, and the requests to it, one a line.
func requestsTo(t *testing.T, kind string) (names []string, requests []byte) {
	t.Helper()
	for _, c := range cases.All(t) {
		config, err := c.On(kind).Config("http://127.0.0.1:9") // never reached
		if err != nil {
			t.Fatal(err)
		}
		config.Mode = contract.ModeFull
		action, _ := c.Begin(exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary}))
		// Raw prompts that a client may send pass as they are.
		if action.Forward != nil && action.Forward.Body != nil && c.API() != "" {
			names = append(names, c.Name)
			requests = append(append(requests, action.Forward.Body...), '\n')
		}
	}
	return names, requests
}

// ask returns what the request models say of each request.
func ask(t *testing.T, requests []byte) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), lab.Tool(t, "HARMONY_ORACLE_PYTHON"), "sglang.py",
		lab.Tool(t, "HARMONY_SGLANG"))
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
