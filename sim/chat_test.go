package sim

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/sim/server"
)

const (
	// reasonedCall is an answer with reasoning, a preamble and two calls.
	reasonedCall = "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>commentary<|message|>One " +
		"moment 🪿.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>" +
		`{"city":"Rome"}<|call|><|start|>assistant<|channel|>commentary to=functions.run<|message|>print("é")<|call|>`
	chatTools = `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":` +
		`{"city":{"type":"string"},"days":{"type":"integer"}}}}},{"type":"function","function":{"name":"run","parameters":` +
		`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}}]`
	hi = `"messages":[{"role":"user","content":"Hi"}]`
)

func chatScript(text string) *Script { return NewScript(Line{Match: "Hi", Tokens: encode(text)}) }

// askChat returns the status and the body of the answer of a chat server.
func askChat(t *testing.T, o Options, body string) (int, string) {
	t.Helper()
	o.Kind = Chat
	_, url := start(t, o)
	return ask(t, url+"/v1/chat/completions", body)
}

// TestChatForms checks where the reasoning and the calls of an answer are, in each form.
func TestChatForms(t *testing.T) {
	const preamble, calls = "One moment 🪿.", `{"city":"Rome"}|{"input":"print(\"é\")"}`
	raw := strings.TrimSuffix(reasonedCall[:strings.Index(reasonedCall, "<|call|>")], "<|call|>")
	for _, tt := range []struct{ form, reasoning, reasoningContent, content, calls, finish string }{
		{ChatReasoningContent, "", "I look.", preamble, calls, "tool_calls"},
		{ChatReasoning, "I look.", "", preamble, calls, "tool_calls"},
		{ChatBoth, "I look.", "I look.", preamble, calls, "tool_calls"},
		{ChatThink, "", "", "<think>I look.</think>" + preamble, calls, "tool_calls"},
		{ChatOpened, "", "", "I look.</think>" + preamble, calls, "tool_calls"},
		{ChatMarker, "", "", "I look.===FINAL===" + preamble, calls, "tool_calls"},
		{ChatHarmony, "", "", raw, "", "stop"},
	} {
		for _, size := range []int{1, 3, AllTokens} {
			for _, stream := range []string{"true", "false"} {
				o := Options{ChatForm: tt.form, Script: chatScript(reasonedCall), TokensPerChunk: size}
				status, got := askChat(t, o, `{`+hi+chatTools+`,"stream":`+stream+`}`)
				m := joinChat(t, got)
				if status != 200 || m.Reasoning != tt.reasoning || m.ReasoningContent != tt.reasoningContent ||
					m.Content != tt.content || strings.Join(m.arguments, "|") != tt.calls || m.finish != tt.finish {
					t.Errorf("%s, stream %s, %d tokens: status %d, %+v\n%s", tt.form, stream, size, status, m, got)
				}
			}
		}
	}
}

// chatAnswered is what a client has of an answer.
type chatAnswered struct {
	Content          string `json:"content"`
	Reasoning        string `json:"reasoning"`
	ReasoningContent string `json:"reasoning_content"`
	ToolCalls        []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	arguments, names []string
	finish           string
	ids, promptIDs   []uint32
}

// joinChat joins the chunks of a stream, or reads a whole answer.
func joinChat(t *testing.T, body string) chatAnswered {
	t.Helper()
	var all chatAnswered
	for chunk := range strings.SplitSeq(body, "\n\n") {
		chunk = strings.TrimPrefix(chunk, "data: ")
		if chunk == "[DONE]" || chunk == "" {
			continue
		}
		var c struct {
			Choices []struct {
				Index          int
				Delta, Message *chatAnswered
				Finish         *string  `json:"finish_reason"`
				IDs            []uint32 `json:"token_ids"`
			}
			PromptIDs []uint32 `json:"prompt_token_ids"`
		}
		if err := json.Unmarshal([]byte(chunk), &c); err != nil {
			t.Fatalf("%v in %s", err, chunk)
		}
		all.promptIDs = append(all.promptIDs, c.PromptIDs...)
		for _, choice := range c.Choices {
			if choice.Index > 0 {
				continue
			}
			m := choice.Delta
			if m == nil {
				m = choice.Message
			}
			all.Content += m.Content
			all.Reasoning += m.Reasoning
			all.ReasoningContent += m.ReasoningContent
			for i, call := range m.ToolCalls {
				at := call.Index
				if choice.Message != nil {
					at = i
				}
				if call.ID != "" {
					all.arguments, all.names = append(all.arguments, ""), append(all.names, call.Function.Name)
				}
				all.arguments[at] += call.Function.Arguments
			}
			if choice.Finish != nil {
				all.finish = *choice.Finish
			}
			all.ids = append(all.ids, choice.IDs...)
		}
	}
	return all
}

