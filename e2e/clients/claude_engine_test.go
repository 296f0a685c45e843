//go:build e2e && (llamacpp || vllm)

package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// said is what the model says, and what its next prompt has after that.
type said struct{ says, follows string }

// chain is one script of several answers. The model says the first. When the prompt has grown by an answer and what
// follows it, the puppet stands as many tokens later in the script. There the next answer begins.
func chain(all ...said) (script string) {
	for _, s := range all {
		grown := len(engines.Spell(s.says+s.follows)) - len(engines.Spell(s.says))
		script += s.says + strings.Repeat(engines.Padding, grown)
	}
	return strings.TrimSuffix(script, engines.Padding)
}

// result is what the model reads of a tool's result, and where it goes on.
func result(tool, text string) string {
	return "<|start|>functions." + tool + " to=assistant<|channel|>commentary<|message|>" + text + engines.GenerationPrompt
}

// The tool of an MCP server that the model searches for, and what a prompt has from then on.
const (
	lookTool = "mcp__hand__look"
	lookType = "type " + lookTool + " = "
	lookShow = "<|end|><|start|>developer<|message|># Tools\n\n## functions\n\nnamespace functions {\n\n// Looks.\n" +
		lookType + "(_: {\n}) => any;\n\n} // namespace functions"
)

// onePlace is the place of a script in the output of `cat one`, and twoPlace in the output of `cat two`.
const (
	onePlace = "one"
	twoPlace = "two"
)

// claudeWork are the answers to the output of `cat two`: a file is read and edited, a tool is searched for and called.
// Claude Code sends calls back as they are here: it adds replace_all to the edit.
func claudeWork() string {
	edit := json.RawMessage(`{"replace_all":false,"file_path":"list.txt","old_string":"two","new_string":"TWO"}`)
	return chain(
		said{calling("Read", arguments{"file_path": "list.txt"}), result("Read", "1\tone\n2\ttwo\n3\t")},
		said{calling("Edit", edit), result("Edit", "The file list.txt has been updated successfully. "+
			"(file state is current in your context — no need to Read it back)")},
		said{calling("ToolSearch", arguments{"query": "select:" + lookTool}),
			result("ToolSearch", "1 tool was found. It can be called from now on."+lookShow)},
		said{calling(lookTool, arguments{}), result(lookTool, "A pear.")},
		said{saying(done), ""})
}

// shownThought is how Claude Code shows the model's reasoning.
const shownThought = `"type":"thinking","thinking":"One step."`

