package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestResponseTemplates: a template comes to the settings that read such answers, or is refused by what no form reads.
func TestResponseTemplates(t *testing.T) {
	const (
		think = `"thinking":{"open":"<think>\n","close":"</think>"}`
		json  = `"content":"json"`
		end   = `"content":{"close_pattern":"\\s*(?:<\\|im_end\\|>|<\\|endoftext\\|>)"}`
	)
	for _, tt := range []struct{ fields, speaks, thinkTags, refused string }{
		{think + "," + end, contract.SpeaksChat, "", ""},
		{`"tool_calls":{"open":["<tool_call>"],` + json + `},` + think, contract.SpeaksHermes, "", ""},
		{`"tool_calls":{"open_pattern":"\\s*<tool_call>","close":"</tool_call>",` + json + `},` + end,
			contract.SpeaksHermes, "", ""},
		{`"tool_calls":{"open_pattern":"\\s*<tool_call>\\s*<function=(?P<name>[^>\\n]+)>","content":"xml-inline",` +
			`"content_args":{"tag_pattern":"<parameter=(?P<key>[^>\\n]+)>\\s*(?P<value>.*?)\\s*</parameter>"}}`,
			contract.SpeaksQwen3Coder, "", ""},
		{`"tool_calls":{"open_pattern":"<tool_call>(?P<name>\\w+)\\n?","content":"xml-inline","content_args":` +
			`{"tag_pattern":"<arg_key>(?P<key>.*?)</arg_key>\\s*<arg_value>(?P<value>.*?)</arg_value>"}}`,
			contract.SpeaksGLM45, "", ""},
		{`"tool_calls":{"open_pattern":"<\\|tool_call_begin\\|>functions\\.(?P<name>\\w+):(?P<index>\\d+)\\s*` +
			`<\\|tool_call_argument_begin\\|>",` + json + `}`, contract.SpeaksKimiK2, "", ""},
		{`"tool_calls":{"open_pattern":"\\[TOOL_CALLS\\](?P<name>\\w+)\\[ARGS\\]",` + json + `},` +
			`"reasoning_content":{"open":"[THINK]","close":"[/THINK]"}`, contract.SpeaksMistral, "", ""},
		{`"tool_calls":{"open_pattern":"<\\|channel\\|>commentary to=functions\\.(?P<name>\\w+).*?<\\|message\\|>",` + json +
			`},"thinking":{"open":"<|channel|>analysis<|message|>","close":"<|end|>"},` +
			`"content":{"open":"<|channel|>final<|message|>","close":"<|end|>"}`, contract.SpeaksHarmony, "", ""},
		{`"thinking":{"open_pattern":"(?:^|<think>\\s*)","close":"</think>"}`, contract.SpeaksChat, contract.ThinkOpened, ""},
		{`"tool_calls":{"open_pattern":"<\\|tool_call>call:(?P<name>\\w+)",` + json + `,"content_args":` +
			`{"unquoted_keys":true}}`, "", "", `tool_calls that begin with ["<|tool_call>call:{name}"]`},
		{`"tool_calls":{"open":"<tool_call>",` + json + `,"transform":{"type":"function","function":{"name":"{content.tool}",` +
			`"arguments":"{content.arguments}"}}}`, "", "", `tool_calls that begin with ["<tool_call>"]`},
		{`"tool_calls":{"open":"<tool_call>",` + json + `,"transform":{"type":"function","function":"{content}"}}`,
			contract.SpeaksHermes, "", ""},
		{`"tool_calls":{"open":"<tool_call>","content":"kv-lines"}`, "", "", `in kv-lines`},
		{`"thinking":{"open":"<|START_THINKING|>","close":"<|END_THINKING|>"}`, "", "", `thinking between`},
		{`"thinking":{"close":"</think>"}`, "", "", `thinking without a mark`},
		{`"content":{"open":"<response>\n"}`, "", "", `content that begins with ["<response>"]`},
		{`"citations":{"open":"<co>","close":"</co>"}`, "", "", `a field citations`},
		{``, "", "", `has no response_template`},
	} {
		for _, text := range []string{`{"fields":{` + tt.fields + `}}`, `{"model_max_length":9,"response_template":{"version":1,` +
			`"start_anchor":"a","defaults":{"role":"assistant"},"fields":{` + tt.fields + `}}}`} {
			file := filepath.Join(t.TempDir(), "tokenizer_config.json")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			m := DefaultModel("m")
			m.ResponseTemplate = file
			reason := m.checkResponseTemplate()
			if tt.refused != "" {
				if !strings.Contains(reason, tt.refused) || !strings.Contains(reason, "write speaks") {
					t.Errorf("%s: %s, want %s", text, reason, tt.refused)
				}
				continue
			}
			want := tt.thinkTags
			if want == "" {
				want = contract.ThinkLeading
			}
			if reason != "" || m.Speaks != tt.speaks || m.Chat.ThinkTags != want {
				t.Errorf("%s: %s, %s, %s", text, reason, m.Speaks, m.Chat.ThinkTags)
			}
			if reason := m.checkResponseTemplate(); reason != "" {
				t.Errorf("%s, again: %s", text, reason)
			}
			if m.Speaks = contract.SpeaksMarker; !strings.Contains(m.checkResponseTemplate(), "leave one of them out") {
				t.Errorf("%s beside another speaks is not refused", text)
			}
		}
	}
}

// TestResponseTemplateFiles: what is no template is refused, and so is what transformers no longer reads.
func TestResponseTemplateFiles(t *testing.T) {
	folder := t.TempDir()
	for text, want := range map[string]string{
		`{"response_schema":{"x-regex":"a"}}`: "has a response_schema",
		`[1]`:                                 "is no JSON of a response_template",
		`{"response_template":{"version":2,"fields":{"role":{}}}}`: "has the version 2",
	} {
		file := filepath.Join(folder, "t.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readResponseTemplate(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := readResponseTemplate(filepath.Join(folder, "none")); err == nil {
		t.Error("a file that is not there is read")
	}
}

// TestResponseTemplateInFile: a file's model gets the form, and a mistake has its place in the file.
func TestResponseTemplateInFile(t *testing.T) {
	template := filepath.Join(t.TempDir(), "tokenizer_config.json")
	data := `{"response_template":{"fields":{"tool_calls":{"open":"<tool_call>","content":"json"}}}}`
	if err := os.WriteFile(template, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "models:\n- name: m\n  servers: [chat=http://h:1]\n  response_template: "
	c, err := Parse("h.yaml", []byte(text+template+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil || !strings.Contains(string(r.FilterJSON), `"speaks":"hermes"`) {
		t.Fatalf("%v: %s", err, r.FilterJSON)
	}
	file := filepath.Join(filepath.Dir(template), "h.yaml")
	if err := os.WriteFile(file, []byte(text+"tokenizer_config.json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(file); err != nil || c.Models[0].Speaks != contract.SpeaksHermes {
		t.Errorf("a path relative to the file: %v", err)
	}
	_, err = Parse("h.yaml", []byte(text+template+".none\n"))
	if err == nil || !strings.Contains(err.Error(), "h.yaml:4: models[0].response_template: cannot be read") {
		t.Error(err)
	}
}