// TestChatWire checks the bytes of a stream and of a whole answer against what vLLM sends.
func TestChatWire(t *testing.T) {
	const script = "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>"
	o := Options{ChatForm: ChatReasoning, Script: chatScript(script), TokensPerChunk: AllTokens}
	_, url := start(t, func() Options { o.Kind = Chat; return o }())
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(`{`+
		hi+`,"stream":true,"stream_options":{"include_usage":true}}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", "r")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	head := `data: {"id":"chatcmpl-r","object":"chat.completion.chunk","created":`
	got := strings.Split(string(body), "\n\n")
	for i, want := range []string{
		`"model":"gpt-oss-120b","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,` +
			`"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}`,
		`"model":"gpt-oss-120b","choices":[{"index":0,"delta":{"content":"Yes","reasoning":"Hm"},"logprobs":null,` +
			`"finish_reason":"stop","stop_reason":null,"token_ids":null}]}`,
		`"choices":[],"usage":{"prompt_tokens":41,"total_tokens":53,"completion_tokens":12,"completion_tokens_details":` +
			`{"reasoning_tokens":1}}}`,
	} {
		if !strings.HasPrefix(got[i], head) || !strings.HasSuffix(got[i], want) {
			t.Errorf("event %d: %s\nwant %s", i, got[i], want)
		}
	}
	if len(got) != 5 || got[3] != "data: [DONE]" || resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Errorf("%q", got[3:])
	}
	_, whole := ask(t, url+"/v1/chat/completions", `{`+hi+`,"n":2}`)
	for _, want := range []string{`"choices":[{"index":0,"message":{"role":"assistant","content":"Yes","refusal":null,` +
		`"annotations":null,"audio":null,"function_call":null,"reasoning":"Hm"},"logprobs":null,"finish_reason":"stop",` +
		`"stop_reason":null,"token_ids":null,"routed_experts":null},{"index":1,`, `"completion_tokens":24`} {
		if !strings.Contains(whole, want) {
			t.Errorf("%s missing in %s", want, whole)
		}
	}
}

// TestChatTokens checks ids, logprobs, limits and stop strings.
func TestChatTokens(t *testing.T) {
	const script = "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes, I do<|return|>"
	for _, tt := range []struct{ fields, content, finish, has string }{
		{``, "Yes, I do", "stop", ""},
		{`,"return_token_ids":true`, "Yes, I do", "stop", ""},
		{`,"logprobs":true,"top_logprobs":1,"return_tokens_as_token_ids":true`, "Yes, I do", "stop",
			`{"token":"token_id:200005","logprob":-0.125,"bytes":[60,124,99,104,97,110,110,101,108,124,62],` +
				`"top_logprobs":[{"token":"token_id:200005","logprob":-0.125,`},
		{`,"logprobs":true`, "Yes, I do", "stop", `"token":"Yes","logprob":-1.625,"bytes":[89,101,115],"top_logprobs":[]`},
		{`,"max_tokens":11`, "Yes", "length", ""},
		{`,"max_tokens":99,"max_completion_tokens":11`, "Yes", "length", ""},
		{`,"stop":" I"`, "Yes,", "stop", `"stop_reason":" I"`},
		{`,"include_reasoning":false,"logprobs":true,"return_token_ids":true`, "Yes, I do", "stop", `"logprobs":null`},
	} {
		for _, stream := range []string{"true", "false"} {
			status, got := askChat(t, Options{Script: chatScript(script)}, `{`+hi+`,"stream":`+stream+tt.fields+`}`)
			m := joinChat(t, got)
			wantIDs := strings.Contains(tt.fields, "return_token_ids") && !strings.Contains(tt.fields, "false")
			if status != 200 || m.Content != tt.content || m.finish != tt.finish || !strings.Contains(got, tt.has) ||
				wantIDs != (spell(m.ids) == script) || !strings.Contains(tt.fields, "return_token_ids") != (m.promptIDs == nil) {
				t.Errorf("%s, stream %s: status %d, %+v\n%s", tt.fields, stream, status, m, got)
			}
		}
	}
}

