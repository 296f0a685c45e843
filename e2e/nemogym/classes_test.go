//go:build e2e && nemogym

package nemogym

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// classesOf returns a passage through the classes of a NeMo Gym.
func classesOf(t *testing.T, file string) passage {
	return func(class string, value map[string]any) map[string]any {
		t.Helper()
		command := exec.CommandContext(t.Context(), lab.Tool(t, "HARMONY_OPENAI_PYTHON"), "classes.py", file)
		command.Stdin = strings.NewReader(encode(t, []any{class, value}) + "\n")
		written, err := command.Output()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("%s: %v: %s", class, err, failed.Stderr)
		} else if err != nil {
			t.Fatal(err)
		}
		return object(t, string(written))
	}
}

// TestClasses has an agent on the examples whose requests and responses pass through NeMo Gym's classes, of several
// versions: reasoning, calls and ids stay whole on the way to the agent, and on the way back to the server.
func TestClasses(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(lab.Tool(t, "HARMONY_NEMOGYM"), "*", "openai_utils.py"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, name := range []string{"inference.yaml", "training.yaml"} {
		servers, urls := policyServers(t, "")
		_, url := lab.StartUpWith(t, nil, "--host", "wazero", "--config", example(t, "wazero", name, urls))
		training, before := name == "training.yaml", [2]int{}
		for _, file := range files {
			t.Run(filepath.Base(filepath.Dir(file))+"/"+name, func(t *testing.T) {
				runAgent(t, url, training, classesOf(t, file))
				checkAsked(t, askedSince(servers, &before), "", training)
			})
		}
	}
}

// TestClassesDropContent checks that reasoning in content alone would not pass through the classes of all versions.
func TestClassesDropContent(t *testing.T) {
	for version, want := range map[string]string{"0.2.1": "", "0.4.0": "", "0.7.0": "I think."} {
		through := classesOf(t, filepath.Join(lab.Tool(t, "HARMONY_NEMOGYM"), version, "openai_utils.py"))
		request := through("NeMoGymResponseCreateParamsNonStreaming", map[string]any{"input": []any{
			map[string]any{"id": "rs_1", "type": "reasoning", "summary": []any{},
				"content": []any{map[string]any{"type": "reasoning_text", "text": "I think."}}}}})
		if got := said(request["input"]).reasoning; got != want {
			t.Errorf("%s keeps %q, want %q", version, got, want)
		}
	}
}
