package exchange

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

const (
	earlyAnalysis = "<|channel|>analysis<|message|>A B C<|end|><|start|>assistant"
	earlyFinal    = "<|channel|>final<|message|>One two three four five six<|return|>"
	earlyCall     = "<|channel|>commentary to=functions.get_weather<|message|>{}"
)

// chatWith is chatBody with more members.
func chatWith(stream bool, members string) string {
	return strings.TrimSuffix(chatBody(stream), "}") + "," + members + "}"
}

// inEvents is the server's stream of a text, with so many tokens in an event.
func inEvents(text string, size int) string {
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil, text)
	var b strings.Builder
	for len(ids) > 0 {
		n := min(size, len(ids))
		list, _ := json.Marshal(ids[:n])
		ids = ids[n:]
		finish := "null"
		if len(ids) == 0 {
			finish = `"stop"`
		}
		b.WriteString(`data: {"choices":[{"token_ids":` + string(list) + `,"finish_reason":` + finish + "}]}\n\n")
	}
	return b.String() + `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":99,` +
		`"prompt_tokens_details":{"cached_tokens":3}}}` +
		"\n\ndata: [DONE]\n\n"
}

// TestEarlyEnds: an answer that ends early says the same however many tokens the server sends at once, and wherever the
// network cuts them.
func TestEarlyEnds(t *testing.T) {
	oneCall := `"parallel_tool_calls":false` + strings.TrimSuffix(weatherTool, "}")
	for _, tt := range []struct {
		name, members, text string
		includes, excludes  []string
		early               string
		wasted              int
	}{
		{
			"stop", `"stop":["ee f"]`, earlyAnalysis + earlyFinal,
			[]string{`"finish_reason":"stop"`, " two", `"completion_tokens":16,`}, []string{"ee", "four", "cached"}, EarlyStop,
			3,
		},
		{
			"cap", `"thinking_token_budget":2`, earlyAnalysis + earlyFinal,
			[]string{`"finish_reason":"length"`, `"reasoning_tokens":2`, `"completion_tokens":6,`, " B"}, []string{" C", "One"},
			EarlyReasoning, 13,
		},
		{
			"a second call", oneCall, earlyAnalysis + earlyCall + "<|end|><|start|>assistant" + earlyCall + "<|call|>",
			[]string{`"finish_reason":"tool_calls"`, `"arguments":"{}"`, `"completion_tokens":31,`},
			[]string{"1,\"id", "}, {", "cached"}, EarlyCall, 2,
		},
		{
			"the only call", oneCall, earlyAnalysis + earlyCall + "<|call|>",
			[]string{`"finish_reason":"tool_calls"`, `"arguments":"{}"`, `"completion_tokens":99,`, "cached"}, nil, "", 0,
		},
	} {
		for _, stream := range []bool{true, false} {
			members := tt.members
			if stream {
				members += `,"stream_options":{"include_usage":true}`
			}
			want := ""
			for _, size := range []int{1, 2, 7, 100} {
				answer := inEvents(tt.text, size)
				for n := 1; n <= 301; n += 30 {
					x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatWith(stream, members))
					got := strings.TrimSuffix(outcome(t, x, cutEvery(answer, n)), "(cut)")
					if want == "" {
						want = got
					}
					if got != want {
						t.Fatalf("%s, %d tokens in an event, cut every %d bytes:\n%s\nwant\n%s", tt.name, size, n, got, want)
					}
					// How much a released server's output counts depends on the pieces, except within one event.
					if r := x.Report(); r.EarlyEnd != tt.early || r.WastedTokens > tt.wasted || size == 100 &&
						r.WastedTokens != tt.wasted {
						t.Fatalf("%s: %+v", tt.name, r)
					}
				}
			}
			for _, s := range tt.includes {
				if !strings.Contains(want, s) {
					t.Errorf("%s, stream %v: no %s in\n%s", tt.name, stream, s, want)
				}
			}
			for _, s := range tt.excludes {
				if strings.Contains(want, s) {
					t.Errorf("%s, stream %v: %s in\n%s", tt.name, stream, s, want)
				}
			}
		}
	}
}

