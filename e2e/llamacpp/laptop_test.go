//go:build e2e && llamacpp

package llamacpp

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// laptopLimit is how long the session may take. All that it builds has been built.
const laptopLimit = 5 * time.Minute

// TestLaptop follows docs/llamacpp.md from nothing to the first answer. The puppet is copied instead of the model's
// download, and the user's words are those that it answers with the page's answer. Ports and the model's folder are
// free ones.
func TestLaptop(t *testing.T) {
	session := lab.ReadSession(t, "docs/llamacpp.md", "## A laptop, from nothing")
	engine, gateway := lab.FreeAddress(t), lab.FreeAddress(t)
	_, port, err := net.SplitHostPort(engine)
	if err != nil {
		t.Fatal(err)
	}
	session.Replace("127.0.0.1:8081", engine)
	session.Replace("--port 8081", "--port "+port)
	session.Replace("127.0.0.1:8080", gateway)
	session.Replace("dist/harmony up ", "dist/harmony up --listen "+gateway+" ")
	session.Replace(" gpt-oss-20b.gguf", " "+filepath.Join(t.TempDir(), "gpt-oss-20b.gguf"))
	words, err := engines.Text("<|channel|>analysis<|message|>A greeting.<|end|><|start|>assistant"+hello, engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	session.Replace(`"Say hello."`, lab.Quote(words))
	download := `curl() { if [[ "$*" == *huggingface.co* ]]; then cp "$PUPPET" "$2"; else command curl "$@"; fi; }` + "\n"
	session.Typed = download + session.Typed
	ctx, cancel := context.WithTimeout(t.Context(), laptopLimit)
	defer cancel()
	session.Run(ctx, t, func(shell *exec.Cmd) {
		shell.Dir = lab.File("")
		shell.Env = append(slices.DeleteFunc(os.Environ(), ofTests),
			"PUPPET="+filepath.Join(lab.Tool(t, "HARMONY_LLAMACPP"), "puppet.gguf"))
	})
}

// ofTests reports whether a variable is one that the tests, or the make that runs them, have set.
func ofTests(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return name == "ENVOY" || strings.HasPrefix(name, "HARMONY_") || strings.HasPrefix(name, "MAKE") || name == "MFLAGS"
}