// TestChatWholeTokens: vLLM's Harmony parser shows the whole token in which a stop string ends, and other servers do not.
func TestChatWholeTokens(t *testing.T) {
	const script = "<|channel|>final<|message|>Yes, I do<|return|>"
	for form, want := range map[string]string{ChatReasoning: "Yes, I", ChatReasoningContent: "Ye", ChatThink: "Ye"} {
		for _, stream := range []string{"true", "false"} {
			o := Options{Script: chatScript(script), ChatForm: form}
			_, got := askChat(t, o, `{`+hi+`,"stream":`+stream+`,"stop":"s, "}`)
			if m := joinChat(t, got); m.Content != want || m.finish != "stop" {
				t.Errorf("%s, stream %s: %+v", form, stream, m)
			}
		}
	}
}

// TestChatBuiltIn checks that the built-in model answers conversations, calls tools, and keeps to what must be called
// or written.
func TestChatBuiltIn(t *testing.T) {
	const user = `"messages":[{"role":"developer","content":"Be kind."},{"role":"user","content":"What is the weather in Rome?"}`
	schema := `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":` +
		`{"city":{"type":"string"}},"required":["city"]}}}`
	for _, tt := range []struct{ body, content, call string }{
		{user + `]`, "You said: What is the weather in Rome?.", ""},
		{user + `]` + chatTools, "", `get_weather{"city":"Rome"}`},
		{user + `]` + chatTools + `,"tool_choice":"none"`, "You said:", ""},
		{user + `]` + chatTools + `,"tool_choice":{"type":"function","function":{"name":"run"}}`, "", `run{"input":"Rome"}`},
		{hi + chatTools + `,"tool_choice":"required"`, "", "get_weather{"},
		{hi + schema, `{"city":"Hi"}`, ""},
		{user + `,{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":` +
			`"get_weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"18"}]` + chatTools,
			"The tool functions.get_weather answered: 18.", ""},
	} {
		status, got := askChat(t, Options{OpenAIOnly: true}, `{`+tt.body+`}`)
		if status != 200 {
			t.Errorf("%s: status %d\n%s", tt.body, status, got)
			continue
		}
		m := joinChat(t, got)
		if !strings.HasPrefix(m.Content, tt.content) ||
			!strings.HasPrefix(strings.Join(m.names, "")+strings.Join(m.arguments, ""),
				tt.call) || (tt.call == "") != (m.names == nil) {
			t.Errorf("%s: %+v", tt.body, m)
		}
	}
}

