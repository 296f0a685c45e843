package up

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestAcceptTextPrompts checks that servers of text need the flag, and have no health checks.
func TestAcceptTextPrompts(t *testing.T) {
	flags := []string{"--model", "m", "--backend", "text=http://a:1"}
	if _, err := parseUp(flags...); err == nil || !strings.Contains(err.Error(), "--accept-text-prompts") {
		t.Errorf("without the flag: %v", err)
	}
	c, err := parseUp(append(flags, "--accept-text-prompts")...)
	if err != nil || c.Filter().Models[0].Server != contract.Text {
		t.Errorf("with the flag: %v", err)
	}
}

// TestChatServers checks servers that take conversations, whose API may have another path.
func TestChatServers(t *testing.T) {
	c, err := parseUp("--model", "m", "--backend", "chat=https://api.example.com/openai/v1/", "--server-model", "a/b")
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Filter().Models[0]; m.Server != contract.Chat || m.APIPath != "/openai/v1" || m.ServerModel != "a/b" {
		t.Errorf("got %+v", m)
	}
	for _, tt := range []struct {
		file, want string
		args       []string
	}{
		{"", "leave /chat/completions out", []string{"--model", "m", "--backend", "chat=http://h:1/v1/chat/completions"}},
		{"models: [{name: m, system: {date: omit}}]", "models[0].system.date: is for servers that take prompts",
			[]string{"--backend", "chat=http://h:1"}},
		{"", "", []string{"--model", "m", "--backend", "chat=http://h:1", "--date", "omit"}},
		// The file has no servers, so only the flags can say of which kind they are.
		{"models: [{name: m, chat: {think_tags: opened}}]", "", []string{"--backend", "chat=http://h:1"}},
		{"models: [{name: m, chat: {think_tags: opened}}]", "models[0].chat.think_tags: is for servers that take conv",
			[]string{"--backend", "vllm=http://h:1"}},
	} {
		_, err := parseUp(append([]string{"--config", clitest.WriteFile(t, "c.yaml", tt.file)}, tt.args...)...)
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q %v: %v, want %q", tt.file, tt.args, err, tt.want)
		}
	}
}

func TestMode(t *testing.T) {
	flags := []string{"--model", "m", "--backend", "vllm=http://a:1"}
	for _, tt := range []struct {
		file string
		args []string
		want string
	}{
		{"", nil, "full"}, {"", []string{"--mode", "reduced"}, "reduced"},
		{"mode: reduced\n", nil, "reduced"}, {"mode: reduced\n", []string{"--mode", "full"}, "full"},
	} {
		args := append(append([]string{"--config", clitest.WriteFile(t, "c.yaml", tt.file)}, flags...), tt.args...)
		c, err := parseUp(args...)
		if err != nil {
			t.Errorf("%q %v: %v", tt.file, tt.args, err)
		} else if c.Mode != tt.want || c.Filter().Mode != tt.want {
			t.Errorf("%q %v: got %s", tt.file, tt.args, c.Mode)
		}
	}
	two := append([]string{"--mode", "reduced", "--model", "b", "--backend", "b=vllm=http://b:1"}, flags...)
	two[len(two)-1] = "m=" + two[len(two)-1]
	if _, err := parseUp(two...); err == nil || !strings.Contains(err.Error(), "mode: reduced serves one model") {
		t.Errorf("got %v", err)
	}
}
