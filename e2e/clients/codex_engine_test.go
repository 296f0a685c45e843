//go:build e2e && (llamacpp || vllm)

package clients

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// codexBeforeEngine lets Codex run two commands and a patch before a real engine, on both hosts. The scripted model
// reads in the last message of its prompt what to say: first in the user's, then in the outputs of the commands.
func codexBeforeEngine(t *testing.T, backend string, flags ...string) {
	says := func(script string) string {
		t.Helper()
		text, err := engines.Text(script, engines.GenerationPrompt)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	hands := functionHands{}
	for _, host := range clientHosts {
		t.Run(host, func(t *testing.T) {
			up, url := lab.StartUp(t, append([]string{"--host", host, "--model", lab.Model, "--backend", backend}, flags...)...)
			c := newCodex(t, url, lab.Model)
			for name, script := range map[string]string{
				"one": hands.command("echo two >note.txt; cat two"), "two": saying(done),
			} {
				if err := os.WriteFile(filepath.Join(c.folder, name), []byte(says(script)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			shown := c.exec(t, says(hands.command("cat one")))
			if len(shown) != 3 || !slices.Equal(shown[2:], []string{"agent_message: " + done}) ||
				!strings.HasPrefix(shown[0], "command_execution: ") || !strings.HasPrefix(shown[1], "command_execution: ") {
				t.Errorf("Codex shows %q", shown)
			}
			if note, err := os.ReadFile(filepath.Join(c.folder, "note.txt")); err != nil || string(note) != "two\n" {
				t.Errorf("the note is %q, %v", note, err)
			}
			stopUp(t, host, up)
		})
	}
}
