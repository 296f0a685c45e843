package config

import (
	"strings"
	"testing"

	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestAPIPaths checks which path of an API the filter gets.
func TestAPIPaths(t *testing.T) {
	for url, want := range map[string]string{
		"http://h:1": "/v1", "http://h:1/": "/v1", "http://h:1/v1": "/v1", "http://h:1/v1/": "/v1",
		"https://api.example.com/openai/v1": "/openai/v1", "http://h/v1beta/openai//": "/v1beta/openai",
	} {
		for _, in := range []string{
			"models: [{name: m, servers: ['chat=" + url + "']}]",
			"models: [{name: m, pool: p}]\npools: [{name: p, kind: chat, servers: ['" + url + "', '" +
				strings.Replace(url, "//", "//other-", 1) + "']}]",
			"models: [{name: m, pool: p}]\npools: [{name: p, kind: text, accept_text_prompts: true, servers: ['" + url + "']}]",
		} {
			_, r := resolved(t, in)
			f, err := filterconfig.Parse(r.FilterJSON)
			if err != nil || f.Models[0].APIPath != want || r.Pools[0].APIPath != want {
				t.Errorf("%s: got %v, %q, want %q", in, err, r.Pools[0].APIPath, want)
			}
		}
	}
}

// TestMarkerBeforeText: servers that answer in text may have a model with a marker.
func TestMarkerBeforeText(t *testing.T) {
	const file = "models: [{name: m, marker: ANSWER}]\n" +
		"pools: [{name: m, kind: ollama, servers: ['http://h:1'], accept_text_prompts: true}]"
	if _, err := Parse("h.yaml", []byte(file)); err != nil {
		t.Error(err)
	}
}

// TestSettingsOfConversations checks settings that servers of conversations may have, and that no setting is refused
// before the servers are known: flags may add them.
func TestSettingsOfConversations(t *testing.T) {
	for _, in := range []string{
		"servers: ['chat=http://h:1'], speaks: marker, marker: ANSWER, answers: {reasoning_fields: reasoning}",
		"servers: ['chat=http://h:1'], speaks: x-mine, answers: {reasoning_fields: none}",
		"servers: ['chat=http://h:1'], max_reasoning_tokens: 7, answers: {reasoning_fields: none}",
		"servers: ['chat=http://h:1'], answers: {hide_reasoning: true, reasoning_fields: none}",
		"servers: ['chat=http://h:1'], answers: {token_ids: true, context_error: empty_length}",
		"servers: ['chat=http://h:1'], chat: {think_tags: opened, template_kwargs: {enable_thinking: true}}",
		"servers: ['chat=http://h:1'], extra_body: {temperature: 0.6, top_k: 20}, aliases: [qwen, 'qwen/*'], relay: finish",
		"servers: ['sglang=http://h:1'], answers: {token_ids: true}",
		"servers: ['chat=http://h:1'], speaks: harmony, marker: ANSWER",
		"speaks: chat", "chat: {think_tags: off}", "system: {date: omit}, chat: {think_tags: off}",
	} {
		if _, err := Parse("h.yaml", []byte("models: [{name: m, "+in+"}]")); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestObjects checks that objects come to the filter as compact JSON.
func TestObjects(t *testing.T) {
	for in, want := range map[string]contract.Object{
		"{}": "", "null": "", "": "",
		"{b: [1, -2.50, {t: true, n: null}], a: '<é>&', 3: {}}": `{"3":{},"a":"<é>&","b":[1,-2.5,{"n":null,"t":true}]}`,
		"{big: 1.0e300, small: 1.0e-7, hex: 0x1f}":              `{"big":1e+300,"hex":31,"small":1e-7}`,
		"{a: &x [1], b: *x}":                                    `{"a":[1],"b":[1]}`,
		"\n    a: |\n      one\n      two":                      `{"a":"one\ntwo"}`,
	} {
		c, err := Parse("h.yaml", []byte("models:\n- name: m\n  servers: ['vllm=http://h:1']\n  extra_body: "+in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := c.Models[0].ExtraBody; got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
		f, err := filterconfig.Parse(filterconfig.AppendJSON(nil, c.Filter()))
		if err != nil || f.Models[0].ExtraBody != want {
			t.Errorf("%s: the filter reads %+v, %v", in, f, err)
		}
	}
}
