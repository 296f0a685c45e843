//go:build e2e

package up

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestOperatorDay runs the script that shows what an operator sees when a model's name is wrong and when servers die.
// The script fails at the first step that is not as it should be.
func TestOperatorDay(t *testing.T) {
	for _, name := range []string{"HARMONY_BIN", "HARMONY_WASM", "ENVOY"} {
		lab.Tool(t, name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	day := exec.CommandContext(ctx, lab.File("examples/operator-day.sh"))
	day.Cancel = func() error { return day.Process.Signal(syscall.SIGTERM) } // it has children to stop
	day.WaitDelay = lab.StopLimit
	day.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	said, err := day.CombinedOutput()
	t.Logf("%s", said)
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(said)), " ") // harmony status breaks long lines
	for _, want := range []string{
		"add --server-model openai/gpt-oss-120b", `"code":"server_model_not_found"`, "--host wazero",
		"no Envoy reaches it; connection refused", "DOWN for", "(exit status 1)",
		`"code":"server_unavailable"`, "a pool is up again",
		`it refuses the authorization "vllm-key"`, `"code":"server_refused_credentials"`, `"code":"server_path_not_found"`,
		"harmony probe http://", "1 of 3 servers refuse all requests", "DOES NOT WORK", "does not work: connection refused",
		"expires on",
		"after the next start there are 4, of two gateways", "removed 1 response", "clients with keys need --client NAME",
		"has failed before its first token: empty", "has failed before its first token: silent",
		"has failed before its first token: the client got 502",
		"answers of its servers have failed before the first token", `harmony_failed_attempts_total{pool="hangs"}`,
		"gpt-oss-120b has a context of 4096 tokens", "WARNING: context_length of gpt-oss-120b is 131072",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("it does not show %q", want)
		}
	}
	if n := strings.Count(string(said), "20 × 200"); n != 20 {
		t.Errorf("20 requests were all answered %d times, want 20", n)
	}
}
