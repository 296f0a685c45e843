//go:build e2e

package clients

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestCodexFromNothing runs the commands of docs/codex.md in a folder that has of a checkout what they name, before a
// simulated vLLM. Codex's package is the one that is installed, and uvx runs the MCP server that is. Ports are free ones.
func TestCodexFromNothing(t *testing.T) {
	text, err := os.ReadFile("../../docs/codex.md")
	if err != nil {
		t.Fatal(err)
	}
	script := sim.NewScript(
		sim.Line{Match: "mcp__time", Last: "here.txt", Tokens: lab.Tokens(saying("One file."))},
		sim.Line{Last: "here.txt", Tokens: lab.Tokens(saying("No MCP server."))},
		sim.Line{Match: "Which files are here?", Tokens: lab.Tokens(functionHands{}.command("sleep 1; echo here.txt"))},
	)
	_, model := lab.RunSim(t, sim.Options{Script: script})
	gateway, root := lab.FreeAddress(t), t.TempDir()
	commands := strings.NewReplacer("http://127.0.0.1:8000", model, "harmony up ", "harmony up --listen "+gateway+
		" --host wazero --wasm "+lab.Tool(t, "HARMONY_WASM")+" ").Replace(block(t, string(text), "sh", "npm install"))

	checkout := filepath.Join(root, "checkout")
	put := func(name, content string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"config.toml", "models.json"} {
		file, err := os.ReadFile(filepath.Join("codex", name))
		if err != nil {
			t.Fatal(err)
		}
		put("checkout/e2e/clients/codex/"+name, strings.ReplaceAll(string(file), "127.0.0.1:8080", gateway), 0o600)
	}
	installed := lab.Tool(t, "HARMONY_CLIENTS")
	put("bin/npm", "#!/bin/sh\nmkdir \"$3\" && ln -s "+installed+"/node_modules \"$3/node_modules\"\n", 0o700)
	put("bin/uvx", "#!/bin/sh\nexec "+lab.Tool(t, "HARMONY_MCP_PYTHON")+" -m mcp_server_time\n", 0o700)
	put("checkout/dist/harmony", "#!/bin/sh\nexec "+lab.Tool(t, "HARMONY_BIN")+" \"$@\"\n", 0o700)
	put("run.sh", "set -e\ngit init -q\n"+commands+"kill %1\nwait\n", 0o600)

	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", filepath.Join(root, "run.sh"))
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	shell.Dir = checkout
	shell.Env = []string{"PATH=" + filepath.Join(root, "bin") + ":" + installed + ":" + os.Getenv("PATH"), "HOME=" + root,
		"TMPDIR=" + root}
	var answer, said bytes.Buffer
	shell.Stdout, shell.Stderr = &answer, &said
	if err := shell.Run(); err != nil || !strings.HasSuffix(answer.String(), "One file.\n") {
		t.Errorf("%v: Codex answers %q\n%s", err, answer.String(), said.String())
	}
}
