package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestFilesAreCurrent compares the files in the repository with newly generated ones.
func TestFilesAreCurrent(t *testing.T) {
	t.Chdir("../..")
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if there, err := os.ReadFile(name); err != nil || !bytes.Equal(there, text) {
			t.Errorf("%s is not what the contract and the types say: make config-schema (%v)", name, err)
		}
	}
	if !bytes.Equal(files[schemaFile], config.Schema) {
		t.Error("the embedded schema is another")
	}
}

// TestSchemaAndParserAgree shows that the schema and the parser accept and refuse the same files.
func TestSchemaAndParserAgree(t *testing.T) {
	schema := compile(t)
	example, err := os.ReadFile("../../examples/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// The settings that the example has only in comments are tested too.
	service := regexp.MustCompile(`(?m)^# (responses_service|tracing):.*\n(#   .*\n)+`)
	commented := regexp.MustCompile(`(?m)^# (\s*)(?:# )?`)
	all := service.ReplaceAllStringFunc(string(example), func(block string) string {
		return commented.ReplaceAllString(block, "$1")
	})
	if !strings.Contains(all, "\n  stores: true") || !strings.Contains(all, "\n    reasoning: keep") {
		t.Error("the example's responses_service is written otherwise")
	}
	all = strings.NewReplacer("# passthrough", "passthrough", "# ca_file", "ca_file", "# access_log", "access_log", "# tenant_header",
		"tenant_header", "# path:", "path:").Replace(all)
	if all == string(example) {
		t.Error("the example proposes nothing in comments")
	}
	model := "models: [{name: a, servers: ['vllm=http://h:1'], %}]"
	for _, tt := range []struct {
		name, text string
		right      bool
	}{
		{"the example", string(example), true},
		{"the example with everything", all, true},
		{"a size in bytes", "body_limit: 65536", true},
		{"a size", "body_limit: 64 KiB", true},
		{"a size that is none", "body_limit: much", false},
		{"a duration", "stall_timeout: 1m30s", true},
		{"a duration without a unit", "stall_timeout: 5", false},
		{"an unknown key", "listens: 127.0.0.1:1", false},
		{"an unknown key within", "seal: {key: x}", false},
		{"an unknown mode", "mode: half", false},
		{"text for a list", "models: a", false},
		{"tracing", "tracing: {url: 'http://c:4318/v1/traces', share: 0.5%}", true},
		{"a share that is a number", "tracing: {url: 'http://c:4317', share: 10}", false},
		{"an unknown key of tracing", "tracing: {urls: 'http://c:4317'}", false},
		{"a ratio", "reasoning_ratio_alert: 2", false},
		{"threads", "envoy: {concurrency: 1025}", false},
		{"an unknown key of a model", strings.Replace(model, "%", "color: red", 1), false},
		{"raw prompts", strings.Replace(model, "%", "raw_prompts: allow", 1), true},
		{"raw prompts, wrong", strings.Replace(model, "%", "raw_prompts: maybe", 1), false},
		{"structured outputs, wrong", strings.Replace(model, "%", "structured_outputs: xml", 1), false},
		{"unsupported content, wrong", strings.Replace(model, "%", "unsupported_content: eat", 1), false},
		{"aliases", strings.Replace(model, "%", "aliases: [b, 'b/*']", 1), true},
		{"aliases, wrong", strings.Replace(model, "%", "aliases: a", 1), false},
		{"an object", strings.Replace(model, "%", "extra_body: {temperature: 0.5, some: [a]}", 1), true},
		{"an object, wrong", strings.Replace(model, "%", "extra_body: [a]", 1), false},
		{"think tags, wrong", strings.Replace(model, "%", "chat: {think_tags: maybe}", 1), false},
		{"effort", strings.Replace(model, "%", "system: {effort: high}", 1), true},
		{"effort, wrong", strings.Replace(model, "%", "system: {effort: most}", 1), false},
		{"efforts", strings.Replace(model, "%", "reasoning_efforts: {none: low, max: refuse}", 1), true},
		{"efforts, wrong", strings.Replace(model, "%", "reasoning_efforts: {max: most}", 1), false},
		{"reasoning fields, wrong", strings.Replace(model, "%", "answers: {reasoning_fields: some}", 1), false},
		{"undeclared calls, wrong", strings.Replace(model, "%", "answers: {undeclared_calls: some}", 1), false},
		{"events, wrong", strings.Replace(model, "%", "answers: {events: some}", 1), false},
		{"choices", strings.Replace(model, "%", "answers: {max_choices: 129}", 1), false},
		{"hosted tools, wrong", "hosted_tools: run", false},
		{"tools", tools("servers: [{label: a, url: 'http://h', headers_file: h}, {label: b, command: [x], " +
			"environment: {A: b}}], allow: [h], browser: a, others: refuse, time: 1m, result_limit: 1KiB"), true},
		{"tools, a wrong label", tools("servers: [{label: 1, url: 'http://h'}]"), false},
		{"tools, a label with a dot", tools("servers: [{label: a.b, url: 'http://h'}]"), false},
		{"tools, a wrong transport", tools("servers: [{label: a, url: 'http://h', transport: stdio}]"), false},
		{"tools, a wrong approval", tools("servers: [{label: a, url: 'http://h', require_approval: once}]"), false},
		{"tools, a command of one word", tools("servers: [{label: a, command: x}]"), false},
		{"tools, a variable that is a list", tools("servers: [{label: a, command: [x], environment: {A: []}}]"), false},
		{"tools, an unknown key", tools("headers: {}"), false},
		{"tools, others", tools("others: run"), false},
		{"tools, rounds", tools("rounds: 1001"), false},
	} {
		var value any
		if err := yaml.Unmarshal([]byte(tt.text), &value); err != nil {
			t.Fatal(err)
		}
		bySchema := schema.Validate(value)
		if _, byParser := config.Parse(tt.name, []byte(tt.text)); (bySchema == nil) != tt.right ||
			(byParser == nil) != tt.right {
			t.Errorf("%s: the schema says %v, and the parser %v", tt.name, bySchema, byParser)
		}
	}
}

// TestExamples checks the configurations of examples/ that are whole, and the ones in the pages about chat servers.
func TestExamples(t *testing.T) {
	schema := compile(t)
	files, err := filepath.Glob("../../examples/nemo-gym/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	texts := map[string]string{}
	for _, name := range append(files, "../../examples/config.yaml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	page, err := os.ReadFile("../../docs/chat-servers.md")
	if err != nil {
		t.Fatal(err)
	}
	pools := "\npools: [{name: qwen, kind: chat, servers: ['http://h:1']}]"
	for i, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if !strings.Contains(text, "\npools:") {
			text += pools
		}
		texts[fmt.Sprintf("docs/chat-servers.md, block %d", i)] = text
	}
	for name, text := range texts {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c, err := config.Parse(name, []byte(text))
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			t.Error(err)
		}
	}
	if len(texts) != 7 {
		t.Errorf("there are %d configurations", len(texts))
	}
}

// tools returns a file with tools of the responses service.
func tools(settings string) string {
	return "responses_service: {store: r.db, tools: {" + settings + "}}"
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
