//go:build e2e

package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestCodexGuide follows docs/codex.md from nothing to a call of an MCP server. npm and uvx are stood in for by what
// they would install, and the server by a simulated one. Ports are free ones.
func TestCodexGuide(t *testing.T) {
	hands := functionHands{searches: true}
	acts := append([]act{after("in Tokyo?", hands.command("echo waited TAG"))}, hands.clock()[1:]...)
	acts = append(acts, after("+09:00", saying("It is late.")))
	_, server := lab.RunSim(t, sim.Options{Script: sim.NewScript(actLines("What time is it in Tokyo?", acts)...)})
	gateway, folder, tools := lab.FreeAddress(t), t.TempDir(), t.TempDir()
	session := lab.ReadSession(t, "docs/codex.md", "## From nothing")
	session.Replace("http://127.0.0.1:8000", server)
	session.Replace("dist/harmony up ", "dist/harmony up --listen "+gateway+" ")
	session.Typed = `npm() { mkdir -p codex/node_modules/.bin && ln -s "$CODEX" codex/node_modules/.bin/codex; }
cp() { command cp "$@" && sed -i "s/127.0.0.1:8080/` + gateway + `/" "$CODEX_HOME/config.toml"; }
` + session.Typed
	packages := lab.Tool(t, "HARMONY_CLIENTS")
	lab.WriteScript(t, tools, "uvx", `exec "`+lab.Tool(t, "HARMONY_MCP_PYTHON")+`" -m mcp_server_time`)
	codex := lab.WriteScript(t, tools, "codex",
		`exec "`+packages+`/node" "`+packages+`/node_modules/@openai/codex/bin/codex.js" "$@"`)
	for name, to := range map[string]string{"dist": filepath.Dir(lab.Tool(t, "HARMONY_BIN")), "e2e": lab.File("e2e")} {
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	session.Run(t.Context(), t, func(shell *exec.Cmd) {
		shell.Dir = folder
		shell.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "CODEX="+codex, "HOME="+folder)
	})
}
