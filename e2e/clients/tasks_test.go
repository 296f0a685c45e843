//go:build e2e

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// clientEnvironment is what a client's program knows of who runs the tests: neither keys, nor a switch that lets it
// report elsewhere.
func clientEnvironment(programs string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + programs, "PYTHONPATH=" + programs, "PYTHONUTF8=1"}
}

// clientCommand is a program of clients/ that reads tasks, with the gateway that it asks: of Python or JavaScript by
// its name's end, or else a folder in Go, which is built.
func clientCommand(t *testing.T, programs, program, url string) []string {
	t.Helper()
	file := filepath.Join(programs, program)
	switch filepath.Ext(program) {
	case ".py":
		return []string{lab.Tool(t, "HARMONY_OPENAI_PYTHON"), file, url + "/v1"}
	case ".mjs":
		return []string{filepath.Join(lab.Tool(t, "HARMONY_CLIENTS"), "node"), file, url + "/v1"}
	default:
		return []string{buildClient(t, file), url + "/v1"}
	}
}

// runTasks runs a command out of programs with tasks on its standard input, and returns what it prints: a line for
// each.
func runTasks(t *testing.T, programs string, command []string, tasks any) []string {
	input, err := json.Marshal(tasks)
	if err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Env = clientEnvironment(programs)
	run.Stdin = bytes.NewReader(input)
	var complaints bytes.Buffer
	run.Stderr = &complaints
	output, err := run.Output()
	if err != nil {
		t.Errorf("%s: %v: %s%s", command, err, output, complaints.String())
	}
	return strings.Split(strings.TrimSpace(string(output)), "\n")
}
