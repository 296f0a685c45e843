package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

const weatherTool = `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}]}`

// TestReport: what a stream and a whole answer of the same tokens report is the same.
func TestReport(t *testing.T) {
	const analysis = "<|channel|>analysis<|message|>A B C<|end|><|start|>assistant"
	for _, tt := range []struct {
		name, text string
		want       func(*Report)
	}{
		{"text", analysis + "<|channel|>final<|message|>D E<|return|>", func(r *Report) {
			r.Reasoning, r.Final, r.CompletionTokens, r.Finish = 3, 2, 15, FinishStop
			r.Messages[translate.AnalysisChannel], r.Messages[translate.FinalChannel] = 1, 1
		}},
		{"call", analysis + "<|channel|>commentary to=functions.get_weather<|message|>{}<|call|>", func(r *Report) {
			r.Reasoning, r.ToolCall, r.Calls, r.CompletionTokens, r.Finish = 3, 1, 1, 20, FinishToolCalls
			r.Messages[translate.AnalysisChannel], r.Messages[translate.CommentaryChannel] = 1, 1
		}},
		{"preamble", analysis + "<|channel|>commentary<|message|>F G H<|end|><|start|>assistant" +
			"<|channel|>final<|message|>D E<|return|>", func(r *Report) {
			r.Reasoning, r.Preamble, r.Final, r.CompletionTokens, r.Finish = 3, 3, 2, 25, FinishStop
			r.Messages[translate.AnalysisChannel], r.Messages[translate.CommentaryChannel] = 1, 1
			r.Messages[translate.FinalChannel] = 1
		}},
		{"nothing but reasoning", "<|channel|>analysis<|message|>" + strings.Repeat(" A B C", 20) + "<|end|>",
			func(r *Report) {
				r.Reasoning, r.CompletionTokens, r.Finish, r.ReasoningAlert, r.NoFinal = 60, 64, FinishStop, true, 1
				r.Messages[translate.AnalysisChannel] = 1
			}},
		{"what strict refuses", "<|channel|>analysis<|message|>A B C<|end|><|channel|>final<|message|>D E<|return|>",
			func(r *Report) {
				r.Reasoning, r.Final, r.CompletionTokens, r.Finish = 3, 2, 13, FinishStop
				r.Messages[translate.AnalysisChannel], r.Messages[translate.FinalChannel] = 1, 1
				r.Recoveries[harmony.MissingStart], r.Refused = 1, harmony.ExpectedStart
			}},
		{"no analysis, broken", "<|channel|>final<|message|>D<|start|>assistant<|channel|>x<|message|>E<|return|>",
			func(r *Report) {
				r.Reasoning, r.Final, r.CompletionTokens, r.Finish, r.FinalFirst = 1, 1, 11, FinishStop, true
				r.UnexpectedOrder = true
				r.Messages[translate.FinalChannel], r.Messages[translate.OtherChannel] = 1, 1
				r.Recoveries[harmony.MissingEnd], r.Recoveries[harmony.UnknownChannel] = 1, 1
			}},
	} {
		for _, stream := range []bool{false, true} {
			x := forwarded(t, testGateway(nil), "/v1/chat/completions", strings.TrimSuffix(chatBody(stream), "}")+weatherTool)
			want := Report{API: "chat", Model: testModel, Server: "vllm", Pool: "gpus", Policy: "session", Translated: true,
				PromptTokens: x.generation.promptTokens, FirstToken: 7}
			tt.want(&want)
			x.clock = func() int64 { return testNow + 7 }
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(answerOf(tt.text)), true)
			if got := x.Report(); got != want {
				t.Errorf("%s, stream %v:\n%+v\nwant\n%+v", tt.name, stream, got, want)
			}
		}
	}
}

// TestReportOfTools checks that results of tools are counted separately from the rest of the prompt.
func TestReportOfTools(t *testing.T) {
	history := `[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"c","type":"function",` +
		`"function":{"name":"get_weather","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c","content":"sunny"},{"role":"user","name":"functions.x","content":"functions.x"}]`
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", `{"model":"`+testModel+`","messages":`+history+`}`)
	message := "<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>sunny<|end|>"
	if got, want := x.Report().ToolOutputTokens, len(o200k.Tokenizer().AppendEncodeSpecial(nil, message)); got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
}

