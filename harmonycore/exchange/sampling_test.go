package exchange

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// sent is what a server is asked for, or the error that the client gets instead.
func sent(t *testing.T, members string) (map[string]any, string) {
	t.Helper()
	extras := func(o *Options) {
		o.Models[0].ServerExtras = []string{"top_k", "min_tokens", "stop_token_ids"}
	}
	x := testGateway(extras).Begin("POST", "/v1/chat/completions")
	a := x.Request([]byte(`{"model":"`+testModel+`",`+members+`"messages":[{"role":"user","content":"Hi"}]}`),
		Host{Now: testNow, ID: testID})
	if a.Reply != nil {
		return nil, string(a.Reply.Body)
	}
	body := map[string]any{}
	if err := json.Unmarshal(a.Forward.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body, ""
}

func TestSampling(t *testing.T) {
	body, _ := sent(t, "")
	for _, name := range []string{"temperature", "top_p"} {
		if body[name] != 1.0 {
			t.Errorf("%s is %v, not gpt-oss's own", name, body[name])
		}
	}
	for _, name := range []string{"seed", "presence_penalty", "frequency_penalty", "logit_bias", "top_k", "min_tokens"} {
		if body[name] != nil {
			t.Errorf("%s is sent but was not asked for", name)
		}
	}
	body, _ = sent(t, `"temperature":0,"top_p":0,"logit_bias":{"199997":-100},"top_k":3,"min_p":1,"stop_token_ids":[7,`+
		`200012,200007,7],`)
	bias, _ := body["logit_bias"].(map[string]any)
	stops, _ := body["stop_token_ids"].([]any)
	if body["temperature"] != 0.0 || body["top_p"] != 1e-6 || bias["199997"] != -100.0 || body["top_k"] != 3.0 ||
		body["min_p"] != nil ||
		!slices.Equal(stops, []any{200002.0, 200012.0, 7.0, 200007.0}) {
		t.Errorf("got %v", body)
	}
	for members, param := range map[string]string{
		`"logit_bias":{"200012":1},`:            `"logit_bias.200012"`,
		`"logit_bias":{"4294967295":1},`:        `"logit_bias.4294967295"`,
		`"stop_token_ids":[201088],`:            `"stop_token_ids[0]"`,
		`"max_tokens":3,"min_tokens":4,`:        `"min_tokens"`,
		`"max_tokens":99999,"min_tokens":9999,`: `"min_tokens"`,
	} {
		if _, failure := sent(t, members); !strings.Contains(failure, `"param":`+param) ||
			!strings.Contains(failure, "invalid_value") {
			t.Errorf("%s: %s", members, failure)
		}
	}
}

// TestStopTokens: one of the client's own ends an answer without a trace, whatever the server sends with it.
func TestStopTokens(t *testing.T) {
	const body = `{"model":"` + testModel + `","stop_token_ids":[1920],"messages":[{"role":"user","content":"Hi"}]}`
	x := forwarded(t, testGateway(func(o *Options) { o.Models[0].ServerExtras = []string{"stop_token_ids"} }),
		"/v1/chat/completions", body)
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
	a := x.ResponseBody([]byte(serverChunk(0, "<|channel|>final<|message|>One two", "stop")+serverUsage+serverDone), true)

	if !strings.Contains(string(a.Body), `"content":"One"`) ||
		!strings.Contains(string(a.Body), `"finish_reason":"stop"`) {
		t.Errorf("%s", a.Body)
	}
}

// TestMidnight: the day changes in the middle of a conversation, between a call and its result, and only the date does.
func TestMidnight(t *testing.T) {
	const before = `{"role":"user","content":"Hi"}`
	const after = before + `,{"role":"assistant","reasoning":"I look.","tool_calls":[{"id":"c1","type":"function",` +
		`"function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":"r"}`
	prompt := func(date string, now int64, messages string) string {
		t.Helper()
		g := testGateway(func(o *Options) { o.Models[0].System.Date = date })
		a := g.Begin("POST", "/v1/chat/completions").Request([]byte(`{"model":"`+testModel+`","messages":[`+messages+`]}`),
			Host{Now: now, ID: testID})
		var body struct{ Prompt []uint32 }
		if a.Forward == nil || json.Unmarshal(a.Forward.Body, &body) != nil {
			t.Fatalf("not forwarded: %+v", a)
		}
		return g.options.Tokenizer.DecodeString(body.Prompt)
	}
	const open = "<|start|>assistant"
	for _, tt := range []struct {
		name        string
		date        string
		first, then string
	}{
		{"the day", contract.DateUTC, "Current date: 2026-01-02\n", "Current date: 2026-01-03\n"},
		{"fixed", "2025-06-30", "Current date: 2025-06-30\n", "Current date: 2025-06-30\n"},
		{"omitted", contract.DateOmit, "", ""},
	} {
		last, next := prompt(tt.date, testNow, before), prompt(tt.date, testNow+1000, after)
		kept, ok := strings.CutSuffix(last, open)
		if tt.first != "" && !strings.Contains(last, tt.first) || tt.first == "" && strings.Contains(last, "Current date") ||
			!ok {
			t.Errorf("%s: before midnight %q", tt.name, last)
		}
		if want := strings.Replace(kept, tt.first, tt.then, 1); !strings.HasPrefix(next, want) {
			t.Errorf("%s: after midnight %q, want it to begin with %q", tt.name, next, want)
		}
	}
}
