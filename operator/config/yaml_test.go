package config

import (
	"strings"
	"testing"
)

// TestSyntax checks that errors in the structure of a file are in our words, and quote what was found.
func TestSyntax(t *testing.T) {
	for in, want := range map[string]string{
		"models:\n\t- name: m\n":                 "h.yaml:2:1: a tab; indent with spaces",
		"tracing:\n  url: |\n    x\n\ty\n":       "a tab; indent with spaces",
		"models: [\n- name: m\n":                 "h.yaml:1:9: a list that begins with [ does not end; write ]",
		"models:\n- aliases: [a, b\n  pool: p\n": "a list that begins with [ does not end; write ]",
		"models: {name: m\n":                     "h.yaml:1:9: a block that begins with { does not end; write }",
		"models:\n- name: \"m\n  pool: p\n":      "h.yaml:2:9: a quotation mark is opened here and not closed",
		"models:\n- name: @m\n": `h.yaml:2:9: "- name: @m": a value cannot begin with @, % or a backtick; put quotation ` +
			"marks around it",
		"listen: b: c\n": `h.yaml:1:9: "listen: b: c" has a colon too many; put quotation marks around a value that has a ` +
			"colon and a space",
		"listen 127.0.0.1:1\nmodels:\n": `h.yaml:1:1: "listen 127.0.0.1:1" does not belong here; a setting is name: value`,
		"models:\n- name: m\n  pool: p\n servers: x\n": `h.yaml:4:2: "servers: x" does not belong here; a setting is name: ` +
			"value, and is indented as those beside it",
		"models:\n- name: m\n   pool: p\n": `h.yaml:3:4: "pool: p" is indented further than the setting above it; ` +
			"indent both alike",
		"models:\n  - name: m\n    pool: p\n      kind: k # x: y\n": `h.yaml:4:7: "kind: k # x: y" is indented further than`,
		"models:\n  - name: m: n\n    pool: p\n":                    `h.yaml:2:11: "- name: m: n" has a colon too many`,
		"models:\n  -name: m\n   pool: p\n": `h.yaml:2:3: "-name: m" wants a space behind the dash, ` +
			"as in - name: value",
		"models:\n-name: m\n-name: n\n": `h.yaml:3:1: "-name: n" wants a space behind the dash`,
		"models:\n-name: m\n":           `wants a space behind the dash`,
		"models:\n  -name: m\n":         `wants a space behind the dash`,
		"models: {<<: *x}\n":            "there is no anchor of this name",
		"\ufeffmodels:\n- nam: m\n": "h.yaml:2:3: models[0].nam: nam is not a setting; " +
			"did you mean name?",
		"models:\n- name: m\n  pool: *x\n": "models[0].pool: there is no anchor of this name; " +
			"put quotation marks around text that begins with *",
		"listen: \"\\q\"\n":      `has a backslash that means nothing in double quotation marks`,
		"listen: 1\nlisten: 2\n": "h.yaml:2:1: listen is listed twice, first on line 1",
		"listen:127.0.0.1:8080\n": `h.yaml:1:1: found "listen:127.0.0.1:8080" where a block of settings is expected; a ` +
			"space belongs after the colon of a setting",
		"envoy: {concurrency: many}": `h.yaml:1:22: envoy.concurrency: found "many" where a number is expected`,
		"envoy: {concurrency: " + strings.Repeat("ä", 100) + "}": `found "` + strings.Repeat("ä", maxQuoted) +
			`…" where a number is expected`,
		"cors_origins: true": `cors_origins: found "true" where a list is expected`,
	} {
		_, err := Parse("h.yaml", []byte(in))
		if got := allOf(err); !strings.Contains(got, want) {
			t.Errorf("%q:\ngot  %swant %s", in, got, want)
		}
	}
}

// TestURLsInBraces checks URLs with a port in lists inside braces, which are YAML 1.2, and that nothing else is joined.
func TestURLsInBraces(t *testing.T) {
	const in = `pools:
- {name: p, kind: chat, servers: [http://127.0.0.1:1, 'http://127.0.0.1:2', "http://127.0.0.1:3" , http://h:4]}
- {name: q, kind: chat, servers: [https://h:4/x/v1]}
models: [{name: m, pool: p}, {name: n, servers: [vllm=http://h:1, vllm=http://h:2]}, {name: o, pool: q}]
passthrough: http://h:9
`
	c, err := Parse("h.yaml", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Pools[0].Servers, " "); got !=
		"http://127.0.0.1:1 http://127.0.0.1:2 http://127.0.0.1:3 http://h:4" {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(append(c.Pools[1].Servers, c.Models[1].Servers...), " "); got !=
		"https://h:4/x/v1 vllm=http://h:1 vllm=http://h:2" {
		t.Errorf("got %s", got)
	}
	if _, err := Parse("h.yaml", []byte("pools: [{name: p, servers: [http://h: 1]}]")); err == nil {
		t.Error("a mapping is read as a URL")
	}
}