// TestReportOfIgnoredItems: what is passed over is counted, and what says nothing is not.
func TestReportOfIgnoredItems(t *testing.T) {
	x := forwarded(t, testGateway(nil), "/v1/responses",
		`{"model":"`+testModel+`","input":[{"type":"unheard_of"},{"role":"user","content":"Hi"},{"type":"web_search_call"},
		{"type":"mcp_list_tools","tools":[]},{"type":"image_generation_call","result":"x"},
		{"type":"compaction","encrypted_content":"gAAAAABotdZ0"},{"type":"context_compaction"},{"type":"compaction_summary"},
		{"type":"reasoning","summary":[],"encrypted_content":"gAAAAABotdZ0"},
		{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"x"}],"encrypted_content":"gAAAAA"},
		{"type":"reasoning","summary":[],"encrypted_content":null}]}`)
	if n, want := x.Report().Ignored, (openai.Ignored{2, 3, 1}); n != want {
		t.Errorf("%v are counted, want %v", n, want)
	}
}

// TestReportOfDroppedParts: where the operator wants them dropped, and only there.
func TestReportOfDroppedParts(t *testing.T) {
	drop := func(o *Options) { o.Models[0].UnsupportedContent = contract.ContentDrop }
	for path, body := range map[string]string{
		"/v1/chat/completions": `"messages":[{"role":"system","content":[{"type":"file"}]},{"role":"user","content":[{"type":"text","text":"See:"},{"type":"image_url","image_url":7}]},
			{"role":"assistant","content":[{"type":"input_audio"}]}]`,
		"/v1/responses": `"input":[{"role":"user","content":[{"type":"input_image"},{"type":"input_file","file_data":"x"}]},
			{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_image"}]}]`,
	} {
		body = `{"model":"` + testModel + `",` + body + `}`
		if n := forwarded(t, testGateway(drop), path, body).Report().DroppedParts; n != 3 {
			t.Errorf("%s: %d are counted", path, n)
		}
		if a := testGateway(nil).Begin("POST", path).Request([]byte(body), Host{Now: testNow, ID: testID}); a.Reply == nil ||
			a.Reply.Status != 400 {
			t.Errorf("%s: not refused by default: %+v", path, a)
		}
	}
}

// TestReportOfEffort: an answer without reasoning is as it should be when little was asked for.
func TestReportOfEffort(t *testing.T) {
	for effort, want := range map[string]bool{"low": false, "medium": true, "high": true} {
		x := forwarded(t, testGateway(nil), "/v1/chat/completions",
			strings.TrimSuffix(chatBody(true), "}")+`,"reasoning_effort":"`+effort+`"}`)
		x.ResponseHeaders(eventStream)
		x.ResponseBody([]byte(answerOf("<|channel|>final<|message|>Hello<|return|>")), true)
		if r := x.Report(); r.UnexpectedOrder != want {
			t.Errorf("%s: %v", effort, r.UnexpectedOrder)
		}
	}
}