// scripted returns Claude Code with the scripts of a model. The first is what a hook says when the user has asked: it
// stands near the end of the message that Claude Code adds behind the question. The others are in files of the folder.
func scripted(t *testing.T, url, first string, files map[string]string) *claude {
	t.Helper()
	c := newClaude(t, url, lab.Model)
	c.limit = 3 * lab.ProgramLimit // the engine reads prompts of 10,000 tokens on a busy processor
	put := func(name, text string) {
		t.Helper()
		(&claudeCell{claude: c}).put(t, name, []byte(text))
	}
	spelled := func(script, after string) string {
		t.Helper()
		text, err := engines.Text(script, after)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, script := range files {
		put(name, spelled(script, engines.GenerationPrompt))
	}
	// No letter may stand before a script: with its first one it could be another token.
	put("first", "0"+spelled(first, "\n\nToday's date is "+time.Now().Format(time.DateOnly)+"."+engines.GenerationPrompt))
	hook := arguments{"type": "command", "command": fmt.Sprintf("cat %q", filepath.Join(c.folder, "first"))}
	settings, err := json.Marshal(arguments{"hooks": arguments{"UserPromptSubmit": []any{arguments{"hooks": []any{hook}}}}})
	if err != nil {
		t.Fatal(err)
	}
	put("../home/settings.json", string(settings))
	return c
}

// claudeBeforeEngine lets Claude Code work before a real engine, on both hosts. The scripted model reads in the last
// message of its prompt what to say. path is where the gateway asks the engine. flags are of harmony up.
func claudeBeforeEngine(t *testing.T, kind, engine, path string, flags ...string) {
	hand := startHand(t)
	for _, host := range clientHosts {
		t.Run(host, func(t *testing.T) {
			before := record(t, engine, path)
			up, url := lab.StartUpWith(t, []string{contract.SealKeysVariable + "=" + lab.SealKey}, append([]string{"--host",
				host,
				"--model", lab.Model, "--backend", kind + "=" + before.url}, flags...)...)
			asked := record(t, url, "/v1/messages")
			t.Run("work", func(t *testing.T) {
				const task = "Please do the task."
				c := &claudeCell{claude: scripted(t, asked.url, command("cat "+onePlace), map[string]string{
					onePlace: command("echo two >note.txt; cat " + twoPlace), twoPlace: claudeWork()})}
				c.put(t, "list.txt", []byte("one\ntwo\n"))
				turn := c.claude.run(t, "--strict-mcp-config", "--mcp-config", hand, task)
				c.log(t, turn)
				prompts := before.prompts(t, task)
				wrong := either(turn.ended(done), c.file("list.txt", "one\nTWO\n"), c.file("note.txt", "two\n"),
					thoughtsIn(prompts, 6), searchedAt(prompts, 5), sealedIn(asked.with(task), 6))
				if !strings.Contains(turn.said, shownThought) {
					wrong = either(wrong, "no reasoning is shown")
				}
				if wrong != "" {
					t.Error(wrong)
				}
			})
			t.Run("thinking turned off", func(t *testing.T) {
				const task = "Please do it in silence."
				c := &claudeCell{claude: scripted(t, asked.url, command("cat "+onePlace),
					map[string]string{onePlace: saying(done)})}
				c.claude.environment = []string{"MAX_THINKING_TOKENS=0", "CLAUDE_CODE_DISABLE_THINKING=1"}
				turn := c.claude.run(t, task)
				c.log(t, turn)
				wrong := either(turn.ended(done), thoughtsIn(before.prompts(t, task), 1))
				if strings.Contains(turn.said, shownThought) {
					wrong = either(wrong, "reasoning is shown")
				}
				if wrong != "" {
					t.Error(wrong)
				}
			})
			stopUp(t, host, up)
		})
	}
}

// searchedAt says what is wrong unless the model is shown the tool from prompt n on, and each prompt begins with the one
// before it.
func searchedAt(prompts []string, n int) string {
	for i, prompt := range prompts {
		if strings.Contains(prompt, lookType) != (i >= n) {
			return fmt.Sprintf("prompt %d is wrong about the tool", i)
		}
		if i > 0 && !strings.HasPrefix(prompt, prompts[i-1]) {
			return fmt.Sprintf("prompt %d does not begin with the one before it", i)
		}
	}
	return ""
}

// sealedIn says what is wrong unless the last request has so many messages of reasoning, with a signature each.
func sealedIn(bodies [][]byte, n int) string {
	if len(bodies) == 0 {
		return "no requests"
	}
	var request struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(bodies[len(bodies)-1], &request); err != nil {
		return err.Error()
	}
	sealed := 0
	for _, m := range request.Messages {
		var blocks []struct{ Type, Signature string }
		_ = json.Unmarshal(m.Content, &blocks) // or it is a text
		for _, b := range blocks {
			if b.Type == "thinking" && b.Signature != "" {
				sealed++
			}
		}
	}
	if sealed != n {
		return fmt.Sprintf("%d signatures of reasoning come back, want %d", sealed, n)
	}
	return ""
}

// startHand starts an MCP server with one tool, and returns Claude Code's configuration of it.
func startHand(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "hand", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "look", Description: "Looks.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "A pear."}}}, nil
		})
	get := func(*http.Request) *mcp.Server { return server }
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(get, nil))
	t.Cleanup(web.Close)
	return fmt.Sprintf(`{"mcpServers":{"hand":{"type":"http","url":%q}}}`, web.URL)
}
