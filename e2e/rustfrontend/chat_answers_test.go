//go:build rustfrontend

package rustfrontend_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// rustSays makes the engine behind a front end answer with a script. It has the engine's requests.
func rustSays(t *testing.T, p *rustPlace, script string, o sim.Options) *sim.Server {
	t.Helper()
	s, err := sim.ReadScript(strings.NewReader(`{"text":`+lab.Quote(script)+`}`), lab.Vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	o.Models, o.Script, o.AnyPrompt = []string{lab.Model}, s, true
	engine := sim.New(o)
	t.Cleanup(engine.Close)
	p.engine.Store(engine)
	return engine
}

// beforeRustChat is the filter in Envoy before a front end's conversations. settings are a case's.
func beforeRustChat(t *testing.T, p *rustPlace, settings map[string]string) *hosts.Host {
	t.Helper()
	c := &cases.Case{Settings: settings}
	config, err := c.On(contract.Chat).Config(p.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return lab.RunEnvoy(t, config)
}

const (
	thinkAndCall = "<|channel|>analysis<|message|>Look it up.<|end|><|start|>assistant<|channel|>commentary<|message|>" +
		"I look.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>" +
		`{"city":"Oslo"}<|call|>`
	sayHi       = `"messages":[{"role":"user","content":"Hi"}]`
	weatherTool = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",` +
		`"properties":{"city":{"type":"string"}}}}}]`
)

// rustID finds the id of an answer. A front end makes it of the request's id, which the gateway sends.
var rustID = regexp.MustCompile(`"id":"chatcmpl[-_][^"]*"`)

// TestRustFrontEndChatPasses sends Chat requests to a front end, and to the gateway before it. The answers must be the
// same, apart from ids and times.
func TestRustFrontEndChatPasses(t *testing.T) {
	p := runFrontEnd(t, 0)
	host := beforeRustChat(t, p, map[string]string{})
	ask := func(url, body string) lab.Answer {
		rustSays(t, p, thinkAndCall, sim.Options{TokensPerChunk: 3})
		a := lab.Ask(lab.HTTP1(t), url+lab.ChatPath, body)
		a.Body = rustID.ReplaceAllString(cases.Normalise(a.Body), `"id":"chatcmpl"`)
		return a
	}
	for _, tt := range []struct{ name, body string }{
		{"whole", sayHi + "," + weatherTool},
		{"stream", sayHi + "," + weatherTool + `,"stream":true`},
		{"usage", sayHi + "," + weatherTool + `,"stream":true,"stream_options":{"include_usage":true}`},
		{"continuous usage", sayHi +
			`,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`},
		{"logprobs and ids", sayHi + `,"logprobs":true,"top_logprobs":2,"return_token_ids":true`},
		{"streamed logprobs and ids", sayHi +
			`,"logprobs":true,"top_logprobs":2,"return_token_ids":true,"stream":true`},
		{"no reasoning", sayHi + `,"include_reasoning":false`},
		{"limit", sayHi + `,"max_tokens":6`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := fmt.Sprintf(`{"model":%q,%s}`, lab.Model, tt.body)
			got, want := ask(host.URL, body), ask(p.server.URL, body)
			if got.Status != 200 || want.Status != 200 || got.Body != want.Body {
				t.Errorf("%d: %s\nwant %d: %s", got.Status, got.Body, want.Status, want.Body)
			}
		})
	}
}

// TestRustFrontEndChatRefused sends Chat requests that the front end refuses. The client gets what it says, in OpenAI's
// form and with OpenAI's code.
func TestRustFrontEndChatRefused(t *testing.T) {
	p := runFrontEnd(t, 0)
	host := beforeRustChat(t, p, map[string]string{})
	for _, tt := range []struct{ name, body, code, message string }{
		{"choices", sayHi + `,"n":2`, "invalid_request", "Only n=1 is supported."},
		{"no tools", sayHi + `,"tools":[]`, "invalid_request", "`tools` must not be an empty array."},
		{"no messages", `"messages":[]`, "invalid_request", "messages cannot be empty"},
		{"wrong type", sayHi + `,"temperature":"hot"`, "invalid_request", "invalid type: string"},
		{"unknown role", `"messages":[{"role":"robot","content":"Hi"}]`, "invalid_request",
			"chat role `robot` is not supported"},
		{"too long", `"messages":[{"role":"user","content":"` + strings.Repeat("x ", 140_000) + `"}]`,
			"context_length_exceeded", "However, your prompt contains 140068 input tokens"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := lab.Ask(lab.HTTP1(t), host.URL+lab.ChatPath, fmt.Sprintf(`{"model":%q,%s}`, lab.Model, tt.body))
			lab.WantRefused(t, a, 400, tt.code)
			if !strings.Contains(a.Body, tt.message) {
				t.Error(a.Body)
			}
		})
	}
}

