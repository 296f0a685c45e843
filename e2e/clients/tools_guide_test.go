//go:build e2e

package clients

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestToolsGuide follows docs/tools.md: its files and its requests, before a model that calls the tools. Only places
// differ: where the gateway, its store, and the tools' servers are.
func TestToolsGuide(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(text)
	script := sim.NewScript(
		sim.Line{Match: "<|start|>functions.get_current_time to=assistant",
			Tokens: lab.Tokens("<|channel|>final<|message|>It is late.<|return|>")},
		sim.Line{Match: "What time is it in Tokyo?", Tokens: lab.Tokens("<|channel|>commentary to=functions.get_current_time " +
			`<|constrain|>json<|message|>{"timezone":"Asia/Tokyo"}<|call|>`)},
		sim.Line{Match: "<|start|>python to=assistant<|channel|>analysis<|message|>42",
			Tokens: lab.Tokens("<|channel|>final<|message|>A drink【1†L3】, and 42.<|return|>")},
		sim.Line{Match: "<|start|>browser.open to=assistant",
			Tokens: lab.Tokens("<|channel|>analysis to=python code<|message|>print(6*7)<|call|>")},
		sim.Line{Match: "<|start|>browser.search to=assistant",
			Tokens: lab.Tokens(`<|channel|>analysis to=browser.open code<|message|>{"id":0,"cursor":0}<|call|>`)},
		sim.Line{Match: "What is tea,", Tokens: lab.Tokens(`<|channel|>analysis to=browser.search code<|message|>{"query":"tea"}<|call|>`)},
	)
	_, model := lab.RunSim(t, sim.Options{Script: script})
	run := func(name, file string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(file+"  listen: "+lab.FreeAddress(t)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, url := lab.StartUp(t, "--model", lab.Model, "--backend", "vllm="+model, "--store",
			filepath.Join(t.TempDir(), "responses.db"), "--config", path)
		return url
	}

	clock := run("tools.yaml", replaced(t, block(t, guide, "yaml", "mcp-server-time"), "uvx, mcp-server-time",
		lab.Tool(t, "HARMONY_MCP_PYTHON")+", -m, mcp_server_time"))
	request := regexp.MustCompile(`(?s)-d '(.*?)'`).FindStringSubmatch(block(t, guide, "sh", "What time is it in Tokyo?"))
	if request == nil {
		t.Fatal("the guide has no request")
	}
	a := lab.Do(lab.HTTP1(t), http.MethodPost, clock+"/v1/responses", http.Header{"Content-Type": {"application/json"}},
		strings.NewReader(request[1]))
	if a.Err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, "response.mcp_call.completed") ||
		!strings.Contains(a.Body, `Asia/Tokyo`) || !strings.Contains(a.Body, "It is late.") {
		t.Errorf("%d %v %s", a.Status, a.Err, a.Body)
	}

	browser, python := toolservers.Browser(t), toolservers.Python(t, map[string]string{"print(6*7)": "42\n"})
	file := replaced(t, block(t, guide, "yaml", "browser: browser"), "http://127.0.0.1:8001/sse", browser.SSE())
	url := run("tools.yaml", replaced(t, file, "http://127.0.0.1:8000/sse", python.SSE()))
	agent := filepath.Join(t.TempDir(), "agent.py")
	program := replaced(t, block(t, guide, "python", "WebSearchTool()"), "http://127.0.0.1:8080", url)
	if err := os.WriteFile(agent, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), lab.Tool(t, "HARMONY_CLIENTS_PYTHON"), agent).CombinedOutput()
	const want = "A drink ([tea.example](https://tea.example/wiki/Tea_%28drink%29?lang=en&q=caf%C3%A9)) , and 42.\n"
	if err != nil || string(out) != want {
		t.Errorf("the agent prints %q, %v, want %q", out, err, want)
	}
}

// block returns the only block of a kind in a page that has a text.
func block(t *testing.T, page, kind, with string) string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?s)\n```(\\w+)\n(.*?)\n```\n").FindAllStringSubmatch(page, -1) {
		if m[1] == kind && strings.Contains(m[2], with) {
			found = append(found, m[2]+"\n")
		}
	}
	if len(slices.Compact(found)) != 1 {
		t.Fatalf("the guide has %d blocks of %s with %q, want 1", len(found), kind, with)
	}
	return found[0]
}

// replaced returns a text in which old stands, with its replacement.
func replaced(t *testing.T, text, old, replacement string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("the guide has no %q", old)
	}
	return strings.ReplaceAll(text, old, replacement)
}
