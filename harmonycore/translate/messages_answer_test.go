package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

func TestMessagesAnswers(t *testing.T) {
	const half, printed = `f {"__unparsedToolInput":{"len":3,"raw":"{\"a"}}`,
		`run {"__unparsedToolInput":{"len":9,"raw":"print(\"é\n"}} · f {} · run {}`
	wants := []struct{ stop, shown, omitted, off string }{
		{"end_turn", `thinking "let me \"see\"\n" "let me \"see\"\n" · text "Héllo 😀"`,
			`thinking "" "let me \"see\"\n" · text "Héllo 😀"`, `text "Héllo 😀"`},
		{"tool_use", `thinking "t" "t" · text "I look." · f {"a":1}`, `thinking "" "t" · text "I look." · f {"a":1}`,
			`redacted "t" · text "I look." · f {"a":1}`},
		{"tool_use", `f {} · f {}`, `f {} · f {}`, `f {} · f {}`},
		{"end_turn", `thinking "x" "x" · thinking "y" "y" · text "z"`,
			`thinking "" "x" · thinking "" "y" · text "z"`, `text "z"`},
		{"end_turn", `text "no " · text "answer" · thinking "odd" "odd"`,
			`text "no " · text "answer" · thinking "" "odd"`, `text "no " · text "answer"`},
		{"max_tokens", `thinking "t" "t" · ` + half, `thinking "" "t" · ` + half, `redacted "t" · ` + half},
		{"max_tokens", `thinking "t" "t"`, `thinking "" "t"`, ``},
		{"end_turn", `thinking "" ""`, `thinking "" ""`, ``},
		{"end_turn", ``, ``, ``},
		{"tool_use", `thinking "t" "t" · ` + printed, `thinking "" "t" · ` + printed, `redacted "t" · ` + printed},
		{"max_tokens", `run {"__unparsedToolInput":{"len":3,"raw":"pri"}}`,
			`run {"__unparsedToolInput":{"len":3,"raw":"pri"}}`, `run {"__unparsedToolInput":{"len":3,"raw":"pri"}}`},
	}
	s := sealing(t, 60)
	for i, c := range answerCases {
		for thinking, want := range []string{wants[i].off, wants[i].shown, wants[i].omitted} {
			m := checkMessages(t, c, anthropic.Thinking(thinking), s)
			if got := blocksOf(t, m, s); got != want || m["stop_reason"] != wants[i].stop {
				t.Errorf("%s, %d: %v %s\nwant %s %s", c.name, thinking, m["stop_reason"], got, wants[i].stop, want)
			}
		}
		// Without keys nothing is sealed.
		got := blocksOf(t, checkMessages(t, c, anthropic.ThinkingShown, Sealing{}), s)
		if strings.Count(got, `" -`) != strings.Count(got, "thinking ") || strings.Contains(got, "redacted") {
			t.Errorf("%s, without keys: %s", c.name, got)
		}
		if got := blocksOf(t, checkMessages(t, c, anthropic.ThinkingOff, Sealing{}), s); strings.Contains(got, "redacted") {
			t.Errorf("%s, without keys: %s", c.name, got)
		}
	}
}

// TestMessagesBehindCalls checks that nothing but calls comes behind a call, and when the limit counts.
func TestMessagesBehindCalls(t *testing.T) {
	call := msg{"f", "commentary", []string{"{}"}, harmony.EndedByCall}
	think := msg{"", "analysis", []string{"t"}, harmony.EndedByEnd}
	final := msg{"", "final", []string{"x"}, harmony.EndedByReturn}
	half := func(m msg) msg { m.end = harmony.Cut; return m }
	for _, tt := range []struct {
		name       string
		turn       []msg
		finish     Finish
		stop, want string
		left       int
	}{
		{"an answer behind a call", []msg{call, final}, Stop, "tool_use", `f {}`, 1},
		{"reasoning between calls", []msg{think, call, think, call, think}, Stop, "tool_use",
			`thinking "t" "t" · f {} · f {}`, 2},
		{"the limit behind a call", []msg{call, half(think)}, Length, "tool_use", `f {}`, 1},
		{"the limit in a second call", []msg{call, half(call)}, Length, "max_tokens", `f {} · f {}`, 0},
		{"filtered behind a call", []msg{call, half(final)}, Filtered, "refusal", `f {}`, 1},
		{"filtered in the text", []msg{think, half(final)}, Filtered, "refusal", `thinking "t" "t" · text "x"`, 0},
		{"a call behind an answer", []msg{final, think, call}, Stop, "tool_use", `text "x" · thinking "t" "t" · f {}`, 0},
	} {
		s, c := sealing(t, 60), answerCase{tt.name, tt.turn, tt.finish}
		m := checkMessages(t, c, anthropic.ThinkingShown, s)
		if got := blocksOf(t, m, s); got != tt.want || m["stop_reason"] != tt.stop || m["stop_sequence"] != nil {
			t.Errorf("%s: %v %s, want %s %s", tt.name, m["stop_reason"], got, tt.stop, tt.want)
		}
		a := messagesTo(t, true, anthropic.ThinkingShown, s)
		play(a, c, never)
		if got := a.Tally().AfterCalls; got != tt.left {
			t.Errorf("%s: %d messages were left out, want %d", tt.name, got, tt.left)
		}
	}
}