func cutEvery(s string, n int) []string {
	var pieces []string
	for len(s) > n {
		pieces = append(pieces, s[:n])
		s = s[n:]
	}
	return append(pieces, s)
}

// afterEarlyEnd gives an exchange an event at a time and returns what happens to the stream at each event after the
// end of the answer: "." is nothing, "R" a reset.
func afterEarlyEnd(t *testing.T, x *Exchange, head ResponseHead, answer string) string {
	t.Helper()
	x.ResponseHeaders(head)
	out, complete := "", false
	for _, event := range strings.SplitAfter(answer, "\n\n") {
		a := x.ResponseBody([]byte(event), event == "")
		switch {
		case a.Reply != nil:
			return "reply"
		case a.Reset:
			return out + "R"
		case complete && len(a.Body) > 0:
			t.Fatalf("%q after the end of the answer", a.Body)
		case complete:
			out += "."
		}
		complete = complete || x.generation.state == ended
	}
	return out
}

func TestServerIsReleased(t *testing.T) {
	text := earlyAnalysis + earlyFinal
	drainTwo := func(o *Options) { o.Models[0].DrainTokens = 2 }
	for _, tt := range []struct {
		name, path, body string
		change           func(*Options)
		want             string
		wasted           int
	}{
		{"a stream", "/v1/chat/completions", chatWith(true, `"stop":" two"`), nil, "R", 1},
		{"a stream whose server may end", "/v1/chat/completions", chatWith(true, `"stop":" two"`), drainTwo, "..R", 3},
		{"a stream whose server ends", "/v1/chat/completions", chatWith(true, `"stop":" six"`), drainTwo, "....", 1},
		{"whole", "/v1/chat/completions", chatWith(false, `"stop":" two"`), nil, "reply", 0},
		{"whole, its head sent", "/v1/chat/completions", chatWith(false, `"stop":" two"`), reduced, "........", 5},
		{"a stream, its head sent", "/v1/chat/completions", chatWith(true, `"stop":" two"`), reduced, "R", 1},
		{
			"Responses", "/v1/responses", `{"model":"` + testModel + `","stream":true,"input":"x","thinking_token_budget":1}`,
			nil, strings.Repeat(".", 17), 14,
		},
		{
			"Responses, whole", "/v1/responses", `{"model":"` + testModel + `","input":"x","thinking_token_budget":1}`, nil,
			"reply", 0,
		},
	} {
		x := forwarded(t, testGateway(tt.change), tt.path, tt.body)
		if got := afterEarlyEnd(t, x, eventStream, inEvents(text, 1)); got != tt.want ||
			x.Report().WastedTokens != tt.wasted {
			t.Errorf("%s: %s, want %s; %d tokens wasted, want %d", tt.name, got, tt.want, x.Report().WastedTokens, tt.wasted)
		}
	}
}

// TestChoicesEndEarly: an answer ends early when the last of its choices has ended.
func TestChoicesEndEarly(t *testing.T) {
	g := testGateway(nil)
	x := forwarded(t, g, "/v1/chat/completions", chatWith(true, `"stop":" two","n":2`))
	x.ResponseHeaders(eventStream)
	body := ""
	message := func(index int, text, finish string) ResponseAction {
		a := x.ResponseBody([]byte(serverChunk(index, text, finish)), false)
		body += string(a.Body)
		return a
	}
	message(0, "<|channel|>final<|message|>One two", "")
	message(1, "<|channel|>final<|message|>One", "")
	if a := message(0, " three", ""); a.Reset || len(a.Body) > 0 || x.client.state != outletBegun {
		t.Fatalf("%+v", a)
	}
	message(1, " more<|return|>", "stop")
	if !strings.HasSuffix(body, "data: [DONE]\n\n") || strings.Count(body, `"finish_reason":"stop"`) != 2 {
		t.Fatalf("body %s", body)
	}
	if a := message(0, " four", ""); !a.Reset {
		t.Errorf("the server may go on: %+v", a)
	}
}

