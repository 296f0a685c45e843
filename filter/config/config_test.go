package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

func TestRoundTrip(t *testing.T) {
	m := contract.DefaultModel("gpt-oss-120b")
	m.StructuredOutputs = contract.NoStructure
	m.Pool, m.ServerModel, m.System.Date, m.RawPrompts = "a", `openai/"x"`, "2026-01-02", "allow"
	m.ReasoningEfforts, m.DropCommentaryFromHistory, m.ServerExtras = contract.Efforts{
		None: "high", Minimal: contract.EffortRefuse, XHigh: "medium", Max: "low"}, true, []string{}
	m.UnsupportedContent = contract.ContentDrop
	m.History = contract.History{Calls: contract.HistoryTemplate, Results: contract.HistorySampled}
	m.Answers = contract.Answers{ReasoningFields: "none", HideReasoning: true, ReasoningAsSummary: true,
		ReasoningSummary: contract.SummaryAlways, UndeclaredCalls: "content", MaxChoices: 4,
		Strict: true, Events: contract.EventsChannels, RequireFinalChannel: true,
		HarmonyMessages: true, TokenIDs: true, ContextError: contract.ContextEmptyLength}
	m.APIPath, m.Aliases, m.Translate, m.Speaks, m.Marker = "/openai/v1", []string{"gpt", "openai/*"}, "10%",
		contract.SpeaksMarker, "=== “answer” ==="
	m.ExtraBody = `{"a":[1,2.50,{"b":null,"c":"\"é\\"}],"d":{},"e":true}`
	m.Chat = contract.ChatServers{ReasoningHistory: contract.ReasoningThinkTags, ThinkTags: contract.ThinkOff,
		DeveloperRole: contract.DeveloperKeep, LateInstructions: contract.LateUser,
		TemplateKwargs: `{"enable_thinking":false}`}
	divided := contract.DefaultModel("b")
	divided.Server, divided.Prefill = contract.SGLang, contract.Prefill{Cluster: "c", Pool: "p", BootstrapPort: 1,
		Servers: []string{"10.0.0.1:30000", "[fd00::1]:30000"}, OnFailure: contract.PrefillRefuse}
	want := &contract.Config{Schema: contract.Schema, Mode: contract.ModeFull, Passthrough: true, BodyLimit: 1024,
		StallTimeoutMS: 0, MemoryLimit: 1 << 20, ReasoningRatioAlert: 0.75,
		Seal:             contract.Seal{LifetimeS: 60, TenantHeader: "x-tenant"},
		Settings:         contract.Settings{HostedTools: contract.HostedToolsRefuse},
		ResponsesService: contract.ResponsesService{Pool: "s", Stores: true, WebSocket: true},
		Tap:              contract.Tap{Cluster: "t", All: contract.TapSummary},
		Clients: contract.Clients{By: contract.ClientsByKey, Keys: []string{strings.Repeat("0a", 32) + " a"},
			Deputies: []string{"a"}, Context: 5, Contexts: []string{"a 0", "a 7 m"}, Counted: []string{"a"},
			Paths: []string{"/v1/"}, Reserve: true, ExpectedAnswer: 7},
		Models: []contract.Model{m, divided}}
	got, err := Parse(AppendJSON(nil, want))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v\nwant %+v", got, want)
	}
	want.Mode, want.Models, want.ResponsesService = contract.ModeReduced, want.Models[:1], contract.ResponsesService{}
	want.Tap.All, want.Clients = contract.TapNone, contract.Clients{By: contract.ClientsByHeader, Header: "x-a",
		Required: true, ExpectedAnswer: contract.DefaultExpectedAnswer}
	want.Models[0].Translate = contract.TranslateAll
	if got, err := Parse(AppendJSON(nil, want)); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
	}
}

// TestServiceTakesAll: a service that is only named keeps responses and runs tools.
func TestServiceTakesAll(t *testing.T) {
	c, err := Parse([]byte(`{"schema":1,"responses_service":{"pool":"p"}}`))
	if err != nil || c.ResponsesService != (contract.ResponsesService{Pool: "p", Stores: true, HostedTools: true}) {
		t.Fatalf("got %+v, %v", c, err)
	}
}