// TestRustFrontEndChatErrors has answers that the front end's parser refuses. It says so under status 500, or within
// the stream. An answer that max_tokens cuts in a header is one of them.
func TestRustFrontEndChatErrors(t *testing.T) {
	p := runFrontEnd(t, 0)
	host := beforeRustChat(t, p, map[string]string{})
	const (
		says = `"message":"harmony output parsing failed: `
		cut  = "<|channel|>analysis<|message|>One two three four five six seven eight.<|end|><|start|>assistant" +
			"<|channel|>final<|message|>Nine.<|return|>" // the 16th token is in a header
		early = says + "Unexpected EOS while waiting for message header to complete"
	)
	for _, tt := range []struct {
		name, script, more string
		status             int
		want               string
	}{
		{"no header", "Hello.<|return|>", "", 500, early},
		{"no header, streamed", "Hello.<|return|>", `,"stream":true`, 500, early},
		{"two ends", "<|channel|>analysis<|message|>Easy.<|end|><|end|>", `,"stream":true`, 200,
			`"error":{"code":"server_error",` + says + `Unexpected token 200007 while expecting start token 200006"`},
		{"cut in a header", cut, `,"max_output_tokens":16`, 500, early},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rustSays(t, p, tt.script, sim.Options{})
			a := lab.Ask(lab.HTTP1(t), host.URL+lab.ResponsesPath,
				fmt.Sprintf(`{"model":%q,"input":"Hi"%s}`, lab.Model, tt.more))
			if a.Status != tt.status || !strings.Contains(a.Body, tt.want) {
				t.Errorf("%d: %s", a.Status, a.Body)
			}
		})
	}
}

// TestRustFrontEndChatHistory sends reasoning back. The front end refuses a message with reasoning in two members, and
// renders it in either one.
func TestRustFrontEndChatHistory(t *testing.T) {
	p := runFrontEnd(t, 0)
	body := fmt.Sprintf(`{"model":%q,"input":[{"role":"user","content":"Hi"},{"type":"reasoning","id":"rs_1",`+
		`"summary":[],"content":[{"type":"reasoning_text","text":"Look it up."}]},{"type":"function_call","call_id":"c1",`+
		`"name":"get_weather","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"Rain."}]}`,
		lab.Model)
	for member, status := range map[string]int{
		contract.ReasoningBoth: 400, contract.ReasoningOnly: 200, contract.ReasoningContentOnly: 200,
	} {
		t.Run(member, func(t *testing.T) {
			host := beforeRustChat(t, p, map[string]string{"reasoning_history": member})
			engine := rustSays(t, p, "<|channel|>final<|message|>It rains.<|return|>", sim.Options{})
			a := lab.Ask(lab.HTTP1(t), host.URL+lab.ResponsesPath, body)
			if a.Status != status {
				t.Fatalf("%d: %s", a.Status, a.Body)
			}
			if status != 200 {
				if !strings.Contains(a.Body, "duplicate field `reasoning`") {
					t.Error(a.Body)
				}
				return
			}
			const turn = "<|start|>assistant<|channel|>analysis<|message|>Look it up.<|end|><|start|>assistant<|channel|>" +
				"commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>"
			if got := lab.Vocabulary.DecodeString(engine.Requests()[0].PromptIDs); !strings.Contains(got, turn) {
				t.Errorf("the prompt is %s", got)
			}
		})
	}
}