// TestChoicesOneAfterAnother: a server with room for one choice at a time may go on with one that has ended, up to its
// limit, before it begins the next. One that never begins the next is at fault.
func TestChoicesOneAfterAnother(t *testing.T) {
	for _, tt := range []struct {
		limit, wasted int
		want          string
	}{
		{maxIdleEvents + 100, maxIdleEvents + 50, `"finish_reason":"stop"`},
		{100, maxIdleEvents + 200, "could not be understood"},
	} {
		x := forwarded(t, testGateway(func(o *Options) { o.Models[0].ContextLength = 1 << 17 }), "/v1/chat/completions",
			chatWith(true, `"stop":" two","n":2,"max_completion_tokens":`+strconv.Itoa(tt.limit)))
		x.ResponseHeaders(eventStream)
		x.ResponseBody([]byte(serverChunk(0, "<|channel|>final<|message|>One two", "")), false)
		last := x.ResponseBody([]byte(strings.Repeat(serverChunk(0, " three", ""), tt.wasted)+
			serverChunk(1, "<|channel|>final<|message|>One<|return|>", "stop")), false)

		if body := string(last.Body); !strings.Contains(body, tt.want) || strings.Contains(body, "three") {
			t.Errorf("after %d tokens of %d: %s", tt.wasted, tt.limit, body)
		}
	}
}

// TestServersBudget: a server that holds the limit by itself is asked to, and the answer goes on.
func TestServersBudget(t *testing.T) {
	g := testGateway(func(o *Options) { o.Models[0].ThinkingTokenBudget, o.Models[0].MaxReasoningTokens = true, 2 })
	x := g.Begin("POST", "/v1/chat/completions")
	a := x.Request([]byte(chatBody(false)), Host{Now: testNow, ID: testID})
	if !strings.Contains(string(a.Forward.Body), `"thinking_token_budget":2,`) {
		t.Fatalf("sent %s", a.Forward.Body)
	}
	if got := outcome(t, x, []string{inEvents(earlyAnalysis+earlyFinal, 1)}); !strings.Contains(got, "five six") {
		t.Errorf("got %s", got)
	}
	x = testGateway(func(o *Options) { o.Models[0].MaxReasoningTokens = 2 }).Begin("POST", "/v1/chat/completions")
	if a = x.Request([]byte(chatBody(false)), Host{Now: testNow, ID: testID}); strings.Contains(string(a.Forward.Body),
		"thinking") {
		t.Errorf("sent %s", a.Forward.Body)
	}
}

// TestLogprobsBeforeAStop: what is known of a token goes where its text goes, and not at all where a stop sequence has
// swallowed some of it.
func TestLogprobsBeforeAStop(t *testing.T) {
	text := "<|channel|>final<|message|>One two é three four five<|return|>"
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil, text)
	for _, tt := range []struct{ stop, content, tokens string }{
		{"ee fo", "One two é thr", "One| two| é"},
		{"five six", "One two é three four five", "One| two| é| three| four| five"},
		{" é", "One two", "One| two"},
	} {
		for _, stream := range []bool{true, false} {
			for _, size := range []int{1, 3, len(ids)} {
				answer := ""
				for at := 0; at < len(ids); at += size {
					to, finish := min(at+size, len(ids)), "null"
					if to == len(ids) {
						finish = `"stop"`
					}
					answer += logprobsChunk(ids[at:to], at, finish)
				}
				body := `{"model":"` + testModel + `","stream":` + strconv.FormatBool(stream) +
					`,"logprobs":true,"stop":"` + tt.stop + `","messages":[{"role":"user","content":"Hi"}]}`
				got := answered(t, body, answer+serverUsage+serverDone)
				var tokens []string
				for _, m := range regexp.MustCompile(`\{"token":"([^"]*)"`).FindAllStringSubmatch(got, -1) {
					tokens = append(tokens, m[1])
				}
				content := ""
				for _, m := range regexp.MustCompile(`"content":"([^"]*)"`).FindAllStringSubmatch(got, -1) {
					content += m[1]
				}
				if strings.Join(tokens, "|") != tt.tokens || content != tt.content {
					t.Errorf("%q, stream %v, %d tokens in an event: %q of %q, want %q of %q\n%s", tt.stop, stream, size, tokens,
						content, tt.tokens, tt.content, got)
				}
			}
		}
	}
}