// TestMessagesHiddenReasoning checks where reasoning goes that is not shown: before what leads to a call.
func TestMessagesHiddenReasoning(t *testing.T) {
	think := func(text string) msg { return msg{"", "analysis", []string{text}, harmony.EndedByEnd} }
	say := func(channel, text string) msg { return msg{"", channel, []string{text}, harmony.EndedByEnd} }
	call := msg{"f", "commentary", []string{"{}"}, harmony.EndedByCall}
	empty := msg{"", "final", nil, harmony.EndedByEnd}
	for _, tt := range []struct {
		turn []msg
		want string
	}{
		{[]msg{think("a"), think("b"), call}, `redacted "a" · redacted "b" · f {}`},
		{[]msg{think("a"), say("commentary", "p"), think("b"), call}, `redacted "a" · text "p" · redacted "b" · f {}`},
		{[]msg{think("a"), say("final", "x"), think("b"), call}, `text "x" · redacted "b" · f {}`},
		{[]msg{think("a"), empty, call}, `redacted "a" · f {}`},
		{[]msg{think("a"), say("final", "x"), say("commentary", "p")}, `text "x" · text "p"`},
		{[]msg{{"python", "analysis", []string{"1"}, harmony.EndedByCall}, call}, `redacted "1" · f {}`},
	} {
		s := sealing(t, 60)
		if got := blocksOf(t, checkMessages(t, answerCase{"", tt.turn, Stop}, anthropic.ThinkingOff, s), s); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.turn, got, tt.want)
		}
	}
	r, err := readSealed(t, sealing(t, 60), 0, true, `{"model":"m","input":"q"}`)
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, play(asMessages(r, false, anthropic.ThinkingShown).NewAnswer(), answerCases[0], never))
	if len(got["content"].([]any)) != 1 {
		t.Errorf("where the operator hides reasoning: %v", got)
	}
}

// TestMessagesBuiltIns checks calls of built-in tools that the request does not offer: they are reasoning, if they are
// whole.
func TestMessagesBuiltIns(t *testing.T) {
	call := func(end harmony.End, pieces ...string) msg { return msg{"python", "analysis", pieces, end} }
	s := sealing(t, 60)
	for _, tt := range []struct {
		turn   []msg
		finish Finish
		want   []string // off, shown, omitted
		half   int
	}{
		{[]msg{call(harmony.EndedByCall, "1", "+1")}, Stop, []string{``, `thinking "1+1" "1+1"`, `thinking "" "1+1"`}, 0},
		{[]msg{call(harmony.Cut, "1")}, Length, []string{``, ``, ``}, 1},
		{[]msg{call(harmony.EndedByCall)}, Stop, []string{``, `thinking "" ""`, `thinking "" ""`}, 0},
	} {
		for thinking, want := range tt.want {
			c := answerCase{"", tt.turn, tt.finish}
			got := blocksOf(t, checkMessages(t, c, anthropic.Thinking(thinking), s), s)
			a := messagesTo(t, true, anthropic.Thinking(thinking), s)
			if play(a, c, never); got != want || a.Tally().IncompleteBuiltIns != tt.half {
				t.Errorf("%v, %d: %s, want %s; %d are half", tt.turn, thinking, got, want, a.Tally().IncompleteBuiltIns)
			}
		}
	}
}

