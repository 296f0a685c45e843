package config

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestRender: which pool renders, and what the filter is told of it.
func TestRender(t *testing.T) {
	const both = "pools:\n- name: p\n  kind: vllm-render\n  servers: [http://h:1]\n  %s\n" +
		"- name: q\n  kind: %s\n  servers: [http://h:2]\n  %s\nmodels:\n- name: m\n  pool: p\n  %s\n"
	text := func(p, kind, q, m string) string {
		return strings.NewReplacer("%s\n- name: q", p+"\n- name: q", "kind: %s", "kind: "+kind, "h:2]\n  %s", "h:2]\n  "+q,
			"pool: p\n  %s", "pool: p\n  "+m).Replace(both)
	}
	for _, tt := range []struct{ text, pool, refused string }{
		{text("", "vllm", "", ""), "p", ""},
		{text("render: q", "vllm-render", "", ""), "q", ""},
		{text("render: r", "vllm-render", "", ""), "", "there is no pool called r"},
		{text("render: p", "vllm-render", "", ""), "", "leave it out"},
		{text("render: q", "vllm", "", ""), "", "do not render"},
		{text("", "vllm", "render: p", ""), "", "leave it out"},
		{text("", "vllm", "", "forward_authorization: true"), "", "forward_authorization"},
		{text("", "vllm", "", "translate: 10%"), "", "translate"},
		{text("", "vllm", "", "relay: resume"), "", "relay"},
		{text("", "vllm", "", "control_tokens: break\n  control_spellings: ['<|im_end|>', '[INST]']"), "p", ""},
		{text("", "vllm", "", "control_spellings: ['<|im end|>']"), "", "is not the spelling of a token"},
		{"models:\n- name: m\n  servers: [chat=http://h:1]\n  control_tokens: break\n", "", "vllm-render"},
		{"models:\n- name: m\n  servers: [chat=http://h:1]\n  control_spellings: ['<|a|>']\n", "", "vllm-render"},
		{"models:\n- name: m\n  servers: [vllm=http://h:1]\n  control_spellings: ['<|a|>']\n", "", "control_spellings"},
		{text("", "vllm", "", "repetition_detection: {reasoning: end, text: end}"), "p", ""},
		{text("", "vllm", "", "repetition_detection: {reasoning: final}"), "", "can only be final for gpt-oss"},
		{"models:\n- name: m\n  servers: [chat=http://h:1]\n  repetition_detection: {text: end}\n", "",
			"repetition_detection"},
		{"models:\n- name: m\n  servers: [vllm-render=http://h:1]\n  overflow_model: n\n- name: n\n  servers: [vllm=http://h:2]\n",
			"", "is not kept until its tokens are counted"},
		{"mode: reduced\nmodels:\n- name: m\n  servers: [vllm-render=http://h:1]\n", "", "reduced"},
		{"models:\n- name: m\n  servers: [vllm-render=http://h:1]\n", "m", ""},
	} {
		c, err := Parse("h.yaml", []byte(tt.text))
		if err == nil {
			_, err = c.Resolve()
		}
		switch {
		case tt.refused == "" && err != nil, tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)):
			t.Errorf("%s\n%v, not %q", tt.text, err, tt.refused)
		case tt.refused == "":
			want := contract.Render{Cluster: contract.PoolCluster(tt.pool), Pool: tt.pool}
			if got := c.Filter().Models[0].Render; got != want {
				t.Errorf("%s\n%+v", tt.text, got)
			}
		}
	}
}
