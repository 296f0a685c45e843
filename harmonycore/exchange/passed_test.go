package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const (
	askWithin = `"model":"qwen","messages":[{"role":"user","content":"Hi"}],` +
		`"tools":[{"type":"function","function":{"name":"f"}}]}`
	wholeAsk      = `{` + askWithin
	streamedAsk   = `{"stream":true,` + askWithin
	wholeChatOpen = `{"id":"c","created":1,"choices":[{"index":0,"logprobs":{"model":"a"},"message":{"role":"assistant",` +
		`"content":"`
)

func wholeChat(content, finish string) string {
	return wholeChatOpen + content + `"},"finish_reason":"` + finish + `"}],"model":"q","usage":{"prompt_tokens":7,` +
		`"completion_tokens":9,"total_tokens":16}}`
}

// passedAnswer returns what a Chat client gets of an answer, in each size of pieces that matters. It must be the same.
func passedAnswer(t *testing.T, change func(*contract.Model), request, contentType, answer string) (string, Report) {
	t.Helper()
	var first string
	var report Report
	for n := 1; n <= len(answer); n += 1 + n/16 {
		_, got, x := ask(t, conversing(change), contract.ChatPath, request, contentType, answer, n)
		if strings.HasPrefix(got, `{"error":{`) {
			got = got[:strings.Index(got, "}}")+2] // a reply replaces the response, and a host asks for nothing more
		}
		if first == "" {
			first, report = got, x.Report()
		}
		if contentType != "text/event-stream" && got != first {
			t.Fatalf("in pieces of %d: %s, and in single bytes: %s", n, got, first)
		}
		if joined, want := joinedChat(got), joinedChat(first); joined != want {
			t.Fatalf("in pieces of %d: %s, and in single bytes: %s", n, joined, want)
		}
	}
	return first, report
}

// joinedChat returns a stream with its pieces of text joined.
func joinedChat(stream string) string {
	for _, name := range []string{"content", "reasoning", "arguments"} {
		stream = strings.ReplaceAll(stream, `"`+name+`":"`, "")
	}
	return strings.Join(strings.Fields(stream), "")
}