func TestDefaults(t *testing.T) {
	c, err := Parse([]byte(`{"schema":1,"models":[{"name":"m"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &contract.Config{Schema: 1, Mode: contract.ModeFull, BodyLimit: contract.DefaultBodyLimit,
		StallTimeoutMS: contract.DefaultStallTimeoutMS, MemoryLimit: contract.DefaultMemoryLimit,
		PrefixMemory: contract.DefaultPrefixMemory, ReasoningRatioAlert: contract.DefaultReasoningAlert,
		Seal:     contract.Seal{LifetimeS: contract.DefaultSealLifetimeS},
		Settings: contract.Settings{HostedTools: contract.HostedToolsIgnore},
		Models:   []contract.Model{contract.DefaultModel("m")}}
	if !reflect.DeepEqual(c, want) {
		t.Fatalf("got %+v", c)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct{ in, path string }{
		{`{`, ""}, {`[]`, ""}, {`{}`, "schema"}, {`{"schema":2}`, "schema"}, {`{"schema":1,"x":1}`, "x"},
		{`{"schema":1,"body_limit":0}`, "body_limit"}, {`{"schema":1,"body_limit":1.5}`, "body_limit"},
		{`{"schema":1,"passthrough":1}`, "passthrough"}, {`{"schema":1,"models":{}}`, "models"},
		{`{"schema":1,"memory_limit":0}`, "memory_limit"},
		{`{"schema":1,"reasoning_ratio_alert":1.5}`, "reasoning_ratio_alert"},
		{`{"schema":1,"reasoning_ratio_alert":"0.5"}`, "reasoning_ratio_alert"},
		{`{"schema":1,"mode":"half"}`, "mode"}, {`{"schema":1,"mode":"reduced"}`, "models"},
		{`{"schema":1,"models":[{"name":"a"},{"name":"b"}],"mode":"reduced"}`, "models"},
		{`{"schema":1,"models":[{"name":"a"},{"name":"b"},{"name":"a"}]}`, "models[2].name"},
		{`{"schema":1,"models":[{"name":"a","translate":"10"}]}`, "models[0].translate"},
		{`{"schema":1,"models":[{"name":"a"},{"name":"b","server":"text","translate":"10%"}]}`, "models[1].translate"},
		{`{"schema":1,"models":[{"name":"a","translate":"observe"}],"mode":"reduced"}`, "models[0].translate"},
		{`{"schema":1,"models":[{"name":"a","aliases":["x","a"]}]}`, "models[0].aliases[1]"},
		{`{"schema":1,"models":[{"name":"a","aliases":["x*"]},{"name":"b","aliases":["x*"]}]}`, "models[1].aliases[0]"},
		{`{"schema":1,"models":[{"name":"a","aliases":["**"]}]}`, "models[0].aliases[0]"},
		{`{"schema":1,"models":[{"name":"a","aliases":[1]}]}`, "models[0].aliases[0]"},
		{`{"schema":1,"hosted_tools":"run"}`, "hosted_tools"}, {`{"schema":1,"responses_service":"a"}`, "responses_service"},
		{`{"schema":1,"responses_service":{}}`, "responses_service.pool"},
		{`{"schema":1,"responses_service":{"url":"a"}}`, "responses_service.url"},
		{`{"schema":1,"responses_service":{"pool":"a","stores":1}}`, "responses_service.stores"},
		{`{"schema":1,"responses_service":{"pool":"a","hosted_tools":"ignore"}}`, "responses_service.hosted_tools"},
		{`{"schema":1,"responses_service":{"pool":"a","stores":false,"hosted_tools":false}}`, "responses_service"},
		{`{"schema":1,"responses_service":{"pool":"p"},"models":[{"name":"a","pool":"p"}]}`, "responses_service.pool"},
		{`{"schema":1,"responses_service":{"pool":"p"},"models":[{"name":"a"}],"mode":"reduced"}`, "responses_service"},
		{`{"schema":1,"tap":{}}`, "tap.cluster"}, {`{"schema":1,"tap":{"cluster":""}}`, "tap.cluster"},
		{`{"schema":1,"tap":{"cluster":"t","all":"some"}}`, "tap.all"}, {`{"schema":1,"tap":{"key":"k"}}`, "tap.key"},
		{`{"schema":1,"clients":{}}`, "clients.by"}, {`{"schema":1,"clients":{"by":"header"}}`, "clients.header"},
		{`{"schema":1,"clients":{"by":"key","keys":["x"]}}`, "clients.keys[0]"},
		{`{"schema":1,"clients":{"by":"key","contexts":["a x"]}}`, "clients.contexts[0]"},
		{`{"schema":1,"clients":{"by":"key","contexts":["b 1","a 1"]}}`, "clients"},
		{`{"schema":1,"mode":"reduced","models":[{"name":"a"}],"clients":{"by":"key","reserve":true}}`, "clients.reserve"},
		{`{"schema":1,"models":[1]}`, "models[0]"}, {`{"schema":1,"models":[{}]}`, "models[0].name"},
		{`{"schema":1,"models":[{"name":"a"},{"name":"a"}]}`, "models[1].name"},
		{`{"schema":1,"models":[{"name":"a","server":"x"}]}`, "models[0].server"},
		{`{"schema":1,"models":[{"name":"a","raw_prompts":true}]}`, "models[0].raw_prompts"},
		{`{"schema":1,"models":[{"name":"a","reasoning_efforts":{"max":"utmost"}}]}`, "models[0].reasoning_efforts.max"},
		{`{"schema":1,"models":[{"name":"a","reasoning_efforts":{"low":"high"}}]}`, "models[0].reasoning_efforts.low"},
		{`{"schema":1,"models":[{"name":"a","reasoning_efforts":"low"}]}`, "models[0].reasoning_efforts"},
		{`{"schema":1,"models":[{"name":"a","drop_commentary_from_history":1}]}`, "models[0].drop_commentary_from_history"},
		{`{"schema":1,"models":[{"name":"a","history":{"calls":"as the model"}}]}`, "models[0].history.calls"},
		{`{"schema":1,"models":[{"name":"a","unsupported_content":"keep"}]}`, "models[0].unsupported_content"},
		{`{"schema":1,"models":[{"name":"a","server_extras":["top_k","ignore_eos"]}]}`, "models[0].server_extras[1]"},
		{`{"schema":1,"models":[{"name":"a","server_extras":"top_k"}]}`, "models[0].server_extras"},
		{`{"schema":1,"models":[{"name":"a","api_path":"v1"}]}`, "models[0].api_path"},
		{`{"schema":1,"models":[{"name":"a","api_path":"/v1/"}]}`, "models[0].api_path"},
		{`{"schema":1,"models":[{"name":"a","aliases":"b"}]}`, "models[0].aliases"},
		{`{"schema":1,"models":[{"name":"a","aliases":["b","a*b*"]}]}`, "models[0].aliases[1]"},
		{`{"schema":1,"models":[{"name":"a","aliases":[7]}]}`, "models[0].aliases[0]"},
		{`{"schema":1,"models":[{"name":"a","translate":"101%"}]}`, "models[0].translate"},
		{`{"schema":1,"models":[{"name":"a","speaks":"x-"}]}`, "models[0].speaks"},
		{`{"schema":1,"models":[{"name":"a","marker":" "}]}`, "models[0].marker"},
		{`{"schema":1,"models":[{"name":"a","extra_body":"{}"}]}`, "models[0].extra_body"},
		{`{"schema":1,"models":[{"name":"a","chat":{"template_kwargs":[]}}]}`, "models[0].chat.template_kwargs"},
		{`{"schema":1,"models":[{"name":"a","chat":{"think_tags":"on"}}]}`, "models[0].chat.think_tags"},
		{`{"schema":1,"models":[{"name":"a","answers":{"context_error":"none"}}]}`, "models[0].answers.context_error"},
		{`{"schema":1,"models":[{"name":"a","extra_body":` + strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40) +
			`}]}`, ""},
		{`{"schema":1,"models":[{"name":"a","answers":[]}]}`, "models[0].answers"},
		{`{"schema":1,"models":[{"name":"a","answers":{"events":"tokens"}}]}`, "models[0].answers.events"},
		{`{"schema":1,"models":[{"name":"a","answers":{"require_final_channel":1}}]}`,
			"models[0].answers.require_final_channel"},
		{`{"schema":1,"models":[{"name":"a","answers":{"harmony_messages":1}}]}`, "models[0].answers.harmony_messages"},
		{`{"schema":1,"models":[{"name":"a","answers":{"reasoning_fields":"x"}}]}`, "models[0].answers.reasoning_fields"},
		{`{"schema":1,"models":[{"name":"a","answers":{"undeclared_calls":""}}]}`, "models[0].answers.undeclared_calls"},
		{`{"schema":1,"models":[{"name":"a","answers":{"max_choices":129}}]}`, "models[0].answers.max_choices"},
		{`{"schema":1,"models":[{"name":"a","answers":{"strict":1}}]}`, "models[0].answers.strict"},
		{`{"schema":1,"models":[{"name":"a","answers":{"colour":1}}]}`, "models[0].answers.colour"},
		{`{"schema":1,"models":[{"name":"a","structured_outputs":"json"}]}`, "models[0].structured_outputs"},
		{`{"schema":1,"models":[{"name":"a","system":{"date":"today"}}]}`, "models[0].system.date"},
		{`{"schema":1,"models":[{"name":"a","system":{"date":"2026-13-01"}}]}`, "models[0].system.date"},
		{`{"schema":1,"models":[{"name":"a","system":{"colour":"red"}}]}`, "models[0].system.colour"},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.in))
		e, ok := err.(*Error)
		if !ok || e.Path != tt.path {
			t.Errorf("%s: got %v, want an error at %q", tt.in, err, tt.path)
		}
	}
}
