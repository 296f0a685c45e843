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
    history: { calls: template, results: sampled }
    unsupported_content: drop
    server_extras: []
    aliases: [ gpt, "openai/*" ]
    extra_body: { seed: 1, ignore: [ a ] }
    answers: {token_ids: true, context_error: empty_length, reasoning_fields: none, hide_reasoning: false, reasoning_as_summary: true, reasoning_summary: always, undeclared_calls: content, max_choices: 4, strict: true, events: channels, require_final_channel: true, harmony_messages: true}
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
		PrefixMemory:        contract.DefaultPrefixMemory,
		ReasoningRatioAlert: 0.75,
		Seal:                contract.Seal{LifetimeS: 3600, TenantHeader: "x-tenant"},
		Settings:            contract.Settings{HostedTools: contract.HostedToolsRefuse},
		Models: []contract.Model{{
			Name: "gpt-oss-120b", Pool: "gpt-oss-120b", PoolName: "gpt-oss-120b", Policy: "least_request",
			Server: "vllm", ServerModel: "openai/gpt-oss-120b",
			APIPath: "/v1", ModelSettings: contract.ModelSettings{
				ContextLength:      65536,
				MaxReasoningTokens: 1000, ThinkingTokenBudget: true,
				ControlTokens: "break", FallbackOnTimeoutMS: 1000,
				RawPrompts: "allow", DropCommentaryFromHistory: true, UnsupportedContent: "drop", Relay: "off",
				History:          contract.History{Calls: "template", Results: "sampled"},
				ReasoningEfforts: contract.Efforts{None: "low", Minimal: "low", XHigh: "refuse", Max: "high"},
				Aliases:          []string{"gpt", "openai/*"}, Translate: "all", Speaks: "auto",
				ExtraBody: `{"ignore":["a"],"seed":1}`, Chat: contract.DefaultModel("").Chat,
				StructuredOutputs: "none", Answers: contract.Answers{
					TokenIDs: true, ContextError: "empty_length",
					ReasoningFields: "none", ReasoningAsSummary: true, ReasoningSummary: "always",
					UndeclaredCalls: "content", MaxChoices: 4,
					Strict: true, Events: "channels", RequireFinalChannel: true, HarmonyMessages: true},
				System:     contract.System{KnowledgeCutoff: "2025-01", Date: "2026-01-02", Effort: "high"},
				Repetition: contract.DefaultModel("").Repetition,
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
		MemoryLimit: contract.DefaultMemoryLimit, PrefixMemory: contract.DefaultPrefixMemory,
		ReasoningRatioAlert: contract.DefaultReasoningAlert,
		Seal:                contract.Seal{LifetimeS: contract.DefaultSealLifetimeS},
		Settings:            contract.Settings{HostedTools: contract.HostedToolsIgnore},
		Models:              []contract.Model{contract.DefaultModel("m")},
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
		", messages: true":      {Pool: "responses-service", Stores: true, HostedTools: true, Messages: true},
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
		p.Health != (Health{Path: "/health", Interval: Duration(DefaultHealthInterval)}) ||
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
		"pools:\n- name: p\n  servers: [http://h:1]\n  health: { intervall: 5s }": "h.yaml:4: pools[0].health.intervall: intervall is " +
			"not a setting; did you mean interval?",
		"envoy: { concurrency: many }": "h.yaml:1: envoy.concurrency: found \"many\" where a " +
			"number is expected",
		"models:\n- name: m\n  drop_commentary_from_history: often": "h.yaml:3: models[0].drop_commentary_from_history: " +
			"found \"often\" where true or false is expected",
		"envoy:\n  concurrency: &none\n  path: e": "h.yaml:2: envoy.concurrency: found nothing where a number is expected",
		"models: hello":       "h.yaml:1: models: found \"hello\" where a list is expected",
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
		{"strict: true }", "strict: true }, route: [{ pool: a, max_prompt: 9 }, { pool: a, max_prompt: 99 }]",
			"models[a].route[0] is new, models[a].route[1] is new"},
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
