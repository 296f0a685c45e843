package config

import (
	"strings"
	"testing"
)

// TestClients: what the filter is told, and what is refused.
func TestClients(t *testing.T) {
	const model = "\nmodels: [{name: m, servers: ['vllm=http://h:1']}]"
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"clients: {required: false}", ""},
		{"clients: {keys_file: k}", `"clients":{"by":"key"}`},
		{"clients: {keys_file: k, required: false}", `"clients":{"by":"key","required":false}`},
		{"clients: {header: X-User}", `"clients":{"by":"header","header":"x-user"}`},
		{"clients: {header: x-user, keys_file: k}\nlimits: {mode: local}",
			`"clients":{"by":"header","header":"x-user","reserve":true,"expected_answer":4194304}`},
		{"clients: {keys_file: k}\nlimits: {mode: local, expected_answer: 50}",
			`"clients":{"by":"key","reserve":true,"expected_answer":50}`},
		{"clients: {keys_file: k}\nlimits: {url: 'http://l:1', expected_answer: 50}",
			`"clients":{"by":"key","reserve":true,"expected_answer":50}`},
		{"passthrough: http://other:1\nclients: {keys_file: k}",
			`"clients":{"by":"key","paths":["/v1/","/tokenize","/detokenize","/tokenizer_info"]}`},
		{"clients: {keys_file: k}\nlimits: {url: 'http://l:1'}", `"clients":{"by":"key","reserve":true}`},
	} {
		c, err := Parse("c", []byte(tt.in+model))
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Resolve()
		if err != nil {
			t.Fatalf("%s: %v", tt.in, err)
		}
		if got := string(r.FilterJSON); !strings.Contains(got, tt.want) || tt.want == "" && strings.Contains(got, "clients") {
			t.Errorf("%s: the filter gets %s", tt.in, got)
		}
	}
	const keys = "clients: {keys_file: k}\n"
	for _, tt := range []struct{ in, want string }{
		{"clients: {header: 'a b'}", "clients.header: \"a b\" is not the name"},
		{"clients: {header: a_b}", "clients.header: \"a_b\" has an underscore"},
		{"clients: {header: Authorization}", "clients.header: Authorization has another meaning"},
		{"clients: {header: x-harmony-internal-client}", "clients.header: x-harmony-internal-client has another meaning"},
		{"limits: {url: 'http://l:1'}", "limits.mode: has no limits to keep"},
		{"limits: {on_failure: refuse}", "limits.url: is missing"},
		{"limits: {expected_answer: 9}", "limits.url: is missing"},
		{keys + "limits: {url: 'http://l:1', expected_answer: 5000000}", "limits.expected_answer: 5000000 is out of range"},
		{keys + "limits: {url: 'http://l:1', expected_answer: -1}", "limits.expected_answer: -1 is out of range"},
		{keys + "limits: {mode: global}", "limits.mode: \"global\" is not known"},
		{keys + "limits: {mode: service}", "limits.url: \"\" is not the address"},
		{keys + "limits: {url: 'l:1'}", "limits.url: "},
		{keys + "limits: {url: 'http://h:1'}", "limits.url: http://h:1 is also a server of m"},
		{keys + "limits: {url: 'http://l:1', on_failure: open}", "limits.on_failure: \"open\" is not known"},
		{keys + "limits: {url: 'http://l:1', timeout: 2m}", "limits.timeout: 2m0s is too long"},
		{keys + "limits: {url: 'http://l:1', mode: local}", "limits.mode: local asks no service"},
		{keys + "mode: reduced\nlimits: {url: 'http://l:1'}", "limits.mode: cannot be kept where mode is reduced"},
	} {
		_, err := Parse("c", []byte(tt.in+model))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.in, err, tt.want)
		}
	}
	if _, err := Parse("c", []byte(keys+strings.Replace(model, "'vllm", "'vllm", 1)+"\n")); err != nil {
		t.Error(err)
	}
	_, err := Parse("c", []byte(keys+"models: [{name: m, servers: ['vllm=http://h:1'], forward_authorization: true}]"))
	if err == nil || !strings.Contains(err.Error(), "models[0].forward_authorization: would send clients' keys") {
		t.Error(err)
	}
}
