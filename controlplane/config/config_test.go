package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const wholeFile = `# a comment
listen: 0.0.0.0:80
admin: 127.0.0.1:9901
mode: reduced
body_limit: 4MiB
stall_timeout: 90s
access_log: /var/log/h.json
reasoning_ratio_alert: 0.75
passthrough: https://other.example
passthrough_paths: [/v1/]
ca_file: /etc/ca.pem
seal: { lifetime: 1h, tenant_header: X-Tenant }
hosted_tools: refuse
envoy:
  path: /usr/bin/envoy
  concurrency: 4
  max_heap: 1GiB
  max_connections: 500
request_timeout: 30s
cors_origins: [ "https://chat.example.com" ]
models:
  - name: gpt-oss-120b
    servers: [ "vllm=http://10.0.0.7:8000", "vllm=http://10.0.0.8:8000" ]
    server_model: openai/gpt-oss-120b
    context_length: 65536
    max_reasoning_tokens: 1000
    thinking_token_budget: true
    drain_tokens: 0
    control_tokens: break
    fallback_on_timeout_ms: 1000
    min_tokens_before_fallback: 0
    raw_prompts: allow
    reasoning_efforts: { none: low, xhigh: refuse }
    drop_commentary_from_history: true
    unsupported_content: drop
    server_extras: []
    aliases: [ gpt, "openai/*" ]
    extra_body: { seed: 1, ignore: [ a ] }
    answers: {token_ids: true, context_error: empty_length, reasoning_fields: none, hide_reasoning: false, reasoning_as_summary: true, undeclared_calls: content, max_choices: 4, strict: true, events: channels, require_final_channel: true, harmony_messages: true}
    structured_outputs: none
    system:
      identity: ""
      knowledge_cutoff: 2025-01
      date: 2026-01-02
      effort: high
`