// TestAfterError: a Chat stream is reset behind its error, whatever the server does then. Of other streams only those are
// whose server goes on generating.
func TestAfterError(t *testing.T) {
	const token, failure = "data: {\"choices\":[{\"token_ids\":[13225]}]}\n\n", "data: {\"error\":{\"message\":\"no\"," +
		"\"code\":500}}\n\n"
	head := "data: {\"choices\":[{\"token_ids\":[200005,17196,200008,13225]}]}\n\n"
	chunk := func(text string, end bool) func(*Exchange) ResponseAction {
		return func(x *Exchange) ResponseAction { return x.ResponseBody([]byte(text), end) }
	}
	tick := func(x *Exchange) ResponseAction { return x.Stalled(testNow) }
	for what, then := range map[string]struct {
		do    func(*Exchange) ResponseAction
		other bool
	}{
		"a token": {chunk(token, false), true}, "[DONE]": {chunk("data: [DONE]\n\n", false), false},
		"a ping": {chunk(": ping\n\n", false), false}, "the end": {chunk("", true), false},
		"[DONE] and the end": {chunk("data: [DONE]\n\n", true), false},
		"trailers":           {(*Exchange).ResponseTrailers, false}, "nothing until the next tick": {tick, false},
	} {
		for _, of := range []struct {
			path, body, events string
			chat               bool
		}{
			{"/v1/chat/completions", chatBody(true), contract.EventsChunks, true},
			{"/v1/chat/completions", chatBody(true), contract.EventsChannels, false},
			{"/v1/responses", `{"model":"` + testModel + `","stream":true,"input":"x"}`, contract.EventsChunks, false},
		} {
			x := forwarded(t, testGateway(func(o *Options) { o.Models[0].Answers.Events = of.events }), of.path, of.body)
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(head), false)
			a := x.ResponseBody([]byte(failure), false)
			if a.Reset || len(a.Body) == 0 || a.ResetAfter != of.chat || strings.Contains(string(a.Body), "[DONE]") {
				t.Errorf("%s, %s: at the error %+v", of.path, of.events, a)
			}
			want := of.chat || then.other
			if a := then.do(x); a.Reset != want {
				t.Errorf("%s, %s: %s after the error: cut %v, want %v", of.path, of.events, what, a.Reset, want)
			}
			if a := tick(x); a.Reset {
				t.Errorf("%s, %s: %s after the error: cut twice", of.path, of.events, what)
			}
		}
	}
}

// TestEndWithoutFinish: behind the end of its server a Chat stream cannot be sent an error and then be reset. It is reset.
func TestEndWithoutFinish(t *testing.T) {
	head := "data: {\"choices\":[{\"token_ids\":[200005,17196,200008,13225]}]}\n\n"
	for path, body := range map[string]string{
		"/v1/chat/completions": chatBody(true), "/v1/responses": `{"model":"` + testModel + `","stream":true,"input":"x"}`,
	} {
		for _, rest := range []string{"", head} {
			x := forwarded(t, testGateway(nil), path, body)
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(head), false)
			a := x.ResponseBody([]byte(rest), true)
			if chat := path == "/v1/chat/completions"; a.Reset != chat || len(a.Body) > 0 == chat {
				t.Errorf("%s: %+v", path, a)
			}
		}
	}
}
