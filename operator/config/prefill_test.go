package config

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// divided is a file with a pool of readers for a pool of writers.
func divided(kind, prefill, more string) string {
	return "pools:\n" +
		"- {name: readers, kind: " + kind + ", servers: ['http://10.0.0.1:1', 'http://[fd00::1]:2']}\n" +
		"- {name: writers, kind: " + kind + ", servers: ['http://10.0.0.2:1'], prefill: {pool: readers" + prefill + "}}\n" +
		"models:\n- {name: m, pool: writers" + more + "}\n"
}

func TestPrefill(t *testing.T) {
	for _, tt := range []struct {
		file string
		want contract.Prefill
	}{
		{divided("vllm", "", ""), contract.Prefill{Cluster: "harmony-pool-readers", Pool: "readers",
			BootstrapPort: 8998, OnFailure: contract.PrefillDecode}},
		{divided("vllm-generate", ", on_failure: refuse, min_tokens: 100", ""), contract.Prefill{
			Cluster: "harmony-pool-readers", Pool: "readers", BootstrapPort: 8998, MinTokens: 100,
			OnFailure: contract.PrefillRefuse}},
		{divided("sglang", ", bootstrap_port: 9000", ""), contract.Prefill{Cluster: "harmony-pool-readers", Pool: "readers",
			BootstrapPort: 9000, OnFailure: contract.PrefillRefuse}},
		{divided("sglang-completions", "", ""), contract.Prefill{Cluster: "harmony-pool-readers", Pool: "readers",
			BootstrapPort: 8998, OnFailure: contract.PrefillRefuse}},
	} {
		c, r := resolved(t, tt.file)
		got := c.Filter().Models[0].Prefill
		if got.Servers != nil || got.Cluster != tt.want.Cluster || got.Pool != tt.want.Pool ||
			got.BootstrapPort != tt.want.BootstrapPort || got.MinTokens != tt.want.MinTokens ||
			got.OnFailure != tt.want.OnFailure {
			t.Errorf("%s: got %+v", tt.file, got)
		}
		if readers, writers := r.Pool("readers"), r.Pool("writers"); readers.Role() != RolePrefill ||
			writers.Role() != RoleDecode || len(readers.PrefillFor) != 1 || readers.PrefillFor[0] != "writers" {
			t.Errorf("%s: the roles are %q and %q", tt.file, readers.Role(), writers.Role())
		}
		addresses := func(string) []string { return []string{"10.0.0.1:1"} }
		chosen := strings.Contains(string(r.FilterJSONWith(addresses, nil, nil, nil)), `"servers":["10.0.0.1:1"]`)
		if chosen != strings.HasPrefix(r.Pool("writers").Kind, "sglang") {
			t.Errorf("%s: the filter gets %s", tt.file, r.FilterJSONWith(addresses, nil, nil, nil))
		}
	}
}

func TestPrefillRefusals(t *testing.T) {
	pools := func(text string) string { return "pools:\n" + text + "\nmodels: [{name: m, pool: a}]" }
	const server = "servers: ['http://h:1']"
	for _, tt := range []struct{ in, want string }{
		{divided("trtllm", "", ""), "pools[1].prefill: is not known for servers of the kind trtllm; use servers of the " +
			"kind vllm, vllm-generate, sglang, sglang-completions"},
		{divided("chat", "", ""), "pools[1].prefill: is not known for servers of the kind chat"},
		{"mode: reduced\n" + divided("vllm", "", ""), `pools[1].prefill: cannot be where mode is "reduced"`},
		{divided("vllm", ", bootstrap_port: 1", ""), "pools[1].prefill.bootstrap_port: is for SGLang"},
		{divided("sglang", ", bootstrap_port: 70000", ""), "pools[1].prefill.bootstrap_port: 70000 is not a port"},
		{divided("vllm", ", min_tokens: -1", ""), "pools[1].prefill.min_tokens: -1 is out of range"},
		{divided("sglang", ", min_tokens: 5", ""), "pools[1].prefill.min_tokens: is for vLLM: sglang servers that write " +
			"answers cannot read prompts themselves (--disaggregation-mode decode)"},
		{divided("sglang", ", on_failure: decode", ""), "pools[1].prefill.on_failure: decode is for vLLM"},
		{divided("vllm", ", on_failure: retry", ""), `pools[1].prefill.on_failure: "retry" is not known; write decode or`},
		{divided("vllm", "", ", translate: 10%"),
			"models[0].pool: the prefill of writers is for translated requests; leave " +
				"translate out"},
		{divided("vllm", "", ", raw_prompts: allow"), "models[0].pool: the prefill of writers is for translated requests; " +
			"leave raw_prompts out"},
		{divided("vllm", "", ", forward_authorization: true"), "models[0].forward_authorization: cannot be used with the " +
			"prefill of writers"},
		{divided("vllm", "", "}\n- {name: n, pool: readers"), "models[1].pool: readers reads prompts for writers only"},
		{pools("- {name: a, " + server + ", prefill: {pool: b}}"), "pools[0].prefill.pool: there is no pool called b"},
		{pools("- {name: a, " + server + ", prefill: {pool: a}}"), "pools[0].prefill.pool: a pool cannot read its own"},
		{pools("- {name: a, " + server + ", prefill: {min_tokens: 1}}"), "pools[0].prefill.pool: is missing"},
		{pools("- {name: a, " + server + ", prefill: {pool: b}}\n- {name: b, " + server + "}"),
			"pools[0].prefill.pool: http://h:1 is in both pools"},
		{pools("- {name: a, " + server + ", prefill: {pool: b}}\n- {name: b, kind: sglang, servers: ['http://h:2']}"),
			"pools[0].prefill.pool: b has servers of the kind sglang, and a of the kind vllm"},
		{pools("- {name: a, " + server + ", prefill: {pool: b}}\n- {name: b, servers: ['http://h:2'], prefill: {pool: a}}"),
			"pools[0].prefill.pool: b has a prefill of its own"},
		{pools("- {name: a, " + server + ", prefill: {pool: b}, spares: [c]}\n- {name: b, servers: ['http://h:2']}\n" +
			"- {name: c, servers: ['http://h:3']}"), "pools[0].prefill.pool: cannot be used with spares"},
		{pools("- {name: a, " + server + ", prefill: {pool: b}}\n- {name: b, servers: ['http://h:2'], spares: [c]}\n" +
			"- {name: c, servers: ['http://h:3']}"), "pools[0].prefill.pool: b has spares"},
		{pools("- {name: a, " + server + ", prefill: {pool: b}}\n- {name: b, servers: ['http://h:2']}\n" +
			"- {name: c, servers: ['http://h:3'], spares: [b]}"), "pools[0].prefill.pool: b is a spare of c"},
		{pools("- {name: a, " + server + ", prefill: {pool: b}}\n- {name: b, servers: ['http://h:2'], policy: session, " +
			"session: {cookie: c}}"), "pools[0].prefill.pool: b has the policy session"},
	} {
		_, err := Parse("h.yaml", []byte(tt.in))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\ngot  %v\nwant %s", tt.in, err, tt.want)
		}
	}
}