// TestPassedHarmony: Chat clients get what Responses clients get of a text that begins as Harmony does, although the
// model speaks auto and the client's request went on as it was.
func TestPassedHarmony(t *testing.T) {
	const harmonic = "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant" +
		"<|channel|>commentary to=functions.f<|message|>{}<|call|>"
	for _, text := range []string{harmonic, "  \\n" + harmonic,
		"analysisHm<|end|>" + harmonic[len("<|channel|>analysis<|message|>Hm<|end|>"):]} {
		var pieces strings.Builder
		pieces.WriteString(chunk(`"role":"assistant","content":""`))
		for at := 0; at < len(text); at += 7 {
			piece := text[at:min(at+7, len(text))]
			if strings.HasSuffix(piece, `\`) {
				continue
			}
			pieces.WriteString(chunk(`"content":"` + piece + `"`))
		}
		streamed := pieces.String()
		if strings.Contains(text, `\n`) {
			streamed = chunk(`"content":"` + text + `"`)
		}
		for _, a := range []struct{ request, contentType, answer string }{
			{streamedAsk, "text/event-stream", streamed + finish("stop")},
			{wholeAsk, "application/json", wholeChat(text, "stop")},
		} {
			var got string
			for n := 1; n <= len(a.answer); n += 1 + n/16 {
				_, answer, x := ask(t, conversing(nil), contract.ChatPath, a.request, a.contentType, a.answer, n)
				if strings.Contains(answer, "<|") || !strings.Contains(answer, `"tool_calls":[{`) || !strings.Contains(answer,
					`"name":"f"`) || !strings.Contains(answer, `"finish_reason":"tool_calls"`) ||
					!strings.Contains(answer, `"reasoning_content":"Hm"`) && a.contentType == "application/json" ||
					!strings.Contains(answer, `"model":"qwen"`) || strings.Contains(answer, `"model":"q"`) {
					t.Fatalf("in pieces of %d: %s", n, answer)
				}
				if r := x.Report(); r.Finish != FinishToolCalls || r.Calls != 1 || r.FirstToken < 0 {
					t.Fatalf("the report is %+v", r)
				}
				got = answer
			}
			if got == "" {
				t.Fatal("nothing was asked")
			}
		}
	}
}

// TestPassedPlain: any other answer passes with the name of the model that the client has asked for, and nothing else
// changed: not a model further inside, nor another member.
func TestPassedPlain(t *testing.T) {
	plain := map[string]string{
		"text":      chunk(`"content":"Hi"`) + chunk(`"content":" <|channel|>"`) + finish("stop"),
		"a word":    chunk(`"content":"analysis"`) + chunk(`"content":" of it"`) + finish("stop"),
		"undecided": chunk(`"content":"analysis"`) + finish("stop"),
		"reasoning": chunk(`"reasoning_content":"Hm"`) + chunk(`"content":"Hi"`) + finish("stop"),
		"model inside": `data: {"choices":[{"index":0,"delta":{"content":"a"},"x":{"model":"q2"}}],"model":"q"}` + "\n\n" +
			finish("stop"),
		"comments":      ": hello\n\nevent: x\ndata: {\"model\": \"q\", \"choices\":[]}\r\n\r\n" + finish("stop"),
		"no end":        chunk(`"content":"Hi"`),
		"no blank line": strings.TrimSuffix(chunk(`"content":"Hi"`)+finish("stop"), "\n\n"),
		"alike": strings.Repeat(chunk(`"content":"Hi"`), 9) + ": ping\n\n" + chunk(`"content":"a"`) +
			strings.ReplaceAll(strings.Repeat(chunk(`"content":"b"`), 3), `"id":"c"`, `"id":"d"`) +
			strings.ReplaceAll(strings.Repeat(chunk(`"content":"b"`), 3), "\n", "\r\n") + finish("stop"),
		"alike, and broken": strings.Repeat(chunk(`"content":"Hi"`), 3) + chunk(`"content":"Hi"`)[:99] + "\n\n" +
			chunk(`"content":"Hi"`) + finish("stop"),
		"unknown reason": chunk(`"content":"Hi"`) + finish("recitation"),
		"broken":         chunk(`"content":"Hi"`) + "data: {\"model\":\"q\"\n\ndata: <html>\n\n" + finish("stop"),
	}
	for name, answer := range plain {
		for _, speaks := range []string{contract.SpeaksAuto, contract.SpeaksChat} {
			change := func(m *contract.Model) { m.Speaks = speaks }
			want := strings.ReplaceAll(strings.ReplaceAll(answer, `"model":"q"`, `"model":"qwen"`),
				`"model": "q"`, `"model": "qwen"`)
			for n := 1; n <= len(answer); n += 1 + n/16 {
				_, got, _ := ask(t, conversing(change), contract.ChatPath, streamedAsk, "text/event-stream", answer, n)
				if broken := strings.HasSuffix(name, "broken"); !broken && got != want || broken && len(got) < len(answer) {
					t.Fatalf("%s, %s, in pieces of %d:\ngot  %q\nwant %q", name, speaks, n, got, want)
				}
			}
		}
	}
	answer := wholeChat("Hi", "stop")
	want := strings.ReplaceAll(answer, `"model":"q"`, `"model":"qwen"`)
	if got, _ := passedAnswer(t, nil, wholeAsk, "application/json", answer); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	lines := strings.ReplaceAll(answer, `,"`, ",\n \"") // as some servers print it
	want = strings.ReplaceAll(lines, `"model":"q"`, `"model":"qwen"`)
	if got, _ := passedAnswer(t, nil, wholeAsk, "application/json", lines); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	const html = "<html>{\"model\":\"q\"}</html>"
	if got, _ := passedAnswer(t, nil, wholeAsk, "text/html", html); got != html {
		t.Errorf("got %s", got)
	}
}

// TestPassedAlike: events that are read by the shape of the last one are counted as others are, however they are cut.
func TestPassedAlike(t *testing.T) {
	answer := strings.Repeat(chunk(`"content":"Hi"`), 40) + strings.Repeat(chunk(`"reasoning_content":"Hm"`), 80) +
		call("0", `"a"`, `"functions.f"`, ``) + strings.Repeat(call("0", "null", "null", "1"), 160) + finish("tool_calls")
	for n := 1; n <= len(answer); n += 1 + n/8 {
		_, _, x := ask(t, conversing(nil), contract.ChatPath, streamedAsk, "text/event-stream", answer, n)
		r := x.Report()
		if r.Final != 20 || r.ToolCall != 40 || r.Calls != 1 || r.CompletionTokens != 9 || r.Finish != FinishToolCalls {
			t.Fatalf("in pieces of %d: %+v", n, r)
		}
	}
}

// TestPassedAliases: the name is the one that the client has asked for, also an alias.
func TestPassedAliases(t *testing.T) {
	change := func(m *contract.Model) { m.Aliases = []string{"any/*"} }
	request := strings.Replace(wholeAsk, `"model":"qwen"`, `"model":"any/\"x\""`, 1)
	got, _ := passedAnswer(t, change, strings.ReplaceAll(request, `\"`, "y"), "application/json", wholeChat("Hi", "stop"))
	if !strings.Contains(got, `"model":"any/yxy"`) {
		t.Errorf("got %s", got)
	}
}

// TestPassedAborts: an answer that its server gives up is a failure: an error with a status while the client has
// nothing, and otherwise the stream's last event.
func TestPassedAborts(t *testing.T) {
	for _, reason := range []string{"abort", "error", "cancelled"} {
		for _, tt := range []struct {
			name, request, contentType, answer string
			status                             bool
		}{
			{"whole", wholeAsk, "application/json", wholeChat("Hi", reason), true},
			{"whole, empty", wholeAsk, "application/json", wholeChat("", reason), true},
			{"stream, empty", streamedAsk, "text/event-stream", chunk(`"role":"assistant","content":""`) + finish(reason), true},
			{"stream", streamedAsk, "text/event-stream", chunk(`"content":"Hi"`) + chunk(`"content":"!"`) +
				finish(reason), false},
		} {
			got, report := passedAnswer(t, nil, tt.request, tt.contentType, tt.answer)
			if strings.HasPrefix(got, `{"error":{`) != tt.status || strings.Count(got, `"error":{`) != 1 ||
				strings.Contains(got, `"finish_reason":"`+reason) || report.Finish != FinishError {
				t.Errorf("%s, %s: got %s, %v", tt.name, reason, got, report.Finish)
			}
			if !tt.status && !strings.Contains(got, `"content":"!"`) {
				t.Errorf("%s: what came before is lost: %s", tt.name, got)
			}
		}
	}
}

// TestPassedNothing: a stream that ends with neither a token nor a reason has been given up too. vLLM 0.32.0 ends each
// new stream so while it drains.
func TestPassedNothing(t *testing.T) {
	const done = "data: [DONE]\n\n"
	for name, answer := range map[string]string{
		"nothing": done,
		"a role":  chunk(`"role":"assistant","content":""`) + done,
		"usage":   chunk(`"role":"assistant"`) + `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":0}}` + "\n\n" + done,
	} {
		got, report := passedAnswer(t, nil, streamedAsk, "text/event-stream", answer)
		if !strings.HasPrefix(got, `{"error":{`) || report.Finish != FinishError {
			t.Errorf("%s: got %s, %v", name, got, report.Finish)
		}
	}
	for name, answer := range map[string]string{
		"an empty answer": chunk(`"role":"assistant","content":""`) + finish("stop"),
		"an error":        `data: {"error":{"message":"No.","code":500}}` + "\n\n" + done,
		"no reason":       chunk(`"content":"Hi"`) + done,
		"a call":          call("0", `"a"`, `"f"`, ``) + done,
	} {
		if got, _ := passedAnswer(t, nil, streamedAsk, "text/event-stream", answer); !strings.Contains(got, "[DONE]") {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestPassedCallNames: functions.f is f for Chat clients too.
func TestPassedCallNames(t *testing.T) {
	answer := call("0", `"a"`, `"functions.f"`, ``) + call("0", "null", "null", `{\"a\":\"functions.f\"}`) +
		finish("tool_calls")
	got, _ := passedAnswer(t, nil, streamedAsk, "text/event-stream", answer)
	if !strings.Contains(got, `"name":"f"`) || !strings.Contains(got, `\"functions.f\"`) {
		t.Errorf("got %s", got)
	}
}

// TestConversationEvents: channel events of a model whose servers take conversations. Calls carry no conversation.
func TestConversationEvents(t *testing.T) {
	answer := chunk(`"reasoning_content":"Hm"`) + chunk(`"content":"Hi"`) + call("0", `"a"`, `"f"`, `{}`) +
		finish("tool_calls")
	for _, setting := range []bool{false, true} {
		g := conversing(func(m *contract.Model) {
			if setting {
				m.Answers.Events = contract.EventsChannels
			}
		})
		for n := 1; n <= len(answer); n += 1 + n/16 {
			got := askForEvents(t, g, !setting, streamedAsk, answer, n)
			for _, part := range []string{"event: analysis\ndata: {\"message\":0,\"text\":\"Hm\"}", "event: token\n",
				"event: tool_call\n", `"name":"f"`, `"conversation":null`, "event: done\n", `"finish_reason":"tool_calls"`} {
				if !strings.Contains(got, part) {
					t.Fatalf("in pieces of %d: no %s in %s", n, part, got)
				}
			}
			if strings.Contains(got, "[DONE]") {
				t.Fatalf("got %s", got)
			}
		}
	}
	for _, request := range []string{wholeAsk, `{"n":2,` + streamedAsk[1:]} {
		if got := askForEvents(t, conversing(nil), true, request, answer, 1<<20); !strings.Contains(got, `"error":{`) {
			t.Errorf("%s: got %s", request, got)
		}
	}
}

// askForEvents sends a Chat request, with or without the header that asks for channel events.
func askForEvents(t *testing.T, g *Gateway, header bool, request, answer string, n int) string {
	t.Helper()
	x := g.Begin("POST", contract.ChatPath)
	if header {
		x.Header(contract.EventsHeader, contract.EventsChannels)
	}
	x.RequestHeaders()
	action := x.Request([]byte(request), Host{Now: 1_700_000_000_000, ID: fmt.Sprintf("%024d", n)})
	if action.Reply != nil {
		return string(action.Reply.Body)
	}
	var out strings.Builder
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
	for len(answer) > 0 {
		piece := answer[:min(n, len(answer))]
		answer = answer[len(piece):]
		a := x.ResponseBody([]byte(piece), answer == "")
		if a.Reply != nil {
			return string(a.Reply.Body)
		}
		out.Write(a.Body)
	}
	return out.String()
}
