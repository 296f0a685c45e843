package e2e

import (
	"context"
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
	_, server := startSim(t, sim.Options{})
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
