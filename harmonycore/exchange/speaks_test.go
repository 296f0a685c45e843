package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
)

// TestSpeaks has answers whose text is each of the forms that [contract.ModelSettings.Speaks] names, in every cut of
// the bytes.
func TestSpeaks(t *testing.T) {
	text := func(pieces ...string) string {
		all := ""
		for _, piece := range pieces {
			all += chunk(`"content":"` + piece + `"`)
		}
		return all
	}
	streamed := strings.Replace(askForTools, "{", `{"stream":true,`, 1)
	const header = "<|channel|>final<|message|>"
	for _, tt := range []struct {
		name           string
		speaks, marker string
		tags           string
		answer, want   string
		fallbacks      int
		repaired       harmony.Recovery
	}{
		{name: "Harmony", answer: text("<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary to=",
			"functions.f<|message|>{}<|call|>") + finish("stop"),
			want: "reasoning(Hm) function_call(call_0123456789abcdef01234567_1 f {})"},
		{name: "Harmony, no control tokens", answer: text("analysisWe", " say hi.assistantfinalHi") + finish("stop"),
			want: "reasoning(We say hi.) message(Hi)"},
		{name: "Harmony, named", speaks: contract.SpeaksHarmony, answer: text(header+"Hi") + finish("stop"),
			want: "message(Hi)"},
		{name: "not Harmony", speaks: contract.SpeaksHarmony, answer: text("Hi") + finish("stop"), want: "message(Hi)",
			fallbacks: 1, repaired: harmony.ImplicitFinal},
		{name: "not Harmony, with a marker", speaks: contract.SpeaksHarmony, marker: "##",
			answer: text("Hm#", "#Hi") + finish("stop"),
			want:   "reasoning(Hm) message(Hi)", fallbacks: 1, repaired: harmony.ImplicitSplit},
		{name: "not Harmony, named", speaks: contract.SpeaksChat, answer: text(header+"Hi") + finish("stop"),
			want: "message(" + header + "Hi)"},
		{name: "marker", speaks: contract.SpeaksMarker, answer: text("Hm===FI", "NAL===Hi") + finish("stop"),
			want: "reasoning(Hm) message(Hi)"},
		{name: "marker, own", speaks: contract.SpeaksMarker, marker: "ANSWER:",
			answer: text("Hm ANSWER: Hi") + finish("stop"),
			want:   "reasoning(Hm ) message( Hi)"},
		{name: "no marker", speaks: contract.SpeaksMarker, answer: text("Hi") + finish("stop"),
			want: "reasoning(Hi) message(Hi)", repaired: harmony.MissingMark},
		{name: "no marker, at the limit", speaks: contract.SpeaksMarker, answer: text("Hi") + finish("length"),
			want: "reasoning(Hi)"},
		{name: "no marker before a call", speaks: contract.SpeaksMarker, answer: text("Hm") + call("0", `"a"`, `"f"`, `{}`) +
			finish("tool_calls"), want: "reasoning(Hm) function_call(a f {})"},
		{name: "opened", tags: contract.ThinkOpened, answer: text("Hm</think>Hi") + finish("stop"),
			want: "reasoning(Hm) message(Hi)"},
		{name: "opened, reasoning beside it", tags: contract.ThinkOpened, answer: chunk(`"reasoning":"Hm"`) + text("Hi") +
			finish("stop"), want: "reasoning(Hm) message(Hi)"},
		{name: "hermes", speaks: contract.SpeaksHermes, answer: text("<think>Hm</think>\\n\\n<tool",
			`_call>{\"name\": \"f\", `,
			`\"arguments\": {}}</tool_call>`) + finish("stop"),
			want: "reasoning(Hm) function_call(call_0123456789abcdef01234567_1 f {})"},
		{name: "qwen3_coder, two calls", speaks: contract.SpeaksQwen3Coder, answer: text("Hi<tool_call>\\n<function=f>",
			"\\n</func",
			"tion>\\n</tool_call>\\n<tool_call>",
			"<function=f><parameter=a>\\nx\\n</parameter></function></tool_call>") + finish("stop"),
			want: "message(Hi) function_call(call_0123456789abcdef01234567_1 f {}) " +
				`function_call(call_0123456789abcdef01234567_2 f {"a":"x"})`},
		{name: "llama3_json", speaks: contract.SpeaksLlama3JSON, answer: text(`{\"name\": \"f\", \"para`, `meters\": {}}`) +
			finish("stop"), want: "function_call(call_0123456789abcdef01234567_0 f {})"},
		{name: "hermes, a custom tool", speaks: contract.SpeaksHermes, answer: text(`<tool_call>{\"name\": \"patch\", `,
			`\"arguments\": {\"input\": \"+a\"}}</tool_call>`) + finish("stop"),
			want: "custom_tool_call(call_0123456789abcdef01234567_0 patch +a)"},
		{name: "foreign", speaks: "x-upper", answer: text("hi") + finish("stop"), want: "message(HI)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := conversing(func(m *contract.Model) {
				m.Marker = tt.marker
				if tt.speaks != "" {
					m.Speaks = tt.speaks
				}
				if tt.tags != "" {
					m.Chat.ThinkTags = tt.tags
				}
			})
			g.options.Adapters = map[string]structure.New{"x-upper": newUpper}
			for n := 1; n <= len(tt.answer); n++ {
				_, got, x := ask(t, g, contract.ResponsesPath, askForTools, "text/event-stream", tt.answer, n)
				if items := itemsOf(t, got); items != tt.want {
					t.Fatalf("in pieces of %d: %s, want %s\n%s", n, items, tt.want, got)
				}
				_, got, _ = ask(t, g, contract.ResponsesPath, streamed, "text/event-stream", tt.answer, n)
				if items := itemsOf(t, lastResponse(t, got)); items != tt.want {
					t.Fatalf("streamed in pieces of %d: %s, want %s\n%s", n, items, tt.want, got)
				}
				r := x.Report()
				if r.Fallbacks != tt.fallbacks || tt.repaired != 0 && r.Recoveries[tt.repaired] != 1 ||
					tt.repaired == 0 && r.Recoveries.Total() != 0 {
					t.Fatalf("in pieces of %d: %d fallbacks, %v", n, r.Fallbacks, r.Recoveries)
				}
			}
		})
	}
}

