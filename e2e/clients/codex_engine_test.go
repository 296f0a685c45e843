//go:build e2e && (llamacpp || vllm)

package clients

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// patchResult is what the model reads of listPatch's success, and where it goes on.
const patchResult = "<|start|>functions.apply_patch to=assistant<|channel|>commentary<|message|>Exit code: 0\n" +
	"Wall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nA new.txt\nM list.txt\n" +
	engines.GenerationPrompt

// chatter is what the model would write after its patch, where a grammar stops it.
const chatter = "That should do.\n"

// codexBeforeEngine lets Codex run two commands and a patch before a real engine, on both hosts. The scripted model
// reads in the last message of its prompt what to say: first in the user's, then in the outputs of the commands. The
// engine is held to Codex's grammar of patches.
func codexBeforeEngine(t *testing.T, backend string, flags ...string) {
	says := func(script string) string {
		t.Helper()
		text, err := engines.Text(script, engines.GenerationPrompt)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	hands := functionHands{patches: true}
	// What follows the last message in the next prompt: the call of the patch, and this result. The script goes on as many
	// tokens later.
	patch, more := hands.patch(listPatch+chatter), len(engines.Spell(hands.patch(listPatch)+patchResult))
	patched := patch + strings.Repeat(engines.Padding, more-len(engines.Spell(patch))) + saying(done)
	for _, host := range clientHosts {
		t.Run(host, func(t *testing.T) {
			up, url := lab.StartUp(t, append([]string{"--host", host, "--model", lab.Model, "--backend", backend}, flags...)...)
			c := newCodex(t, url, lab.Model)
			for name, script := range map[string]string{
				"one": hands.command("echo two >note.txt; cat two"), "two": patched,
			} {
				if err := os.WriteFile(filepath.Join(c.folder, name), []byte(says(script)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(c.folder, "list.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			turn := c.run(t, says(hands.command("cat one")))
			var kinds []string
			for _, item := range turn.items {
				kinds = append(kinds, item.Type)
			}
			wanted := []string{"command_execution", "command_execution", "file_change", "agent_message"}
			if wrong := turn.ended(done); wrong != "" || !slices.Equal(kinds, wanted) {
				t.Errorf("%s; Codex shows %q, want %q\n%s", wrong, kinds, wanted, turn.said)
			}
			cell := codexCell{codex: c}
			if wrong := either(cell.file("note.txt", "two\n"), cell.file("list.txt", "one\nTWO\n"),
				cell.file("new.txt", "new\n")); wrong != "" {
				t.Error(wrong)
			}
			if got := c.inputs(t); !slices.Equal(got, []string{listPatch}) {
				t.Errorf("the patches are %q, want %q", got, listPatch)
			}
			stopUp(t, host, up)
		})
	}
}

// inputs returns the inputs of custom tools that Codex has kept of its sessions.
func (c *codex) inputs(t *testing.T) (all []string) {
	t.Helper()
	if err := filepath.WalkDir(filepath.Join(c.home, "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			var kept struct{ Payload struct{ Type, Input string } }
			if json.Unmarshal([]byte(line), &kept) == nil && kept.Payload.Type == "custom_tool_call" {
				all = append(all, kept.Payload.Input)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
