//go:build promptrules

package promptrules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// readyLimit is how long an engine may take until it serves.
const readyLimit = 5 * time.Minute

// TestPage asks all front ends and compares docs/prompt-rules.md with what they say; -update writes it.
func TestPage(t *testing.T) {
	cases, vLLM := allCases(t), startVLLM(t)
	chatRender := map[string]string{chat: "/v1/chat/completions/render"}
	columns, err := ask(cases, []frontEnd{
		ours(), library(t, "openai-harmony", lab.OpenAIHarmony, cases), library(t, "oss-harmony", lab.OSSHarmony, cases),
		byHTTP("vLLM Chat", vLLM, chatRender, tokenIDs),
		byHTTP("vLLM Responses", vLLM, map[string]string{responses: "/v1/responses/render"}, tokenIDs),
		byHTTP("vllm-rs", startRenderer(t), chatRender, tokenIDs),
		byHTTP(llamaTemplate, startTemplate(t), map[string]string{chat: "/apply-template"}, templateText),
	})
	if err != nil {
		t.Fatal(err)
	}
	byRule, byCase, unexplained := tables(cases, columns)
	for _, difference := range unexplained {
		t.Errorf("no rule explains %s", difference)
	}
	const page, command = "docs/prompt-rules.md", "make prompt-rules"
	lab.ComparePageTable(t, page, command, "rules", byRule)
	lab.ComparePageTable(t, page, command, "conversations", byCase)
}

func allCases(t *testing.T) []testCase {
	t.Helper()
	file, err := os.ReadFile("testdata/cases.txtar")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := readCases(file)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// library is a renderer of Harmony. It is asked by e2e/lab/oracle/prompt.py, which makes messages of requests by our
// rules and apart from our code.
func library(t *testing.T, name, environment string, cases []testCase) frontEnd {
	t.Helper()
	var requests []lab.OracleRequest
	places := map[string]int{}
	our, date := ours(), time.Now().UTC().Format(time.DateOnly)
	for i := range cases {
		a, err := our.ask(&cases[i])
		if err != nil {
			t.Fatal(err)
		}
		if a.refusal == "" {
			places[cases[i].api+"/"+cases[i].name] = len(requests)
			requests = append(requests, lab.OracleRequest{API: cases[i].api, Body: json.RawMessage(cases[i].body), Date: &date,
				Effort: "medium", Context: 131_072})
		}
	}
	answers := lab.AskOracleOf(t, environment, requests)
	return frontEnd{name: name, apis: []string{chat, responses}, library: true, ask: func(c *testCase) (answer, error) {
		return answer{ids: answers[places[c.api+"/"+c.name]].IDs}, nil
	}}
}

// startVLLM starts vLLM's Python server once for both of its columns.
func startVLLM(t *testing.T) string {
	t.Helper()
	t.Setenv("TZ", "UTC")
	v, err := engines.StartVLLM(t.Context(), engines.VLLMOptions{
		Folder:       lab.Tool(t, "HARMONY_VLLM_CPU"),
		Flags:        []string{"--enable-scale-out", "--enable-auto-tool-choice", "--tool-call-parser", "openai"},
		ReadyTimeout: readyLimit,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Stop)
	return v.URL
}

// startRenderer starts vLLM's Rust front end without an engine.
func startRenderer(t *testing.T) string {
	t.Helper()
	t.Setenv("TZ", "UTC")
	r, err := engines.StartRenderer(t.Context(), engines.RendererOptions{
		Path:  filepath.Join(lab.Tool(t, "HARMONY_VLLM"), "vllm/vllm-rs"),
		Model: filepath.Join(lab.Tool(t, "HARMONY_VLLM_CPU"), "puppet"), ReadyTimeout: readyLimit,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r.URL
}

// startTemplate starts llama.cpp's server with the chat template of gpt-oss that its sources carry.
func startTemplate(t *testing.T) string {
	t.Helper()
	t.Setenv("TZ", "UTC")
	folder := lab.Tool(t, "HARMONY_LLAMACPP")
	s, err := engines.StartLlamaCPP(t.Context(), engines.LlamaCPPOptions{
		Path: filepath.Join(folder, "llama-server"), Model: filepath.Join(folder, "puppet.gguf"), Slots: 1,
		ContextLength: 4096, ReadyTimeout: readyLimit,
		Arguments: []string{"--jinja", "--chat-template-file", filepath.Join(folder, "gpt-oss.jinja")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s.URL
}