// TestSpeaksCallsToChat: calls in the text of a server are calls of a Chat answer, which ends for them.
func TestSpeaksCallsToChat(t *testing.T) {
	const request = `{"model":"qwen","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":` +
		`{"name":"f","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}}]}`
	answer := chunk(`"content":"Hi<tool_call>\n<function=f>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call>"`) +
		finish("stop")
	g := conversing(func(m *contract.Model) { m.Speaks = contract.SpeaksQwen3Coder })
	_, got, _ := ask(t, g, contract.ChatPath, request, "text/event-stream", answer, 5)
	for _, want := range []string{
		`"finish_reason":"tool_calls"`, `"content":"Hi"`, `"arguments":"{\"n\":5}"`, `"name":"f"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
}

// lastResponse returns the response in the last event of a stream.
func lastResponse(t *testing.T, stream string) string {
	t.Helper()
	events := strings.Split(strings.TrimSpace(stream), "\n\n")
	_, data, _ := strings.Cut(events[len(events)-1], "data: ")
	var last struct{ Response json.RawMessage }
	if err := json.Unmarshal([]byte(data), &last); err != nil {
		t.Fatalf("%v: %s", err, stream)
	}
	return string(last.Response)
}

// upper is an adapter of another program. It makes capitals of an answer.
type upper struct{ *structure.Messages }

func newUpper(sink harmony.Sink, _ structure.Options) structure.Adapter {
	return upper{structure.NewMessages(sink)}
}

func (u upper) Write(text []byte, _ int64) {
	for _, c := range text {
		u.Answer([]byte{c &^ 0x20})
	}
}

func (upper) Timed() bool { return false }
func (u upper) Break()    { u.Close(harmony.EndedByEnd) }

func TestUnknownAdapter(t *testing.T) {
	config := func(speaks ...string) contract.Config {
		c := contract.DefaultConfig()
		for _, s := range speaks {
			m := contract.DefaultModel("m")
			m.Speaks = s
			c.Models = append(c.Models, m)
		}
		return *c
	}
	adapters := map[string]structure.New{"x-upper": newUpper}
	for _, tt := range []struct {
		options Options
		want    int
	}{
		{Options{Config: config("auto", "harmony", "chat", "marker")}, -1},
		{Options{Config: config("auto", "x-upper"), Adapters: adapters}, -1},
		{Options{Config: config("auto", "x-upper")}, 1},
		{Options{Config: config("x-other", "x-upper"), Adapters: adapters}, 0},
	} {
		if got := tt.options.UnknownAdapter(); got != tt.want {
			t.Errorf("%v: got %d, want %d", tt.options.Models, got, tt.want)
		}
	}
}
