package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/sim"
)

const clientLimit = 2 * time.Minute

// TestOpenAIClient lets OpenAI's own Python client, at its strictest, speak to harmony up.
func TestOpenAIClient(t *testing.T) {
	python := tool(t, "HARMONY_OPENAI_PYTHON")
	_, server := startSim(t, sim.Options{AllowHeaders: true})
	up, url := startUp(t, "--model", caseModel, "--backend", "vllm="+server)
	ctx, cancel := context.WithTimeout(t.Context(), clientLimit)
	defer cancel()
	said, err := exec.CommandContext(ctx, python, "clients/openai_strict.py", url+"/v1", caseModel).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	t.Logf("%s", said)
	up.stop(t, syscall.SIGINT)
}

// TestDemo runs the demonstration, faster than a person could follow it.
func TestDemo(t *testing.T) {
	tool(t, "HARMONY_BIN")
	tool(t, "HARMONY_WASM")
	tool(t, "HARMONY_OPENAI_PYTHON")
	ctx, cancel := context.WithTimeout(t.Context(), clientLimit)
	defer cancel()
	demo := exec.CommandContext(ctx, "../examples/demo/run.sh")
	demo.Cancel = func() error { return demo.Process.Signal(syscall.SIGTERM) } // it has children to stop
	demo.WaitDelay = upStop
	demo.Env = append(os.Environ(), "DEMO_TOKENS_PER_SECOND=2000")
	said, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{
		"Chat Completions with a tool", "Responses with a tool", `calls      get_weather {"city":"Paris"}`, "answer     The tool functions.get_weather answered",
	} {
		if !bytes.Contains(said, []byte(want)) {
			t.Errorf("it does not show %q", want)
		}
	}
	if bytes.ContainsRune(said, '\x1b') {
		t.Error("colours without a terminal")
	}
	if t.Failed() {
		t.Logf("%s", said)
	}
}
