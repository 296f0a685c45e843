package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

func withDefaults(object string) *Gateway {
	return testGateway(func(o *Options) {
		o.Models[0].ExtraBody = contract.Object(object)
		o.Models[0].ServerExtras = contract.DefaultExtras()
	})
}

// TestDefaults: the operator's members stand in the server's request where the client has left them open.
func TestDefaults(t *testing.T) {
	operator := `{"temperature":0.6,"top_p":0.95,"top_k":20,"min_tokens":4,"seed":7,"max_tokens":100,"stop_token_ids":[9],` +
		`"logit_bias":{"11":-5},"mm_processor_kwargs":{"a":[1, 2]},"x\"y":null}`
	for _, tt := range []struct{ client, want string }{
		{``, `max_tokens=100 temperature=0.6 top_p=0.95 top_k=20 min_tokens=4 seed=7 stop_token_ids=[200002,200012,9] ` +
			`logit_bias={"11":-5} mm_processor_kwargs={"a":[1,2]} x"y=null`},
		{`"temperature":1,"top_k":-1,"seed":8,"logit_bias":{"12":1},"stop_token_ids":[10],`,
			`max_tokens=100 temperature=1 top_p=0.95 top_k=-1 min_tokens=4 seed=8 stop_token_ids=[200002,200012,10] ` +
				`logit_bias={"12":1} mm_processor_kwargs={"a":[1,2]} x"y=null`},
		{`"max_tokens":2,"priority":1,`, `max_tokens=2 temperature=0.6 top_p=0.95 top_k=20 min_tokens= seed=7 ` +
			`stop_token_ids=[200002,200012,9] logit_bias={"11":-5} mm_processor_kwargs={"a":[1,2]} x"y=null priority=`},
	} {
		body := `{"model":"` + testModel + `",` + tt.client + `"messages":[{"role":"user","content":"Hi"}]}`
		sent := forwardedBody(t, withDefaults(operator), "/v1/chat/completions", body)
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(sent), &members); err != nil {
			t.Fatal(err)
		}
		for _, want := range strings.Fields(tt.want) {
			name, value, _ := strings.Cut(want, "=")
			if string(members[name]) != value {
				t.Errorf("%s: %s is %s, want %s", tt.client, name, members[name], value)
			}
		}
	}
}

