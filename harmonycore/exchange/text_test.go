package exchange

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// textGateway is a gateway whose servers take and give text.
func textGateway(change func(*contract.Model)) *Gateway {
	return testGateway(func(o *Options) {
		o.Kind, _ = backend.Named("text")
		m := &o.Models[0]
		m.FallbackOnTimeoutMS, m.MinTokensBeforeFallback = contract.DefaultFallbackMS, contract.DefaultFallbackTokens
		if change != nil {
			change(m)
		}
	})
}

// textForm is how a server writes an answer as text.
type textForm struct {
	name string
	// stripped reports whether it leaves control tokens out, and stops whether it writes the token that ended the answer.
	stripped, stops bool
}

var textForms = []textForm{{"printed", false, false}, {"printed with its stop", false, true}, {"stripped", true, false}}

// textChunk is an event of a server's stream of text; finish may be empty.
func textChunk(index int, text, finish string) string {
	quoted, _ := json.Marshal(text)
	reason := "null"
	if finish != "" {
		reason = `"` + finish + `"`
	}
	return fmt.Sprintf("data: {\"choices\":[{\"index\":%d,\"text\":%s,\"finish_reason\":%s}]}\n\n", index, quoted, reason)
}

// textEvents is the stream of a server that writes an answer in this form, one token in an event.
func (f textForm) textEvents(ids []uint32, finish string) string {
	var b strings.Builder
	var d tokenizer.Decoder
	for i, id := range ids {
		last := i == len(ids)-1
		text := ""
		if !tokenizer.IsSpecial(id) {
			text = string(d.Append(nil, o200k.Tokenizer(), id))
		} else if name, _ := tokenizer.SpecialName(id); !f.stripped && (f.stops || !last || finish != "stop") {
			text = name
		}
		reason := ""
		if last {
			reason = finish
		}
		b.WriteString(textChunk(0, text, reason))
	}
	return b.String() + usageOf(len(ids)) + serverDone
}

// usageOf is a server's event with the count of its tokens.
func usageOf(tokens int) string {
	return fmt.Sprintf("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":%d}}\n\n", tokens)
}

// bodies are the requests of both APIs, streamed and whole, with these members.
func bodies(members string) map[string]string {
	const tools = `,"tools":[{"type":"function",%s"name":"get_weather","parameters":{"type":"object"}%s}]`
	out := map[string]string{}
	for _, stream := range []string{"true", "false"} {
		out["/v1/chat/completions "+stream] = `{"model":"` + testModel + `","stream":` + stream + members +
			`,"messages":[{"role":"user","content":"Hi"}]` + fmt.Sprintf(tools, `"function":{`, "}") + `}`
		out["/v1/responses "+stream] = `{"model":"` + testModel + `","stream":` + stream + members + `,"input":"Hi"` +
			fmt.Sprintf(tools, "", "") + `}`
	}
	return out
}

var estimated = regexp.MustCompile(`"(reasoning_tokens|sequence_number)":[0-9]+`)

var textAnswers = []string{
	"<|channel|>analysis<|message|>Hm 😀 so.<|end|><|start|>assistant<|channel|>final<|message|>Hé! a < b<|return|>",
	"<|channel|>analysis<|message|>Look.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather " +
		"<|constrain|>json<|message|>{\"city\":\"Zürich\"}<|call|>",
	" to=functions.get_weather<|channel|>commentary json<|message|>{\"city\":\"Paris\"}<|call|>",
	"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant to=functions.get_weather<|channel|>commentary " +
		"json<|message|>{}<|call|>",
	"<|channel|>final<|message|>Done.<|return|>",
}

// TestTextEveryCut: text gives the client what ids do, in each form, API and shape, wherever the network cuts it. Only
// numbers of reasoning tokens are estimates.
func TestTextEveryCut(t *testing.T) {
	for _, answer := range textAnswers {
		ids := o200k.Tokenizer().AppendEncodeSpecial(nil, answer)
		for name, body := range bodies("") {
			path, _, _ := strings.Cut(name, " ")
			want := outcome(t, forwarded(t, testGateway(nil), path, body), []string{answerOf(answer), ""})
			for _, form := range textForms {
				stream := form.textEvents(ids, "stop")
				got := outcome(t, forwarded(t, textGateway(nil), path, body), []string{stream, ""})
				if folded(t, got) != folded(t, want) {
					t.Fatalf("%s, %s, %s:\n got %s\nwant %s", answer, form.name, name, got, want)
				}
				step := 1
				if testing.Short() {
					step = 61
				}
				for at := 0; at < len(stream); at += step {
					cut := outcome(t, forwarded(t, textGateway(nil), path, body), []string{stream[:at], stream[at:], ""})
					if cut != got {
						t.Fatalf("%s, %s, %s, cut at %d:\n got %s\nwant %s", answer, form.name, name, at, cut, got)
					}
				}
				bytewise := outcome(t, forwarded(t, textGateway(nil), path, body), append(strings.Split(stream, ""), ""))
				if bytewise != got {
					t.Fatalf("%s, %s, %s, in bytes:\n got %s\nwant %s", answer, form.name, name, bytewise, got)
				}
			}
		}
	}
}

// folded is an answer without what depends on how the text of a stream is cut, and without what is estimated from text.
func folded(t *testing.T, answer string) string {
	t.Helper()
	if events := strings.Split(strings.TrimSpace(answer), "\n\n"); strings.Contains(answer, "event: response.") {
		answer = events[len(events)-1] // it has the whole response
	} else if strings.Contains(answer, "data: ") {
		var fold struct{ Reasoning, Content, Call, Arguments, Finish, Rest string }
		for _, event := range events {
			_, data, _ := strings.Cut(event, "data: ")
			var chunk struct {
				Choices []struct {
					Index int
					Delta struct {
						Reasoning, Content string
						ToolCalls          []struct {
							ID       string
							Function struct{ Name, Arguments string }
						} `json:"tool_calls"`
					}
					FinishReason string `json:"finish_reason"`
				}
			}
			if json.Unmarshal([]byte(data), &chunk) != nil || len(chunk.Choices) != 1 {
				fold.Rest += data
				continue
			}
			c := &chunk.Choices[0]
			fold.Reasoning += c.Delta.Reasoning
			fold.Content += c.Delta.Content
			for _, call := range c.Delta.ToolCalls {
				fold.Call += call.ID + call.Function.Name
				fold.Arguments += call.Function.Arguments
			}
			fold.Finish += c.FinishReason
		}
		answer = fmt.Sprintf("%+v", fold)
	}
	return estimated.ReplaceAllString(answer, `"$1":0`)
}

// TestTextSettings: the defaults of the contract are the same as in package harmony.
func TestTextSettings(t *testing.T) {
	if contract.DefaultFallbackMS != harmony.DefaultTimeoutMS ||
		contract.DefaultFallbackTokens != harmony.DefaultMinTokens ||
		contract.MaxFallbackTokens*4 != harmony.MaxUndecided {
		t.Error("the contract's defaults are not those of package harmony")
	}
}