// TestReportEnds checks that the report shows what ended an exchange, and when.
func TestReportEnds(t *testing.T) {
	answer := answerOf("<|channel|>final<|message|>Hello there<|return|>")
	partial := strings.Join(strings.SplitAfter(answer, "\n\n")[:5], "")
	length := strings.Replace(answer, `"finish_reason":"stop"`, `"finish_reason":"length"`, 1)
	for _, tt := range []struct {
		name      string
		act       func(*Exchange)
		want, cut string
		early     bool // it has failed before its first token, unless the client has left
	}{
		{"before the headers", func(*Exchange) {}, FinishCut, "", false},
		{"before the first token", func(x *Exchange) { x.ResponseHeaders(eventStream) }, FinishCut, "", true},
		{"within the answer", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(partial), false)
		}, FinishCut, CutOther, false},
		{"trailers within the answer", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(partial), false)
			x.ResponseTrailers()
		}, FinishError, CutServer, false},
		{"after the answer", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(answer), false)
		}, FinishStop, "", false},
		{"no finish reason", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(partial), true)
		}, FinishError, CutServer, false},
		{"an end without a finish reason", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(partial+"data: [DONE]\n\n"), false)
			x.ResponseBody(nil, true)
		}, FinishError, "", false},
		{"silence before the first token", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.Stalled(testNow)
			x.Stalled(testNow + testLimit)
		}, FinishError, "", true},
		{"silence", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(partial), false)
			x.Stalled(testNow)
			x.Stalled(testNow + testLimit)
		}, FinishError, CutStall, false},
		{"silence after a failure", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(partial+"data: {]\n\n"), false)
			x.Stalled(testNow)
			x.Stalled(testNow + testLimit)
		}, FinishError, "", false},
		{"nothing", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.ResponseBody(nil, true)
		}, FinishError, "", true},
		{"a reset, and the proxy's reply", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.ResponseHeaders(ResponseHead{Status: 503, Local: true, End: true})
		}, FinishError, "", true},
		{"silence before the headers", func(x *Exchange) {
			x.Stalled(testNow)
			x.Stalled(testNow + testLimit)
		}, FinishError, "", true},
		{"the proxy's reply", func(x *Exchange) {
			x.ResponseHeaders(ResponseHead{Status: 503, Local: true, End: true})
		}, FinishError, "", false},
		{"a status", func(x *Exchange) {
			x.ResponseHeaders(ResponseHead{Status: 429, End: true})
		}, FinishError, "", false},
		{"the limit", func(x *Exchange) {
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(length), true)
		}, FinishLength, "", false},
	} {
		for _, held := range []bool{false, true} { // the attempts tell of themselves
			g := testGateway(func(o *Options) { o.Models[0].Routing.UntilFirstToken = held })
			x := forwarded(t, g, "/v1/chat/completions", chatBody(true))
			tt.act(x)
			got := x.Report()
			if got.FailedEarly != (tt.early && !held) {
				t.Errorf("%s, held %v: early %v", tt.name, held, got.FailedEarly)
			}
			if !held && (got.Finish != tt.want || got.Cut != tt.cut || !got.Translated) {
				t.Errorf("%s: %q, cut by %q, want %q and %q", tt.name, got.Finish, got.Cut, tt.want, tt.cut)
			}
		}
	}
}

// TestReportOfOthers: what never went to a server as a request of ours has a model at most.
func TestReportOfOthers(t *testing.T) {
	for _, tt := range []struct{ path, body, api, model string }{
		{"/v1/responses", `{"model":"x","input":"Hi"}`, "responses", ""},
		{"/v1/chat/completions", `{`, "chat", ""},
		{"/v1/chat/completions", `{"model":"` + testModel + `","messages":[]}`, "chat", testModel},
		{"/generate", `{"model":"` + testModel + `","prompt":"x"}`, "completions", testModel},
	} {
		x := testGateway(nil).Begin("POST", tt.path)
		x.Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		if got := x.Report(); got.API != tt.api || got.Model != tt.model || got.Translated {
			t.Errorf("%s %s: %+v", tt.path, tt.body, got)
		}
	}
}

// TestReportOfPool: a request has a pool if it was sent there, translated or not, and has none if it was refused or
// sent elsewhere.
func TestReportOfPool(t *testing.T) {
	for _, tt := range []struct {
		name, path, body string
		change           func(*Options)
		want             string
	}{
		{"translated", contract.ChatPath, chatBody(true), nil, "gpus"},
		{"refused", contract.ChatPath, `{"model":"` + testModel + `","messages":7}`, nil, ""},
		{"another model", contract.ChatPath, chatRequest("x"), nil, ""},
		{"untranslated", contract.ChatPath, chatRequest(testModel),
			func(o *Options) { o.Models[0].Translate = "0%" }, "gpus"},
		{"raw prompt", contract.CompletionsPath, `{"model":"` + testModel + `","prompt":"Hi"}`,
			func(o *Options) { o.Models[0].RawPrompts = contract.RawPromptsAllow }, "gpus"},
		{"raw prompt, refused", contract.CompletionsPath, `{"model":"` + testModel + `","prompt":"Hi"}`, nil, ""},
		{"for the service", contract.ResponsesPath, `{"model":"` + testModel + `","input":"Hi","store":true}`,
			func(o *Options) { o.ResponsesService = contract.ResponsesService{Pool: "service", Stores: true} }, ""},
	} {
		x := testGateway(tt.change).Begin("POST", tt.path)
		x.Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		r := x.Report()
		if r.Pool != tt.want || (r.Policy == contract.PolicySession) != (tt.want != "") {
			t.Errorf("%s: %q under %q, want %q", tt.name, r.Pool, r.Policy, tt.want)
		}
		if x.CannotForward(); x.Report().Pool != "" {
			t.Errorf("%s: it has a pool although the host could not send it there", tt.name)
		}
	}
}