// TestChatRefusals checks what the server refuses, and the form of the refusals.
func TestChatRefusals(t *testing.T) {
	call := func(arguments string) string {
		return `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":` +
			arguments + `}}]}`
	}
	openai, noDeveloper, textOnly := Options{OpenAIOnly: true}, Options{NoDeveloper: true}, Options{TextOnly: true}
	for _, tt := range []struct {
		o      Options
		body   string
		status int
		want   string
	}{
		{Options{}, `{}`, 400, `'loc': 'body.messages', 'msg': 'Field required'`},
		{Options{}, `{"messages":[]}`, 400, `at least 1 item`},
		{Options{}, `{"messages":[{"content":"x"}]}`, 400, `body.messages.0.role`},
		{Options{}, `{"messages":[{"role":"critic","content":"x"}]}`, 400, `"message":"Unexpected message role."`},
		{noDeveloper, `{"messages":[{"role":"developer","content":"x"}]}`, 400, `"message":"Unexpected message role."`},
		{Options{}, `{"messages":[{"role":"user"}]}`, 400, `body.messages.0.content`},
		{Options{}, `{"messages":[{"role":"user","content":7}]}`, 400, `Input should be a valid string`},
		{Options{}, `{"messages":[{"role":"user","content":[{"type":"input_text","text":"x"}]}]}`, 400,
			`"message":"Unknown part type: input_text"`},
		{Options{}, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}`, 400, `image_url.url`},
		{textOnly,
			`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,x"}}]}]}`,
			400, `"message":"At most 0 image(s) may be provided in one prompt."`},
		{Options{}, `{"messages":[{"role":"tool","content":"x"}]}`, 400, `tool_call_id`},
		{Options{}, `{"messages":[` + call(`{"a":1}`) + `]}`, 400, `tool_calls`},
		{Options{}, `{"messages":[` + call(`"print(1)"`) + `]}`, 400, `are not a JSON object`},
		{Options{}, `{"messages":[` + call(`"{}"`) + `]}`, 200, `"content":`},
		{openai, `{"messages":[` + call(`"{}"`) + `]}`, 400, `must be followed by tool messages`},
		{openai, `{"messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`, 400,
			`must be a response to a preceeding`},
		{openai, `{` + hi + `,"top_k":1}`, 400, `Unrecognized request argument supplied: top_k`},
		{openai, `{"messages":[{"role":"user","content":"x","id":"m"}]}`, 400,
			`Unrecognized request argument supplied: messages.0.id`},
		{openai, `{` + hi + `,"tools":[{"type":"function","function":{"name":"a.b"}}]}`, 400, `does not match pattern`},
		{Options{}, `{` + hi + `,"tools":[]}`, 400, "`tools` must not be an empty array"},
		{Options{}, `{` + hi + `,"tools":[{"type":"custom","custom":{"name":"x"}}]}`, 400, `Input should be 'function'`},
		{Options{}, `{` + hi + `,"tool_choice":"auto"}`, 400, "When using `tool_choice`, `tools` must be set."},
		{Options{}, `{` + hi + chatTools + `,"tool_choice":{"type":"function","function":{"name":"x"}}}`, 400,
			`does not match any of the specified`},
		{Options{}, `{` + hi + chatTools + `,"tool_choice":{"type":"allowed_tools"}}`, 400, `Invalid value for`},
		{Options{}, `{` + hi + `,"reasoning_effort":"huge"}`, 400, `body.reasoning_effort`},
		{Options{}, `{` + hi + `,"response_format":{"type":"json_schema"}}`, 400, `field must be provided`},
		{Options{}, `{` + hi + `,"response_format":{"type":"grammar"}}`, 400, `Input should be 'text'`},
		{Options{}, `{` + hi + `,"top_logprobs":2}`, 400, "`logprobs` must be set to true"},
		{Options{}, `{` + hi + `,"logprobs":true,"top_logprobs":21}`, 400, `greater than max allowed: 20`},
		{Options{}, `{` + hi + `,"stream_options":{"include_usage":true}}`, 400, `Stream options can only be defined`},
		{Options{}, `{` + hi + `,"model":"other"}`, 404, "The model `other` does not exist."},
		{Options{MaxModelLen: 43}, `{` + hi + `,"max_tokens":10}`, 200, `"completion_tokens":2,`},
		{Options{MaxModelLen: 41}, `{` + hi + `}`, 400, `max_tokens must be at least 1, got 0.`},
		{Options{MaxModelLen: 40}, `{` + hi + `}`, 400, `"message":"Input length (41) exceeds model's maximum ` +
			`context length (40).","type":"BadRequestError","param":null`},
		{Options{MaxModelLen: 60}, `{` + hi + `,"max_tokens":0}`, 400, `max_tokens must be at least 1, got 0.`},
		{Options{Script: chatScript("<|channel|>final<|message|>No<|return|>")}, `{` + hi + chatTools +
			`,"tool_choice":"required"}`, 400, `no function is called`},
		{Options{Script: chatScript("<|channel|>final<|message|>No<|return|>")}, `{` + hi +
			`,"structured_outputs":{"choice":["Yes","No"]}}`, 200, `"content":"No"`},
		{Options{Script: chatScript("<|channel|>final<|message|>No<|return|>")}, `{` + hi +
			`,"structured_outputs":{"choice":["Yes"]}}`, 400, `is none of`},
		{Options{Script: chatScript("<|channel|>final<|message|>No<|return|>")}, `{` + hi +
			`,"structured_outputs":{"regex":"Y.*"}}`, 400, `does not match`},
		{Options{Script: chatScript("<|channel|>final<|message|>No<|return|>")}, `{` + hi +
			`,"structured_outputs":{"json":{"type":"array"}}}`, 400, `the answer is not JSON`},
		{Options{Script: chatScript("<|channel|>final<|message|>No<|return|>")}, `{` + hi +
			`,"response_format":{"type":"json_object"}}`, 400, `the answer is not JSON`},
	} {
		if status, got := askChat(t, tt.o, tt.body); status != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s: status %d\n%s\nwant %s", tt.body, status, got, tt.want)
		}
	}
}