func TestMessagesStreamGolden(t *testing.T) {
	got := play(messagesTo(t, true, anthropic.ThinkingShown, Sealing{}), answerCases[1], never)
	const want = `event: message_start
data: {"type":"message_start","message":{"id":"msg_0123456789abcdef01234567","type":"message","role":"assistant",` +
		`"model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,` +
		`"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0,` +
		`"output_tokens_details":{"thinking_tokens":0}}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"t"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":""}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use",` +
		`"id":"toolu_0123456789abcdef01234567_0","name":"f","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\":1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":6,` +
		`"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":20,` +
		`"output_tokens_details":{"thinking_tokens":1}}}

event: message_stop
data: {"type":"message_stop"}

`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestMessagesFail checks that an error comes within the open block, and is the last event.
func TestMessagesFail(t *testing.T) {
	for _, end := range []harmony.End{harmony.Cut, harmony.EndedByCall} {
		a := messagesTo(t, true, anthropic.ThinkingShown, Sealing{})
		a.Begin()
		a.Choices()[0].Open(harmony.Header{Recipient: "functions.f", Channel: "commentary"})
		a.Choices()[0].Content([]byte(`{"a`), 1)
		a.Choices()[0].Close(end)
		a.Fail(&openai.Error{Status: 503, Code: contract.CodeServerOverloaded, Message: "Busy.", RetryAfter: "7"})
		a.Choices()[0].Content([]byte("x"), 1)
		a.Choices()[0].End(Stop)
		a.Finish(Usage{}, 0)
		events := parseEvents(t, string(a.Ready().Take(nil)))
		var names []string
		for _, e := range events {
			names = append(names, e.name)
		}
		want := []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "error"}
		if end == harmony.Cut {
			want = slices.Delete(want, 3, 4)
		}
		last := encode(t, events[len(events)-1].data)
		if !slices.Equal(names, want) ||
			last != `{"error":{"message":"Busy. Please try again in 7s.","type":"api_error"},"type":"error"}` {
			t.Errorf("%v: %v, %s", end, names, last)
		}
	}
	a := messagesTo(t, false, anthropic.ThinkingShown, Sealing{})
	a.Begin()
	a.Fail(&openai.Error{Status: 429, Message: "Slow."})
	if got := string(a.Ready().Take(nil)); got != `{"type":"error","error":{"type":"rate_limit_error","message":"Slow."}}` {
		t.Error(got)
	}
}