// TestRustFrontEndChatCounts counts tokens by the front end's /tokenize.
func TestRustFrontEndChatCounts(t *testing.T) {
	p := runFrontEnd(t, 0)
	host := beforeRustChat(t, p, map[string]string{})
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/responses/input_tokens", `"input":"Hi"`, `{"object":"response.input_tokens","input_tokens":68}`},
		{"/tokenize", sayHi, `{"count":68,"max_model_len":131072,"tokens":[200006,17360,200008,`},
		{"/detokenize", `"tokens":[12194]`, `{"prompt":"Hi"}`},
	} {
		a := lab.Ask(lab.HTTP1(t), host.URL+tt.path, fmt.Sprintf(`{"model":%q,%s}`, lab.Model, tt.body))
		if a.Status != 200 || !strings.HasPrefix(a.Body, tt.want) {
			t.Errorf("%s: %d: %s", tt.path, a.Status, a.Body)
		}
	}
}

// TestRustFrontEndChatLoop is an agent that sends the messages of the gateway's answers back as they came. The gateway
// has made the answers, so each message has its reasoning in two members, which may be null. The front end refuses such
// a message, so the gateway sends it one of them: with its text.
func TestRustFrontEndChatLoop(t *testing.T) {
	p := runFrontEnd(t, 0)
	for _, history := range []string{contract.ReasoningContentOnly, contract.ReasoningOnly, contract.ReasoningNone} {
		t.Run(history, func(t *testing.T) {
			host := beforeRustChat(t, p, map[string]string{"max_choices": "1", "reasoning_history": history})
			messages := `{"role":"user","content":"Weather in Oslo?"}`
			for turn, script := range []string{thinkAndCall, "<|channel|>final<|message|>It rains.<|return|>",
				"<|channel|>final<|message|>You are welcome.<|return|>"} {
				engine := rustSays(t, p, script, sim.Options{})
				a := lab.Ask(lab.HTTP1(t), host.URL+lab.ChatPath, fmt.Sprintf(`{"model":%q,"messages":[%s],%s}`, lab.Model,
					messages, weatherTool))
				var answer struct {
					Choices []struct {
						Message struct {
							Calls []struct{ ID string } `json:"tool_calls"`
						}
					}
				}
				if err := json.Unmarshal([]byte(a.Body), &answer); a.Status != 200 || err != nil || len(answer.Choices) != 1 {
					t.Fatalf("turn %d: %d, %v: %s", turn, a.Status, err, a.Body)
				}
				_, message, _ := strings.Cut(a.Body, `"message":`)
				message, _, _ = strings.Cut(message, `,"logprobs":`)
				if !strings.Contains(message, `"reasoning":`) || !strings.Contains(message, `"reasoning_content":`) {
					t.Fatalf("the gateway's answer has its reasoning once: %s", message)
				}
				if got := lab.Vocabulary.DecodeString(engine.Requests()[0].PromptIDs); turn == 1 &&
					!strings.Contains(got, "<|channel|>analysis<|message|>Look it up.<|end|>") {
					t.Errorf("the reasoning is lost: %s", got)
				}
				messages += "," + message
				if calls := answer.Choices[0].Message.Calls; len(calls) > 0 {
					messages += fmt.Sprintf(`,{"role":"tool","tool_call_id":%q,"content":"Rain."}`, calls[0].ID)
				} else {
					messages += `,{"role":"user","content":"Thanks."}`
				}
			}
		})
	}
}