// TestChatServers checks what servers of other makes do: other paths, no streams, no usage, one call.
func TestChatServers(t *testing.T) {
	script := chatScript(reasonedCall)
	_, url := start(t, Options{Kind: Chat, Script: script, APIPath: "/openai/v1", APIKey: "k"})
	for path, want := range map[string]int{"/openai/v1/chat/completions": 401, "/openai/tokenize": 200,
		"/v1/chat/completions": 404, "/tokenize": 404, "/openai/chat/completions": 404} {
		if status, got := ask(t, url+path, `{"prompt":"Hi","model":""}`); status != want {
			t.Errorf("%s: status %d, want %d: %s", path, status, want, got)
		}
	}
	const stream = `,"stream":true,"stream_options":{"include_usage":true}`
	for _, tt := range []struct {
		o           Options
		has, hasNot string
	}{
		{Options{ChatWhole: true}, `"object":"chat.completion"`, "data:"},
		{Options{NoUsage: true}, `"finish_reason":"tool_calls"`, "usage"},
		{Options{OneCall: true}, `"name":"get_weather"`, `"name":"run"`},
	} {
		tt.o.Script = script
		status, got := askChat(t, tt.o, `{`+hi+chatTools+stream+`}`)
		if status != 200 || !strings.Contains(got, tt.has) || strings.Contains(got, tt.hasNot) {
			t.Errorf("%+v: status %d\n%s", tt.o, status, got)
		}
	}
	if _, got := askChat(t, Options{Script: script},
		`{`+hi+chatTools+`,"parallel_tool_calls":false}`); strings.Contains(got, `"run"`) {
		t.Errorf("two calls: %s", got)
	}
}

// TestChatPages checks /tokenize and /detokenize.
func TestChatPages(t *testing.T) {
	s, url := start(t, Options{Kind: Chat, MaxModelLen: 999})
	ask(t, url+"/v1/chat/completions", `{`+hi+chatTools+`}`)
	prompt := await(t, s, completed)[0].PromptIDs
	want := `{"count":` + strconv.Itoa(len(prompt)) + `,"max_model_len":999,"tokens":` + string(server.MustJSON(prompt)) +
		`,"token_strs":null}`
	if _, got := ask(t, url+"/tokenize", `{`+hi+chatTools+`}`); got != want {
		t.Errorf("a conversation: %s\nwant %s", got, want)
	}
	if _, got := ask(t, url+"/tokenize", `{"prompt":"Hi"}`); !strings.HasPrefix(got, `{"count":1,`) {
		t.Errorf("a text: %s", got)
	}
	if _, got := ask(t, url+"/detokenize", `{"tokens":`+string(server.MustJSON(prompt))+`}`); !strings.Contains(got,
		`<|start|>user<|message|>Hi<|end|><|start|>assistant"}`) {
		t.Errorf("text of ids: %s", got)
	}
	for path, body := range map[string]string{"/tokenize": `{}`, "/detokenize": `{"tokens":[-1]}`} {
		if status, got := ask(t, url+path, body); status != 400 {
			t.Errorf("%s %s: status %d %s", path, body, status, got)
		}
	}
}