func TestParseWhole(t *testing.T) {
	c, err := Parse("h.yaml", []byte(wholeFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.Listen != "0.0.0.0:80" || c.Admin != "127.0.0.1:9901" || c.BodyLimit != 4<<20 ||
		time.Duration(c.StallTimeout) != 90*time.Second ||
		c.Envoy != (Envoy{Path: "/usr/bin/envoy", Concurrency: 4, MaxHeap: 1 << 30, MaxConnections: 500}) ||
		time.Duration(c.RequestTimeout) != 30*time.Second || len(c.CORSOrigins) != 1 || c.CAFile != "/etc/ca.pem" ||
		c.AccessLog != "/var/log/h.json" || len(c.PassthroughPaths) != 1 {
		t.Errorf("got %+v", c)
	}
	want := contract.Config{
		Schema: 1, Mode: "reduced", Passthrough: true, BodyLimit: 4 << 20, StallTimeoutMS: 90_000,
		MemoryLimit:         contract.DefaultMemoryLimit,
		ReasoningRatioAlert: 0.75,
		Seal:                contract.Seal{LifetimeS: 3600, TenantHeader: "x-tenant"},
		Settings:            contract.Settings{HostedTools: contract.HostedToolsRefuse},
		Models: []contract.Model{{
			Name: "gpt-oss-120b", Pool: "gpt-oss-120b", Server: "vllm", ServerModel: "openai/gpt-oss-120b",
			APIPath: "/v1", ModelSettings: contract.ModelSettings{
				ContextLength:      65536,
				MaxReasoningTokens: 1000, ThinkingTokenBudget: true,
				ControlTokens: "break", FallbackOnTimeoutMS: 1000,
				RawPrompts: "allow", DropCommentaryFromHistory: true, UnsupportedContent: "drop", Relay: "off",
				ReasoningEfforts: contract.Efforts{None: "low", Minimal: "low", XHigh: "refuse", Max: "high"},
				Aliases:          []string{"gpt", "openai/*"}, Translate: "all", Speaks: "auto",
				ExtraBody: `{"ignore":["a"],"seed":1}`, Chat: contract.DefaultModel("").Chat,
				StructuredOutputs: "none", Answers: contract.Answers{
					TokenIDs: true, ContextError: "empty_length",
					ReasoningFields: "none", ReasoningAsSummary: true, UndeclaredCalls: "content", MaxChoices: 4,
					Strict: true, Events: "channels", RequireFinalChannel: true, HarmonyMessages: true},
				System: contract.System{KnowledgeCutoff: "2025-01", Date: "2026-01-02", Effort: "high"},
			}}},
	}
	if got, want := string(filterconfig.AppendJSON(nil, c.Filter())),
		string(filterconfig.AppendJSON(nil, &want)); got != want {
		t.Errorf("filter configuration\ngot  %s\nwant %s", got, want)
	}
}

func TestDefaults(t *testing.T) {
	c, err := Parse("h.yaml", []byte("models:\n- name: m\n  servers: [vllm=http://h:1]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	want := contract.Config{
		Schema: 1, Mode: contract.ModeFull, BodyLimit: DefaultBodyLimit, StallTimeoutMS: contract.DefaultStallTimeoutMS,
		MemoryLimit: contract.DefaultMemoryLimit, ReasoningRatioAlert: contract.DefaultReasoningAlert,
		Seal:     contract.Seal{LifetimeS: contract.DefaultSealLifetimeS},
		Settings: contract.Settings{HostedTools: contract.HostedToolsIgnore},
		Models:   []contract.Model{contract.DefaultModel("m")},
	}
	if got, want := string(filterconfig.AppendJSON(nil, c.Filter())),
		string(filterconfig.AppendJSON(nil, &want)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c.Listen != DefaultListen || c.Admin != DefaultAdmin {
		t.Errorf("got %+v", c)
	}
}

// TestResponsesService: a service that is only named takes everything.
func TestResponsesService(t *testing.T) {
	for in, want := range map[string]contract.ResponsesService{
		"":                      {Pool: "responses-service", Stores: true, HostedTools: true},
		", stores: false":       {Pool: "responses-service", HostedTools: true},
		", hosted_tools: false": {Pool: "responses-service", Stores: true},
		", websocket: true":     {Pool: "responses-service", Stores: true, HostedTools: true, WebSocket: true},
		", websocket: false":    {Pool: "responses-service", Stores: true, HostedTools: true},
	} {
		c, err := Parse("h.yaml", []byte("responses_service: {url: http://h:1"+in+"}\nmodels:\n- name: m\n  servers: "+
			"[vllm=http://h:2]\n"))
		if err != nil || c.Validate() != nil {
			t.Fatalf("%q: %v, %v", in, err, c.Validate())
		}
		if got := c.Filter().ResponsesService; got != want {
			t.Errorf("%q: got %+v", in, got)
		}
	}
}

func TestEmptyFileHasDefaults(t *testing.T) {
	for _, in := range []string{"", "# nothing\n", "---\n"} {
		c, err := Parse("h.yaml", []byte(in))
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		var e *Error
		if err := c.Validate(); !errors.As(err, &e) || e.Field != "models" {
			t.Errorf("%q: %v, want an error at models", in, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	model := func(rest string) string { return "models:\n- name: m\n  " + rest }
	pooled := func(rest string) string {
		return "pools:\n- name: p\n  " + rest + "\nmodels:\n- name: m\n  pool: p\n"
	}
	onPrompts := func(rest string) string { return model("servers: [vllm=http://h:1]\n  " + rest) }
	onChat := func(rest string) string { return model("servers: [chat=http://h:1]\n  " + rest) }
	tests := []struct{ in, want string }{
		{"listen: [", "h.yaml:1: "},
		{"body_limit: 1MiB\nlisten: here", `h.yaml:2: listen: "here" is not host:port`},
		{"listen: example.com:80", `listen: "example.com" is not an IP address`},
		{"listen: 127.0.0.1:99999", "is not a port"},
		{"mode: half", `h.yaml:1: mode: "half" is not known; write full or reduced`},
		{"models: [{name: a}, {name: b}]\nmode: reduced", "h.yaml:2: mode: reduced serves one model, and 2 are configured"},
		{"admin: 0.0.0.0:9901", "h.yaml:1: admin: 0.0.0.0:9901 is not on loopback"},
		{"body_limit: 16Mb", "h.yaml:1: body_limit: \"16Mb\" is not a size"},
		{"body_limit: 12", "body_limit: 12 is out of range"},
		{"reasoning_ratio_alert: 90", "h.yaml:1: reasoning_ratio_alert: 90 is out of range"},
		{"reasoning_ratio_alert: .nan", "reasoning_ratio_alert: NaN is out of range"},
		{"body_limit: 1GiB", "body_limit: 1GiB is out of range"},
		{"memory_limit: 449MiB", "h.yaml:1: memory_limit: 449MiB is out of range; use at most 448MiB"},
		{"memory_limit: 123MiB", "h.yaml:1: memory_limit: 123MiB is too little for a request of 4MiB, which body_limit " +
			"allows; use at least 124MiB, or a smaller body_limit"},
		{"body_limit: 64MiB", "memory_limit: 256MiB is too little for a request of 64MiB"},
		{"stall_timeout: 5", "h.yaml:1: stall_timeout: \"5\" is not a duration"},
		{model("reasoning_efforts: {max: utmost}"), `h.yaml:3: models[0].reasoning_efforts.max: "utmost" is not known; ` +
			`write low, medium, high or refuse`},
		{model("server_extras: [top_k, ignore_eos]"),
			`h.yaml:3: models[0].server_extras[1]: "ignore_eos" is not known; write one or more of top_k, `},
		{model("translate: 10"), `h.yaml:3: models[0].translate: "10" is not known; write all, a share such as 10%, or obs`},
		{model("speaks: qwen"), `h.yaml:3: models[0].speaks: "qwen" is not known; write auto, harmony, chat, marker, or x-`},
		{model("marker: ' '"), `h.yaml:3: models[0].marker: " " is not a marker; write a text of at most 64 bytes`},
		{model("extra_body: [1]"), "h.yaml:3: models[0].extra_body: found a list where a block of settings is expected"},
		{model("extra_body: {a: 1, a: 2}"), "h.yaml:3: a is listed twice, first on line 3"},
		{model("extra_body: {a: .inf}"), "h.yaml: an object holds .nan or .inf, which JSON does not have; remove it"},
		{model("chat: {template_kwargs: text}"), "h.yaml:3: models[0].chat.template_kwargs: found text where a block of set"},
		{model("chat: {think_tags: maybe}"),
			`models[0].chat.think_tags: "maybe" is not known; write leading, anywhere, open`},
		{"stall_timeout: 5ms", "stall_timeout: 5ms would end every request"},
		{"stall_timeout: 48h", "is too long"},
		{"request_timeout: 0s", "h.yaml:1: request_timeout: 0s is out of range"},
		{"request_timeout: 2h", "request_timeout: 2h0m0s is out of range"},
		{"cors_origins: [https://a.example, a.example]", "h.yaml:1: cors_origins[1]: \"a.example\" is not an origin"},
		{"cors_origins: [https://a.example/]", "is not an origin"},
		{"envoy:\n  max_heap: 1MiB", "h.yaml:2: envoy.max_heap: 1MiB is out of range"},
		{"envoy:\n  max_connections: 0", "h.yaml:2: envoy.max_connections: 0 is out of range"},
		{"seal: {tenant_header: x_tenant}", "h.yaml:1: seal.tenant_header: \"x_tenant\" has an underscore"},
		{"listen: 127.0.0.1:1\ncolour: red", `h.yaml:2: colour: colour is not a setting; check its spelling`},
		{"listen: 127.0.0.1:1\nlisten: 127.0.0.1:2", "h.yaml:2: "},
		{"body_limit: [1]", "h.yaml:1: body_limit: a single value is expected"},
		{"listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2", "more than one document"},
		{"- a", "h.yaml:1: "},
		{"a", "h.yaml:1: "},
		{"models: {a: b}", "h.yaml:1: "},
		{"models: [a]", "h.yaml:1: "},
		{"models: [{name: m, servers: [vllm=http://h:1]}]", "h.yaml:1: models[0].servers[0]: found a block of settings " +
			"where text is expected; put quotation marks"},
		{"envoy:\n  concurrency: -1", "h.yaml:2: envoy.concurrency: -1 is out of range"},
		{"envoy:\n  concurrency: many", "h.yaml:2: "},
		{"models:\n- servers: []", "models[0].name: the model has no name"},
		{"models:\n- name: a b", "models[0].name: \"a b\" is not a valid header value"},
		{"models:\n- name: m\n- name: m", "h.yaml:3: models[1].name: m is listed twice"},
		{"models:\n- name: m\n- name: n\n  aliases:\n  - x*\n  - m",
			"h.yaml:6: models[1].aliases[1]: m is also the name of a model; a name stands for one model"},
		{"models:\n- name: m\n  aliases: [n]\n- name: n",
			"h.yaml:4: models[1].name: n is also an alias of the model m; a name stands for one model"},
		{model("aliases: [a, a]"), "h.yaml:3: models[0].aliases[1]: a is listed twice; remove one"},
		{model("aliases: [a b]"), "h.yaml:3: models[0].aliases[0]: \"a b\" is not a name; write one such as openai/"},
		{model("aliases: ['*']\n  servers: [vllm=http://h:1]\npassthrough: http://h:2"),
			"h.yaml:3: models[0].aliases[0]: * stands for every name"},
		{model("translate: most"), "h.yaml:3: models[0].translate: \"most\" is not known; write all, a share such as 10%"},
		{model("translate: 101%"), "h.yaml:3: models[0].translate: \"101%\" is not known"},
		{model("translate: 10%\n  servers: [vllm=http://h:1]\nmode: reduced"),
			"h.yaml:3: models[0].translate: must be all in reduced mode"},
		{model("translate: 10%\n  pool: p\n" +
			"pools:\n- {name: p, kind: text, accept_text_prompts: true, servers: [\"http://h:1\"]}"),
			"h.yaml:3: models[0].translate: must be all for servers of the kind text"},
		{model("translate: observe\n  relay: finish\n  servers: [vllm=http://h:1]"),
			"h.yaml:4: models[0].relay: is for answers that are translated"},
		{model("color: red"), "h.yaml:3: models[0].color: color is not a setting"},
		{model("answers: {reasoning_fields: x}"), "h.yaml:3: models[0].answers.reasoning_fields: \"x\" is not known"},
		{model("answers: {undeclared_calls: x}"), "h.yaml:3: models[0].answers.undeclared_calls: \"x\" is not known"},
		{model("answers: {max_choices: 129}"), "h.yaml:3: models[0].answers.max_choices: 129 is out of range"},
		{model("answers: {events: tokens}"), "h.yaml:3: models[0].answers.events: \"tokens\" is not known"},
		{model("structured_outputs: json"), "h.yaml:3: models[0].structured_outputs: \"json\" is not known"},
		{model("raw_prompts: maybe"), "h.yaml:3: models[0].raw_prompts: \"maybe\" is not known"},
		{model("unsupported_content: keep"), "h.yaml:3: models[0].unsupported_content: \"keep\" is not known"},
		{model("context_length: -1"), "models[0].context_length"},
		{model("system: {date: tomorrow}"), "h.yaml:3: models[0].system.date: \"tomorrow\" is not a date"},
		{model("system: {date: 2026-02-30}"), "models[0].system.date"},
		{model("system: {effort: max}"), "models[0].system.effort"},
		{model("servers: [http://h:1]"), "write vllm=http://h:1"},
		{model("servers: [tgi=http://h:1]"), "\"tgi\" is not a kind of server"},
		{model("servers: [vllm=h:1]"), "is not a URL"},
		{model("servers: [vllm=ftp://h:1]"), "has the scheme ftp"},
		{model("servers: [vllm=http://h:1/v1]"), "has the path /v1; remove it"},
		{model("servers: [chat=http://h:1/v1/chat/completions]"),
			`servers[0]: "http://h:1/v1/chat/completions" has the path ` +
				"/v1/chat/completions; leave /chat/completions out, which is added to it"},
		{model("servers: [chat=http://h:1/chat/completions/]"), "leave /chat/completions out"},
		{model("servers: [chat=http://h:1/a%20b/v1]"), "has the path /a%20b/v1; write a path without escapes"},
		{model("servers: ['chat=http://h:1/a b/v1']"), "has the path /a%20b/v1; write a path without escapes"},
		{model("servers: ['chat=http://h:1/a b/chat/completions']"), "has the path /a%20b/chat/completions; leave /chat"},
		{model("servers: [chat=http://h:1/é]"), "write a path without escapes"},
		{model("servers: [chat=http://h:1//v1]"), "write a path without escapes"},
		{model("servers: [chat=http://h:1/../v1]"), "write a path without escapes"},
		{model("servers: [chat=http://h:1/" + strings.Repeat("a", 300) + "]"), "write a path without escapes"},
		{model("servers: [chat=http://h:1/v1?key=1]"), "has a query"},
		{model("servers: [chat=http://u:p@h:1/v1]"), "servers[0]: \"http://…@h:1/v1\" has a user name"},
		{model("servers: [chat=http://h:1/a, chat=http://h:2/b]"),
			"h.yaml:3: models[0].servers[1]: chat=http://h:2/b has the " +
				"path /b, and the servers before it have /a; give each path a pool of its own"},
		{pooled("kind: chat\n  servers: [http://h:1/v1, http://h:2/b]"), "pools[0].servers[1]: http://h:2/b has the path /b"},
		{pooled("kind: chat\n  servers: [http://h:1]\n  spares: [q]\n- name: q\n  kind: chat\n  servers: [http://h:2/b]"),
			"pools[0].spares[0]: q has servers with the path /b, and those of p have /v1; name a pool with the same path"},
		{pooled("kind: sglang\n  servers: [http://h:1/v1]"), "has the path /v1; remove it"},
		{onChat("extra_body: {top_p: 1, stream: true}"), "h.yaml:4: models[0].extra_body.stream: is written by the gateway"},
		{onPrompts("extra_body: {top_p: 1, stream: true}"), "h.yaml:4: models[0].extra_body.stream: cannot be a default: The " +
			"gateway sets it itself. Leave it out."},
		{onPrompts("extra_body: {top_p: much}"), "h.yaml:4: models[0].extra_body.top_p: cannot be a default: "},
		{onChat("sampling_overrides: {top_p: 1, model: m}"), "h.yaml:4: models[0].sampling_overrides.model: cannot be set for " +
			"all clients: The gateway sets it itself. Leave it out."},
		{onChat("sampling_overrides: {guided: 1, mm: 1}"), "h.yaml:4: models[0].sampling_overrides.guided: "},
		{onPrompts("sampling_overrides: {top_p: 1, mm: 1}"), "h.yaml:4: models[0].sampling_overrides.mm: cannot be set for all " +
			"clients: It is no parameter of sampling."},
		{onPrompts("sampling_overrides: {temperature: 9}"), "h.yaml:4: models[0].sampling_overrides.temperature: "},
		{model("extra_body: {a: " + strings.Repeat("[", 32) + strings.Repeat("]", 32) + "}"),
			"models[0].extra_body: is nested too deeply; use at most 32 levels"},
		{model("extra_body: {a: " + strings.Repeat("b", 64<<10) + "}"), "models[0].extra_body: is 65544 bytes of JSON"},
		{model("chat: {template_kwargs: {a: " + strings.Repeat("b", 64<<10) + "}}"),
			"models[0].chat.template_kwargs: is 65544 bytes of JSON; use at most 65536"},
		{onPrompts("speaks: chat"),
			"h.yaml:4: models[0].speaks: chat is for servers that take conversations, and those of this " +
				"model take prompts (kind vllm); write kind: chat in the pool, or chat=URL in servers, or leave it out"},
		{onPrompts("speaks: x-mine"), "models[0].speaks: x-mine is for servers that take conversations"},
		{onPrompts("marker: ANSWER"),
			"models[0].marker: is for servers that answer in text, and those of this model answer in " +
				"token ids (kind vllm); leave it out, or write kind: chat in the pool"},
		{onPrompts("chat: {think_tags: off}"), "models[0].chat.think_tags: is for servers that take conversations"},
		{onPrompts("chat: {template_kwargs: {a: 1}}"), "models[0].chat.template_kwargs: is for servers that take convers"},
		{pooled("servers: [http://h:1]\n  kind: trtllm") + "  answers: {token_ids: true}",
			"models[0].answers.token_ids: trtllm " +
				"servers do not send both token ids and logprobs; leave it out, or use servers of a kind that does: vllm, " +
				"vllm-generate, vllm-legacy, sglang or chat"},
		{onChat("structured_outputs: none"),
			"h.yaml:4: models[0].structured_outputs: is for servers that take prompts, and " +
				"those of the kind chat take conversations; leave it out: tool choices and JSON schemas go to the servers"},
		{onChat("answers: {token_ids: true, hide_reasoning: true}"),
			"h.yaml:4: models[0].answers.token_ids: gives clients the tokens of the reasoning that answers.hide_reasoning hides"},
		{onChat("control_tokens: break"), "models[0].control_tokens: is for servers that take prompts"},
		{onChat("thinking_token_budget: true"), "models[0].thinking_token_budget: is for servers that take prompts"},
		{onChat("raw_prompts: allow"), "models[0].raw_prompts: is for servers that take prompts"},
		{onChat("reasoning_efforts: {max: low}"), "models[0].reasoning_efforts.max: is for servers that take prompts"},
		{onChat("drop_commentary_from_history: true"), "models[0].drop_commentary_from_history: is for servers"},
		{onChat("unsupported_content: drop"), "models[0].unsupported_content: is for servers that take prompts"},
		{onChat("system: {date: omit}"), "models[0].system.date: is for servers that take prompts"},
		{onChat("answers: {strict: true}"), "models[0].answers.strict: is for servers that take prompts"},
		{onChat("answers: {harmony_messages: true}"), "models[0].answers.harmony_messages: is for servers that take prompts"},
		{onChat("answers: {reasoning_fields: none}"), "models[0].answers.reasoning_fields: is for answers that the gateway " +
			"makes, and answers of chat servers to Chat requests pass as they come; leave it out, or write hide_reas"},
		{onChat("answers: {events: channels}"), "models[0].answers.events: is for servers that take prompts"},
		{onChat("speaks: chat\n  marker: ANSWER"),
			"models[0].marker: is for a model whose answers have one; write speaks: mark"},
		{onChat("marker: ANSWER"), "models[0].marker: is for a model whose answers have one; write speaks: mark"},
		{onChat("extra_body: {chat_template_kwargs: {a: 1}}"), "models[0].extra_body.chat_template_kwargs: is in the wrong " +
			"place; write it as chat.template_kwargs"},
		{model("servers: [vllm=http://u:p@h:1]"),
			"servers[0]: \"http://…@h:1\" has a user name; remove it: credentials do not belong"},
		{model("servers: [\"vllm=http://u:p@h h\"]"), "servers[0]: \"http://…@h h\" is not a URL"},
		{model("servers: [vllm=http://h:1?x=1]"), "has a query"},
		{model("servers: [vllm=http://h:70000]"), "has the port 70000"},
		{model("servers: [vllm=https://10.0.0.1]"), "https with an IP address"},
		{model("servers:\n  - vllm=http://h:1\n  - vllm=http://H:1/"),
			"h.yaml:5: models[0].servers[1]: vllm=http://H:1/ is listed twice"},
		{model("servers: [vllm=http://h:1, vllm=https://i:1]"), "mixes http and https"},
		{model("servers: [vllm=http://h:1]\npassthrough: http://h:1"),
			"h.yaml:4: passthrough: http://h:1 is also a server of m"},
		{model("servers: [vllm=https://h]\npassthrough: http://h:443"), "is also a server of m"},
		{"hosted_tools: run", `h.yaml:1: hosted_tools: "run" is not known; write ignore or refuse`},
		{"responses_service: http://h:1", "h.yaml:1: "},
		{"responses_service: {url: h:1}", "h.yaml:1: responses_service.url: \"h:1\" is not a URL"},
		{"responses_service: {url: http://h:1, stores: false, hosted_tools: false}",
			"h.yaml:1: responses_service: gets no requests"},
		{"responses_service: {url: http://h:1}\nmode: reduced",
			"h.yaml:1: responses_service: does not work in reduced mode"},
		{model("servers: [vllm=http://h:1]\nresponses_service: {url: http://h:1}"),
			"h.yaml:4: responses_service.url: http://h:1 is also a server of m"},
		{"models: [{name: responses-service}]\nresponses_service: {url: http://h:1}",
			"h.yaml:1: models[0].name: responses-service is the name of the responses service"},
		{model("servers: [vllm=http://h:1]\n  dialect: tgi"),
			"h.yaml:4: models[0].dialect: \"tgi\" is not known; write vllm"},
		{model("pool: p"), "h.yaml:3: models[0].pool: there is no pool called p"},
		{pooled("servers: [http://h:1]") + "  servers: [vllm=http://h:2]\n", "models[0].servers: cannot be used with pool"},
		{pooled("servers: []"), "pools[0].servers: no server is given for the pool p"},
		{pooled("servers: [vllm=http://h:1]"), "h.yaml:3: pools[0].servers[0]: \"vllm=http://h:1\" is not a URL"},
		{pooled("servers: [http://h:1, http://H:1]"), "pools[0].servers[1]: http://H:1 is listed twice"},
		{pooled("service: {port: http}"), "h.yaml:3: pools[0].service.name: is empty"},
		{pooled("service: {name: vllm.models.svc}"), "pools[0].service.name: \"vllm.models.svc\" is not the name of a Service"},
		{pooled("service: {name: vllm, namespace: M}"), "pools[0].service.namespace: \"M\" is not the name of a namespace"},
		{pooled("service: {name: vllm, port: 70000}"), "pools[0].service.port: \"70000\" is not a port"},
		{pooled("service: {name: vllm, port: 0}"), "pools[0].service.port: \"0\" is not a port"},
		{pooled("service: {name: vllm, port: [1]}"), "pools[0].service.port: a single value is expected"},
		{pooled("service: {name: vllm, scheme: grpc}"), "pools[0].service.scheme: \"grpc\" is not known"},
		{pooled("servers: [http://h:1]\n  service: {name: vllm, scheme: https}"),
			"pools[0].service.scheme: https mixes http and https"},
		{pooled("servers: [http://h:1, https://i:1]"), "pools[0].servers[1]: https://i:1 mixes http and https"},
		{pooled("servers: [http://h:1]\n  kind: tgi"), "h.yaml:4: pools[0].kind: \"tgi\" is not known; write vllm"},
		{pooled("servers: [http://h:1]\n  policy: random"), "h.yaml:4: pools[0].policy: \"random\" is not known"},
		{pooled("servers: [http://h:1]\n  policy: session"), "pools[0].session: write either cookie or header"},
		{pooled("servers: [http://h:1]\n  session: {cookie: c}"), "pools[0].session: is for the policy session"},
		{pooled("servers: [http://h:1]\n  policy: session\n  session: {cookie: a b}"),
			"pools[0].session.cookie: \"a b\" is not the name of a cookie"},
		{pooled("servers: [http://h:1]\n  capacity: -1"), "pools[0].capacity: -1 is out of range"},
		{pooled("servers: [http://h:1]\n  spares: [q]"), "pools[0].spares[0]: there is no pool called q"},
		{pooled("servers: [http://h:1]\n  spares: [p]"), "pools[0].spares[0]: a pool cannot be its own spare"},
		{pooled("servers: [http://h:1]\n  spares: [q]\n- name: q\n  servers: [https://h]"),
			"pools[0].spares[0]: q mixes http and https with p"},
		{pooled("servers: [http://h:1]\n  health: {path: health}"), "pools[0].health.path: \"health\" is not a path"},
		{pooled("servers: [http://h:1]\n  health: {interval: 1ms}"), "pools[0].health.interval: 1ms is out of range"},
		{pooled("servers: [http://h:1]\n  slow_start: 2h"), "pools[0].slow_start: 2h0m0s is too long"},
		{pooled("servers: [http://h:1]\n  authorization: k"), "pools[0].authorization: there is no secret called k"},
		{pooled("servers: [http://h:1]\n  authorization: k\nsecrets: [{name: k, certificate: c, key: k}]"),
			"pools[0].authorization: k is a certificate"},
		{pooled("servers: [http://h:1]\n- name: p\n  servers: [http://h:2]"), "pools[1].name: p is listed twice"},
		{"pools:\n- name: p.q\n  servers: [http://h:1]", "h.yaml:2: pools[0].name: \"p.q\" is not a name"},
		{"pools:\n- name: m\n  servers: [http://h:1]\nmodels: [{name: m, servers: ['vllm=http://h:2']}]",
			"pools[0].name: m is also a model"},
		{pooled("servers: [http://h:1]") + "passthrough: http://h:1",
			"passthrough: http://h:1 is also a server of the pool p"},
		{"pools:\n- {name: p, servers: ['http://h:1'], authorization: k}\nsecrets: [{name: k, env: K}]\nmodels:\n- {name: " +
			"m, pool: p, forward_authorization: true}",
			"h.yaml:5: models[0].forward_authorization: the pool p has an authorization for its servers"},
		{"secrets: [{name: k}]", "h.yaml:1: secrets[0]: k has 0 sources"},
		{"secrets: [{name: k, env: K, file: f}]", "secrets[0]: k has 2 sources"},
		{"secrets: [{name: k, certificate: c}]", "secrets[0]: k has half of a certificate"},
		{"secrets: [{name: k, env: K}, {name: k, env: L}]", "secrets[1].name: k is listed twice"},
		{"secrets: [{name: a b, env: K}]", "secrets[0].name: \"a b\" is not a name"},
		{"listeners: [{address: here}]", "listeners[0].address: \"here\" is not host:port"},
		{"listeners: [{address: '127.0.0.1:1'}, {address: '127.0.0.1:2'}]", "listeners[1].name: harmony is listed twice"},
		{"listeners: [{address: '127.0.0.1:1'}, {name: b, address: '127.0.0.1:1'}]",
			"listeners[1].address: 127.0.0.1:1 is listed twice"},
		{"listeners: [{address: '127.0.0.1:1', tls: c}]", "listeners[0].tls: there is no secret called c"},
		{"listeners: [{address: '127.0.0.1:1', tls: c}]\nsecrets: [{name: c, env: C}]", "listeners[0].tls: c is a token"},
		{"listen: 127.0.0.1:3\nlisteners: [{address: '127.0.0.1:1'}]", "listen: cannot be used with listeners"},
		{"passthrough: h:1", "passthrough: \"h:1\" is not a URL"},
		{"passthrough_paths: [v1]", "passthrough_paths[0]: \"v1\" is not a path"},
	}
	for _, tt := range tests {
		_, err := Parse("h.yaml", []byte(tt.in))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "h.yaml") {
			t.Errorf("%q:\ngot  %v\nwant %s", tt.in, err, tt.want)
			continue
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than one line: %v", tt.in, err)
		}
	}
}

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
			c, err := Parse("h.yaml", []byte(in))
			if err != nil {
				t.Errorf("%s: %v", in, err)
				continue
			}
			r, err := c.Resolve()
			if err != nil {
				t.Errorf("%s: %v", in, err)
				continue
			}
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

func TestIncomplete(t *testing.T) {
	c, err := Parse("h.yaml", []byte("models:\n- name: m\n"))
	if err != nil {
		t.Fatal(err)
	}
	var e *Error
	if err := c.Validate(); !errors.As(err, &e) || e.Field != "models[0].servers" {
		t.Errorf("got %v", err)
	}
}

// TestPools: what a pool says less is filled in, and a model's own servers are a pool too.
func TestPools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.yaml")
	text := "pools: [{name: p, servers_file: p.yaml}]\nsecrets: [{name: k, file: keys/k}]\nmodels:\n- {name: m, " +
		"servers: ['vllm=http://h:1']}\n- {name: n, pool: p}\n- {name: o, pool: p}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	pools := r.Pools
	if len(pools) != 2 || len(pools[0].Models) != 2 || len(pools[1].Models) != 1 {
		t.Fatalf("got %+v", pools)
	}
	folder := filepath.Dir(file)
	if p := pools[0]; p.Policy != PolicyLeastRequest ||
		p.Health != (Health{"/health", Duration(DefaultHealthInterval)}) ||
		p.ServersFile != filepath.Join(folder, "p.yaml") {
		t.Errorf("got %+v", p)
	}
	if p := pools[1]; p.Name != "m" || p.Health.Checked() || len(p.Endpoints) != 1 ||
		p.Endpoints[0].String() != "http://h:1" {
		t.Errorf("got %+v", p)
	}
	if s := c.Secret("k"); s.File != filepath.Join(folder, "keys", "k") {
		t.Errorf("got %+v", s)
	}
}

// TestManyServers resolves pools of very many servers, one of them listed twice in the same pool. With a search through
// the servers before each it would take minutes.
func TestManyServers(t *testing.T) {
	const servers = 200_000
	first, second := Pool{Name: "first"}, Pool{Name: "second"}
	for i := range servers {
		url := fmt.Sprintf("http://10.%d.%d.%d:8000", i>>16&0xff, i>>8&0xff, i&0xff)
		first.Servers, second.Servers = append(first.Servers, url), append(second.Servers, url)
	}
	c := Default()
	c.Pools, c.Models = []Pool{first, second}, []Model{DefaultModel("m")}
	c.Models[0].Pool = "first"
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Pool("second").Endpoints); n != servers {
		t.Errorf("the second pool has %d servers", n)
	}
	c.Pools[1].Servers[servers-1] = c.Pools[1].Servers[0]
	want := fmt.Sprintf("pools[1].servers[%d]: http://10.0.0.0:8000 is listed twice", servers-1)
	if _, err := c.Resolve(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLoadMissing(t *testing.T) {
	_, err := Load("does-not-exist.yaml")
	if err == nil || err.Error() != "does-not-exist.yaml: cannot be read: no such file or directory" {
		t.Errorf("got %v", err)
	}
}

func TestSize(t *testing.T) {
	for in, want := range map[string]Size{"0": 0, "1": 1, "65536": 65536, "7B": 7, "2KiB": 2048, "16MiB": 16 << 20,
		"1 GiB": 1 << 30, "16MB": 16e6, "2GB": 2e9, "3KB": 3000, "4 kB": 4000} {
		var s Size
		if err := s.Set(in); err != nil || s != want {
			t.Errorf("%q: %d, %v", in, s, err)
		}
		var again Size
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%q: %s reads back as %d, %v", in, &s, again, err)
		}
	}
	for _, in := range []string{"", "-1", "1.5MiB", "16M", "16Mb", "16mib", "9999999999GiB", "MiB"} {
		var s Size
		if err := s.Set(in); err == nil {
			t.Errorf("%q is accepted as %d", in, s)
		}
	}
}

// TestSizeIsPrintedAsItWasWritten: an error repeats a size in words that its author knows.
func TestSizeIsPrintedAsItWasWritten(t *testing.T) {
	for _, text := range []string{"0", "7", "2KiB", "16MiB", "16MB", "2GB"} {
		var s Size
		if err := s.Set(text); err != nil || s.String() != text {
			t.Errorf("%s is told as %s, %v", text, &s, err)
		}
	}
}

func TestMisspeltSettings(t *testing.T) {
	for in, want := range map[string]string{
		"lisen: 127.0.0.1:1": "h.yaml:1: lisen: lisen is not a setting; did you " +
			"mean listen?",
		"models:\n- name: m\n  contextlength: 5": "h.yaml:3: models[0].contextlength: contextlength is " +
			"not a setting; did you mean context_length?",
		"models:\n- name: m\n  answers: { reasoning_field: none }": "h.yaml:3: models[0].answers.reasoning_field: " +
			"reasoning_field is not a setting; did you mean reasoning_fields?",
		"context_length: 5": "h.yaml:1: context_length: context_length is not a setting here; it " +
			"belongs in each of models: check its indentation",
		"models:\n- name: m\n  body_limit: 1MiB": "h.yaml:3: models[0].body_limit: body_limit is not a setting here; it " +
			"belongs at the top of the file: check its indentation",
		"api_version: 1": "h.yaml:1: api_version: api_version is not a setting; check its spelling and its indentation",
		"pools:\n- name: p\n  health: { intervall: 5s }": "h.yaml:3: pools[0].health.intervall: intervall is " +
			"not a setting; did you mean interval?",
		"envoy: { concurrency: many }": "h.yaml:1: envoy.concurrency: found text where a " +
			"number is expected",
		"models:\n- name: m\n  drop_commentary_from_history: often": "h.yaml:3: models[0].drop_commentary_from_history: " +
			"found text where true or false is expected",
		"models: hello":       "h.yaml:1: models: found text where a list is expected",
		"models: { name: m }": "h.yaml:1: models: found a block of settings where a list is expected",
		"models:\n- name: m\n  servers: []\n  name: n": "h.yaml:4: name is listed twice, first on line 2",
		"stall_timeout: soon": `h.yaml:1: stall_timeout: "soon" is not a duration; write a ` +
			`number and a unit, such as 300s or 5m`,
	} {
		if _, err := Parse("h.yaml", []byte(in)); err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", in, err, want)
		}
	}
}

func TestChanges(t *testing.T) {
	const before = `body_limit: 1MiB
models:
- { name: a, servers: ["vllm=http://h:1"], answers: { strict: true } }
- { name: b, servers: ["vllm=http://h:2"] }
`
	read := func(text string) *Config {
		c, err := Parse("h.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, tt := range []struct{ old, new, want string }{
		{"", "", ""},
		{"body_limit: 1MiB", "body_limit: 2MiB\nstall_timeout: 9s", "body_limit stall_timeout"},
		{"body_limit: 1MiB", "envoy: { concurrency: 2 }\nseal: { lifetime: 1h }",
			"body_limit seal.lifetime envoy.concurrency"},
		{"strict: true", "strict: false", "models[a].answers.strict"},
		{"- { name: a,", "- { name: c, servers: [\"vllm=http://h:3\"] }\n- { name: a,", "models[c] is new"},
		{"name: b", "name: c", "models[c] is new, models[b] is removed"},
		{`h:2"]`, `h:4"]`, "models[b].servers"},
		{"models:", "pools: [{ name: p, servers: [\"http://h:9\"] }]\nmodels:", "pools[p] is new"},
	} {
		got := strings.Join(Changes(read(before), read(strings.Replace(before, tt.old, tt.new, 1))), ", ")
		if got != tt.want && got != strings.ReplaceAll(tt.want, " ", ", ") {
			t.Errorf("%s in place of %s: got %q, want %q", tt.new, tt.old, got, tt.want)
		}
	}
	if got := Changes(read("models: [{ name: a }, { name: b }]"), read("models: [{ name: b }, { name: a }]")); len(
		got) != 1 || got[0] != "models is in another order" {
		t.Error(got)
	}
}

func TestOnlyUp(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "admin: 127.0.0.1:9901": "admin", "envoy: { path: /e }": "envoy",
		"admin: 127.0.0.1:1\nenvoy: { concurrency: 1 }": "admin envoy",
	} {
		c, err := Parse("h.yaml", []byte(in))
		if err != nil || strings.Join(c.OnlyUp(), " ") != want {
			t.Errorf("%q: %v, %v", in, c.OnlyUp(), err)
		}
	}
}

// TestFilesAreFoundFromTheConfiguration: wherever the program runs, and Envoy, which has a folder of its own.
func TestFilesAreFoundFromTheConfiguration(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.WriteFile("h.yaml", []byte("ca_file: ca.pem\nsecrets: [{ name: s, certificate: tls/c.pem, key: /k.pem "+
		"}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load("h.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if folder, err = os.Getwd(); err != nil {
		t.Fatal(err)
	}
	if s := c.Secrets[0]; c.CAFile != filepath.Join(folder, "ca.pem") ||
		s.Certificate != filepath.Join(folder, "tls/c.pem") || s.Key != "/k.pem" {
		t.Errorf("got %s and %+v", c.CAFile, s)
	}
}

func TestEndpointString(t *testing.T) {
	for in, want := range map[string]string{
		"http://Host": "http://host:80", "https://h/": "https://h:443", "http://[::1]:8000": "http://[::1]:8000",
		"http://10.0.0.1:1": "http://10.0.0.1:1",
	} {
		e, err := ParseURL(in)
		if err != nil || e.String() != want {
			t.Errorf("%s: %v, %v", in, e, err)
		}
	}
}

// TestModelsOfAnchors: a model takes what an anchor says, and the defaults of all that neither says.
func TestModelsOfAnchors(t *testing.T) {
	c, err := Parse("h.yaml", []byte(`models:
- { name: a, servers: &servers ['vllm=http://h:1'], drain_tokens: 0, answers: &answers { strict: true }, system: ~ }
- { name: b, servers: *servers, drain_tokens: 0, answers: *answers, context_length: 0, reasoning_efforts: { max: "" }, system: { identity: ~ } }
- { name: c, <<: { servers: *servers, drain_tokens: 0, answers: { <<: *answers } } }
`))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultModel("", "vllm=http://h:1")
	want.DrainTokens, want.Answers.Strict = 0, true
	for i, name := range []string{"a", "b", "c"} {
		if want.Name = name; !reflect.DeepEqual(c.Models[i], want) {
			t.Errorf("got  %+v\nwant %+v", c.Models[i], want)
		}
	}
}