// TestDefaultsAreEchoed: a response says what was in effect.
func TestDefaultsAreEchoed(t *testing.T) {
	g := withDefaults(`{"temperature":0.6,"top_p":0.95,"max_output_tokens":100,"presence_penalty":0.5,"thinking_token_budget":9}`)
	x := forwarded(t, g, "/v1/responses", `{"model":"`+testModel+`","input":"Hi","top_p":0.5}`)
	got := outcome(t, x, []string{answerOf("<|channel|>final<|message|>Hi<|return|>"), ""})
	for _, want := range []string{`"temperature":0.6,`, `"top_p":0.5,`, `"max_output_tokens":100,`,
		`"presence_penalty":0.5,`,
		`"frequency_penalty":0,`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

// TestDefaultsNeverDouble: no member that a kind's request can have is one that an operator could add a second time.
func TestDefaultsNeverDouble(t *testing.T) {
	budget := 1
	r := &backend.Request{
		Model: "m", Prompt: []uint32{1}, PromptText: []byte("p"), MaxTokens: 1, Choices: 2, Logprobs: true, TopLogprobs: 1,
		StopTokens: []uint32{1}, ThinkingBudget: &budget, StructuralTag: []byte(`{"type":"structural_tag"}`), TokenIDs: true,
		Sampling: backend.Sampling{Temperature: "1", TopP: "1", PresencePenalty: "1", FrequencyPenalty: "1", Seed: "1",
			LogitBias: []backend.Bias{{Token: 1, Value: "1"}}},
	}
	for _, name := range contract.KnownExtras() {
		if name != "stop_token_ids" && name != "chat_template_kwargs" {
			r.Sampling.Extras = append(r.Sampling.Extras, backend.Member{Name: name, JSON: "1"})
		}
	}
	for _, name := range contract.ServerKinds() {
		kind, ok := backend.Named(name)
		if !ok || kind.Facts().Conversations {
			continue
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(kind.AppendRequest(nil, r), &members); err != nil {
			t.Fatal(err)
		}
		for _, member := range slices.Sorted(maps.Keys(members)) {
			d, err := openai.ReadDefaults(contract.Object(fmt.Sprintf("{%q:1}", member)), kind.Facts())
			if err == nil && len(d.Rest()) > 0 {
				t.Errorf("%s: %s could stand twice", name, member)
			}
		}
	}
}

// TestOverrides: what the operator sets for all clients stands in place of theirs, for prompts and for conversations.
func TestOverrides(t *testing.T) {
	const (
		overrides = `{"temperature":1.0,"top_k":-1,"max_tokens":99,"seed":3,"logit_bias":{"11":-5},"stop_token_ids":[9]}`
		extras    = `{"temperature":0.5,"top_p":0.9,"min_p":0.1}`
		client    = `"temperature":0.2,"top_k":5,"seed":4,"min_tokens":100,"top_p":0.8,"stop_token_ids":[10],` +
			`"logit_bias":{"12":1}`
		none = `temperature=1.0 top_k=-1 max_tokens=99 seed=3 logit_bias={"11":-5} min_p=0.1 top_p=`
	)
	for _, tt := range []struct{ path, client, want string }{
		{contract.ChatPath, `"messages":[{"role":"user","content":"Hi"}]`, none + "0.9 min_tokens="},
		{contract.ChatPath, `"messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":2,` + client, none + "0.8"},
		{contract.ResponsesPath, `"input":"Hi"`, none + "0.9 min_tokens="},
		{contract.ResponsesPath, `"input":"Hi","max_output_tokens":20,` + strings.Replace(client, `"seed":4,`, "", 1),
			none + "0.8 min_tokens="},
	} {
		for _, kind := range []string{contract.VLLM, contract.Chat} {
			g := testGateway(func(o *Options) {
				m := &o.Models[0]
				m.Server, m.ServerExtras = kind, contract.DefaultExtras()
				m.ExtraBody, m.SamplingOverrides = extras, overrides
			})
			sent := forwardedBody(t, g, tt.path, `{"model":"`+testModel+`",`+tt.client+`}`)
			var members map[string]json.RawMessage
			if err := json.Unmarshal([]byte(sent), &members); err != nil {
				t.Fatal(err)
			}
			for _, want := range strings.Fields(tt.want) {
				name, value, _ := strings.Cut(want, "=")
				if string(members[name]) != value {
					t.Errorf("%s %s: %s is %s, want %s", kind, tt.client, name, members[name], value)
				}
				if n := strings.Count(sent, `"`+name+`":`); n > 1 {
					t.Errorf("%s %s: %s stands %d times", kind, tt.client, name, n)
				}
			}
			if members["max_completion_tokens"] != nil || kind == contract.Chat && string(members["stop_token_ids"]) != "[9]" {
				t.Errorf("%s %s: sent %s", kind, tt.client, sent)
			}
		}
	}
}

// TestOverridesAreEchoed: a response says what was in effect.
func TestOverridesAreEchoed(t *testing.T) {
	g := testGateway(func(o *Options) { o.Models[0].SamplingOverrides = `{"temperature":1.0,"max_tokens":50}` })
	x := forwarded(t, g, "/v1/responses", `{"model":"`+testModel+`","input":"Hi","temperature":0.5,"top_p":0.5}`)
	got := outcome(t, x, []string{answerOf("<|channel|>final<|message|>Hi<|return|>"), ""})
	for _, want := range []string{`"temperature":1.0,`, `"top_p":0.5,`, `"max_output_tokens":50,`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

func TestDefaultsRefused(t *testing.T) {
	for _, tt := range []struct{ kind, object, param string }{
		{contract.VLLM, `{"stream":false}`, "stream"}, {contract.VLLM, `{"temperature":3}`, "temperature"},
		{contract.VLLM, `{"top_k":"x"}`, "top_k"}, {contract.VLLM, `{"guided_json":{}}`, "guided_json"},
		{contract.VLLM, `{"ignore_eos":true}`, "ignore_eos"}, {contract.VLLM, `{"logit_bias":{"a":1}}`, "logit_bias.a"},
		{contract.Ollama, `{"min_tokens":1}`, "min_tokens"}, {contract.Ollama, `{"logit_bias":{}}`, "logit_bias"},
		{contract.LlamaCPP, `{"stop_token_ids":[1]}`, "stop_token_ids"}, {contract.TRTLLM, `{"priority":1}`, "priority"},
		{contract.VLLM, `{"a":`, ""},
	} {
		if _, err := openai.ReadDefaults(contract.Object(tt.object), contract.KindNamed(tt.kind)); err == nil ||
			err.Param != tt.param {
			t.Errorf("%s %s: %v", tt.kind, tt.object, err)
		}
	}
}