// TestMessagesStop checks what the client is told of the end: the stop sequence, and which limit was reached.
func TestMessagesStop(t *testing.T) {
	cut := func(pieces ...string) []msg { return []msg{{"", "final", pieces, harmony.Cut}} }
	whole := []msg{{"", "final", []string{"ab"}, harmony.EndedByReturn}}
	behind := []msg{{"f", "commentary", nil, harmony.EndedByCall}, {"", "final", []string{"c"}, harmony.Cut}}
	for _, tt := range []struct {
		name       string
		stop       []string
		turn       []msg
		finish     Finish
		u          Usage
		want, told string
	}{
		{"a sequence", []string{"no", "c"}, cut("ab", "cd"), 0, Usage{}, "stop_sequence", "c"},
		{"the longest", []string{"c", "bc"}, cut("ab", "cd"), 0, Usage{}, "stop_sequence", "bc"},
		{"none", []string{"no"}, whole, Stop, Usage{}, "end_turn", ""},
		{"behind a call", []string{"c"}, behind, 0, Usage{}, "tool_use", ""},
		{"the limit", nil, cut("a"), Length, Usage{}, "max_tokens", ""},
		{"the context", nil, cut("a"), Length, Usage{WindowFull: true}, "model_context_window_exceeded", ""},
		{"a full context", nil, whole, Stop, Usage{WindowFull: true}, "end_turn", ""},
	} {
		r, err := read(Responses, `{"model":"m","input":"q","tools":[{"type":"function","name":"f"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		r.Stop = tt.stop
		a := asMessages(r, true, anthropic.ThinkingOff).NewAnswer()
		choice := a.Choices()[0]
		a.Begin()
		sink, gate := choice, r.Gate(choice)
		if gate != nil {
			sink = gate
		}
		for _, m := range tt.turn {
			sink.Open(harmony.Header{Recipient: m.recipient, Channel: m.channel})
			for _, p := range m.pieces {
				sink.Content([]byte(p), 1)
			}
			sink.Close(m.end)
		}
		if tt.finish == 0 {
			tt.finish = gate.Ended()
		}
		choice.End(tt.finish)
		a.Finish(tt.u, 0)
		m := buildMessage(t, string(a.Ready().Take(nil)))
		if told, _ := m["stop_sequence"].(string); m["stop_reason"] != tt.want || told != tt.told {
			t.Errorf("%s: %v, %q; want %s, %q", tt.name, m["stop_reason"], told, tt.want, tt.told)
		}
	}
}

// TestMessagesUsage checks that each token of the prompt is in one count.
func TestMessagesUsage(t *testing.T) {
	for _, tt := range []struct {
		u    Usage
		want string
	}{
		{Usage{PromptTokens: 10, CachedTokens: 4, CompletionTokens: 3}, "6 4 3 1"},
		{Usage{PromptTokens: 10, CachedTokens: 40, CompletionTokens: 3}, "0 10 3 1"},
		{Usage{PromptTokens: 10, CompletionTokens: 3, ReasoningTokens: 2, ReasoningKnown: true}, "10 0 3 2"},
		{Usage{PromptTokens: 10, CompletionTokens: 3, ReasoningTokens: 9, ReasoningKnown: true}, "10 0 3 3"},
	} {
		a := messagesTo(t, false, anthropic.ThinkingOff, Sealing{})
		a.Begin()
		a.Choices()[0].Open(harmony.Header{Channel: "analysis"})
		a.Choices()[0].Content([]byte("t"), 1)
		a.Choices()[0].Close(harmony.EndedByEnd)
		a.Choices()[0].End(Stop)
		a.Finish(tt.u, 0)
		u := decode(t, string(a.Ready().Take(nil)))["usage"].(map[string]any)
		details := u["output_tokens_details"].(map[string]any)
		if got := fmt.Sprint(u["input_tokens"], u["cache_read_input_tokens"], u["output_tokens"],
			details["thinking_tokens"]); got != tt.want || u["cache_creation_input_tokens"] != 0.0 {
			t.Errorf("%+v: %v, want %s", tt.u, u, tt.want)
		}
	}
}

// TestMessagesFull checks that an answer holds no more than is allowed: a stream what is to be sealed, and a whole
// answer everything.
func TestMessagesFull(t *testing.T) {
	piece := []byte(strings.Repeat("x", 1<<20))
	for _, tt := range []struct {
		name, recipient, channel string
		stream                   bool
		thinking                 anthropic.Thinking
		sealing                  Sealing
		full, fullOfMany         bool
	}{
		{"whole text", "", "final", false, anthropic.ThinkingOff, Sealing{}, true, true},
		{"streamed text", "", "final", true, anthropic.ThinkingOff, Sealing{}, false, false},
		{"whole arguments", "f", "commentary", false, anthropic.ThinkingOff, Sealing{}, true, true},
		{"streamed arguments", "f", "commentary", true, anthropic.ThinkingOff, Sealing{}, false, false},
		{"streamed reasoning", "", "analysis", true, anthropic.ThinkingShown, Sealing{}, false, false},
		{"reasoning that is dropped", "", "analysis", false, anthropic.ThinkingOff, Sealing{}, false, false},
		{"sealed reasoning", "", "analysis", true, anthropic.ThinkingShown, sealing(t, 60), true, false},
		{"hidden reasoning", "", "analysis", true, anthropic.ThinkingOff, sealing(t, 60), true, true},
	} {
		for _, many := range []bool{false, true} {
			a := messagesTo(t, tt.stream, tt.thinking, tt.sealing)
			a.Begin()
			full, choice := false, a.Choices()[0]
			for i := range 10 {
				if i == 0 || many {
					choice.Open(harmony.Header{Recipient: tt.recipient, Channel: tt.channel})
				}
				choice.Content(piece, 1)
				if many {
					choice.Close(harmony.EndedByEnd)
				}
				a.Ready().Take(nil)
				full = full || a.Full()
			}
			if want := many && tt.fullOfMany || !many && tt.full; full != want {
				t.Errorf("%s, many: %v: %v, want %v", tt.name, many, full, want)
			}
		}
	}
}

// TestMessagesStreamedArguments checks the pieces of a call's arguments, wherever the model's tokens cut them: a client
// gets an object, unless the arguments begin one and break it off.
func TestMessagesStreamedArguments(t *testing.T) {
	for _, tt := range []struct{ arguments, want string }{
		{`{"a": [1, "é"]}`, `{"a": [1, "é"]}`},
		{"\n {}", "\n {}"},
		{" \n", ""},
		{`{"a`, `{"a`},
		{" ls \"é😀\"\n", `{"__unparsedToolInput":{"raw":" ls \"é😀\"\n","len":10}}`},
		{`[1]`, `{"__unparsedToolInput":{"raw":"[1]","len":3}}`},
		{`"{}"`, `{"__unparsedToolInput":{"raw":"\"{}\"","len":4}}`},
	} {
		runes := []rune(tt.arguments)
		for n := range len(runes) + 1 {
			pieces := []string{string(runes[:n]), string(runes[n:])}
			if n == 0 { // each character alone
				pieces = strings.Split(tt.arguments, "")
			}
			c := answerCase{"", []msg{{"functions.run", "commentary", pieces, harmony.EndedByCall}}, Stop}
			got := ""
			for _, e := range parseEvents(t, play(messagesTo(t, true, anthropic.ThinkingOff, Sealing{}), c, never)) {
				if delta, ok := e.data["delta"].(map[string]any); ok && delta["partial_json"] != nil {
					got += delta["partial_json"].(string)
				}
			}
			if got != tt.want {
				t.Fatalf("%q: %s, want %s", pieces, got, tt.want)
			}
			checkMessages(t, c, anthropic.ThinkingOff, Sealing{})
		}
	}
}
