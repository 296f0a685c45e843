package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// endRepetitions ends answers whose reasoning or text repeats itself, as an operator can configure.
func endRepetitions(reasoning, text string) func(*Options) {
	return func(o *Options) {
		o.Models[0].Repetition = contract.Repetition{
			Reasoning: reasoning, Text: text, MaxPatternSize: 128, MinCount: 4, MinTokens: 96,
		}
	}
}

const (
	inAnalysis = "<|channel|>analysis<|message|>"
	inFinal    = "<|channel|>final<|message|>"
	toAnswer   = "<|end|><|start|>assistant"
)

// TestRepetitions: a model that says the same again and again is stopped where the operator wants it, and its client
// reads why.
func TestRepetitions(t *testing.T) {
	again := strings.Repeat(" I should check that again. Wait,", 60)
	blank := strings.Repeat(" \n\n\n \n", 100)
	for _, tt := range []struct {
		name, reasoning, text, answer string
		repeated                      bool
	}{
		{"reasoning", "end", "off", inAnalysis + "Hm." + again + toAnswer + inFinal + "Yes.<|return|>", true},
		{"reasoning, which is not looked at", "off", "end",
			inAnalysis + "Hm." + again + toAnswer + inFinal + "Yes.<|return|>", false},
		{"text", "off", "end", inFinal + "So:" + again + "<|return|>", true},
		{"text, which is not looked at", "end", "off", inFinal + "So:" + again + "<|return|>", false},
		{"a preamble", "off", "end", "<|channel|>commentary<|message|>So:" + again + "<|end|>", true},
		{"nothing but white space", "end", "end", inFinal + "So:" + blank + "<|return|>", true},
		{"dots and ellipses", "end", "end", inAnalysis + strings.Repeat("… ... …. \n", 60) + toAnswer, true},
		{"a call's arguments", "off", "end", earlyCallOf(`{"a":"` + again + `"}`), true},
		{"a call's arguments, which are not looked at", "end", "off", earlyCallOf(`{"a":"` + again + `"}`), false},
		{"the same message twice", "end", "end",
			inAnalysis + again[:200] + toAnswer + inAnalysis + again[:200] + toAnswer + inFinal + "Yes.<|return|>", false},
		{"the same message again and again", "end", "off",
			strings.Repeat(inAnalysis+"I should check that."+toAnswer, 40) + inFinal + "Yes.<|return|>", true},
		{"the same message again and again, which is not looked at", "off", "end",
			strings.Repeat(inAnalysis+"I should check that."+toAnswer, 40) + inFinal + "Yes.<|return|>", false},
		{"all is off", "off", "off", inAnalysis + again + toAnswer + inFinal + again + "<|return|>", false},
	} {
		for _, api := range []struct{ path, body, why string }{
			{"/v1/chat/completions", chatWith(true, weatherTool[1:len(weatherTool)-1]),
				`"finish_reason":"length","stop_reason":"repetition_detected"}`},
			{"/v1/chat/completions", chatWith(false, weatherTool[1:len(weatherTool)-1]),
				`"finish_reason":"length","stop_reason":"repetition_detected"}`},
			{"/v1/responses", `{"model":"` + testModel + `","stream":true,"input":"x","tools":[{"type":"function",` +
				`"name":"get_weather","parameters":{"type":"object"}}]}`,
				`"incomplete_details":{"reason":"max_output_tokens","stop_reason":"repetition_detected"}`},
			{"/v1/messages", `{"model":"` + testModel + `","max_tokens":2000,"messages":[{"role":"user",` +
				`"content":"x"}],"tools":[{"name":"get_weather","input_schema":{"type":"object"}}]}`,
				`"stop_reason":"max_tokens"`},
		} {
			want := ""
			for _, size := range []int{1, 3, 1000} {
				x := forwarded(t, testGateway(endRepetitions(tt.reasoning, tt.text)), api.path, api.body)
				got := strings.TrimSuffix(outcome(t, x, cutEvery(inEvents(tt.answer, size), 400)), "(cut)")
				if want == "" {
					want = got
				}
				r := x.Report()
				if strings.Contains(got, api.why) != tt.repeated || r.Repeated != tt.repeated ||
					(r.EarlyEnd == EarlyRepetition) != tt.repeated {
					t.Errorf("%s, %s: %q, %v\n%s", tt.name, api.path, r.EarlyEnd, r.Repeated, got)
				}
				if got != want {
					t.Errorf("%s, %s: %d tokens in an event:\n%s\nwant\n%s", tt.name, api.path, size, got, want)
				}
			}
		}
	}
}

func earlyCallOf(arguments string) string {
	return "<|channel|>commentary to=functions.get_weather<|message|>" + arguments + "<|call|>"
}

// TestServersFindRepetitions: what vLLM says when its own repetition_detection ends an answer is no failure.
func TestServersFindRepetitions(t *testing.T) {
	answer := strings.Replace(inEvents(inFinal+"So so so", 100), `"stop"`, `"repetition"`, 1)
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	got := outcome(t, x, []string{answer})
	if r := x.Report(); !strings.Contains(got, `"stop_reason":"repetition_detected"`) || !r.Repeated ||
		r.Finish != FinishLength || r.EarlyEnd != "" {
		t.Errorf("%+v\n%s", r, got)
	}
}

// TestRepeatingStreamIsCut: a server whose model repeats itself goes on to its limit. Nobody waits for it.
func TestRepeatingStreamIsCut(t *testing.T) {
	answer := inEvents(inAnalysis+strings.Repeat(" Wait, no.", 100), 1)
	drainTwo := func(o *Options) {
		endRepetitions("end", "off")(o)
		o.Models[0].DrainTokens = 2
	}
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/chat/completions", chatBody(true), "..R"},
		{"/v1/responses", `{"model":"` + testModel + `","stream":true,"input":"x"}`, "..R"},
		{"/v1/responses", `{"model":"` + testModel + `","input":"x"}`, "reply"},
	} {
		x := forwarded(t, testGateway(drainTwo), tt.path, tt.body)
		if got := afterEarlyEnd(t, x, eventStream, answer); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.path, tt.body, got, tt.want)
		}
	}
}
