package exchange

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// mixedTurns are ways in which the choices of one request may end, each at its own time: the text, and the server's
// reason.
var mixedTurns = [...]struct{ text, finish string }{
	{
		"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>One two three 🫠 four<|return|>",
		"stop",
	},
	{"<|channel|>analysis<|message|>One two three four five six seven eight nine", "length"},
	{"<|channel|>commentary to=functions.get_weather<|message|>{\"city\":\"Paris\"}<|call|>", "stop"},
	{
		"<|channel|>commentary to=functions.get_weather<|message|>{}<|end|><|start|>assistant<|channel|>commentary " +
			"to=functions.get_weather<|message|>{\"a\":1}<|call|>", "stop",
	},
	{"<|channel|>commentary to=functions.get_weather<|message|>{\"ci", "length"},
	{
		"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary " +
			"to=functions.get_weather<|message|><|call|>", "stop",
	},
	{"<|channel|>final<|message|><|return|>", "stop"},
	{"<|channel|>analysis<|message|>Hm.<|end|>", "stop"},
	{
		"<|channel|>final<|message|>one<|end|><|start|>assistant<|channel|>final<|message|> two three four five six " +
			"seven<|return|>", "stop",
	},
	{"No header at all, three times<|return|>", "stop"},
	{"<|channel|>commentary to=python<|message|>1+1<|call|>", "stop"},
	{"<|channel|>final<|message|>half 🫠"[:len("<|channel|>final<|message|>half ")+2], "length"},
}

// mixedStream is a server's stream of choices whose events come as they will.
func mixedStream(rng *rand.Rand, turns []int) string {
	rest := make([][]uint32, len(turns))
	for i, turn := range turns {
		rest[i] = o200k.Tokenizer().AppendEncodeSpecial(nil, mixedTurns[turn].text)
	}
	var b strings.Builder
	for open := len(turns); open > 0; {
		i := rng.IntN(len(turns))
		if rest[i] == nil {
			continue
		}
		n := min(1+rng.IntN(6), len(rest[i]))
		ids, _ := json.Marshal(rest[i][:n])
		rest[i] = rest[i][n:]
		finish := "null"
		if len(rest[i]) == 0 {
			finish, rest[i], open = `"`+mixedTurns[turns[i]].finish+`"`, nil, open-1
		}
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":%d,\"token_ids\":%s,\"finish_reason\":%s}]}\n\n", i, ids, finish)
	}
	return b.String() + serverUsage + serverDone
}

// addUp adds up a stream as OpenAI's clients do: what no chunk has had is absent, and content is null until there is
// some.
func addUp(t *testing.T, body string) (map[int]map[string]any, any) {
	t.Helper()
	choices := map[int]map[string]any{}
	var usage any
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data := strings.TrimPrefix(event, "data: ")
		if data == "[DONE]" {
			return choices, usage
		}
		var chunk struct {
			Choices []struct {
				Index        int
				Delta        map[string]any
				FinishReason any `json:"finish_reason"`
			}
			Usage any
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		for _, c := range chunk.Choices {
			sum := choices[c.Index]
			if sum == nil {
				sum = map[string]any{}
				choices[c.Index] = sum
			}
			if sum["finish_reason"] != nil {
				t.Fatalf("after the end of choice %d: %s", c.Index, data)
			}
			sum["finish_reason"] = c.FinishReason
			for key, value := range c.Delta {
				before, text := sum[key].(string)
				switch piece, ok := value.(string); {
				case key == "tool_calls":
					addCalls(sum, value.([]any))
				case ok && text:
					sum[key] = before + piece
				case sum[key] == nil:
					sum[key] = value
				}
			}
		}
	}
	t.Fatalf("no [DONE] in %s", body)
	return nil, nil
}

func addCalls(sum map[string]any, pieces []any) {
	calls, _ := sum["tool_calls"].([]any)
	for _, p := range pieces {
		piece := p.(map[string]any)
		at := int(piece["index"].(float64))
		delete(piece, "index")
		if at == len(calls) {
			calls = append(calls, piece)
			continue
		}
		function := calls[at].(map[string]any)["function"].(map[string]any)
		function["arguments"] = function["arguments"].(string) + piece["function"].(map[string]any)["arguments"].(string)
	}
	sum["tool_calls"] = calls
}

// TestMixedChoices: choices that end each in its own way, and some before their server ends them, say the same in a
// stream and whole, null for null, however their events come among each other.
func TestMixedChoices(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 4))
	early := 0
	for round := range 600 {
		turns := make([]int, 1+rng.IntN(4))
		for i := range turns {
			turns[i] = rng.IntN(len(mixedTurns))
		}
		members := [...]string{"", `,"stop":" three"`, `,"parallel_tool_calls":false`,
			`,"thinking_token_budget":3`}[rng.IntN(4)]
		g := testGateway(func(o *Options) { o.Models[0].Answers.RequireFinalChannel = round%2 == 0 })
		stream := mixedStream(rng, turns)
		send := func(more string) (string, Report) {
			body := fmt.Sprintf(`{"model":%q,"n":%d,"messages":[{"role":"user","content":"Hi"}]%s%s%s`, testModel, len(turns),
				members, more, weatherTool)
			x := forwarded(t, g, "/v1/chat/completions", body)
			status, out, _ := strings.Cut(outcome(t, x, cutEvery(stream, 1+rng.IntN(len(stream)))), " ")
			if status != "200" {
				t.Fatalf("%v %s: %s %s", turns, members, status, out)
			}
			return out, x.Report()
		}
		streamed, seen := send(`,"stream":true,"stream_options":{"include_usage":true}`)
		text, report := send("")
		seen.WastedTokens, report.WastedTokens = 0, 0 // how many come before the server is released depends on how they come
		if seen != report {
			t.Fatalf("%v %s: the stream reports\n%+v, the whole answer\n%+v", turns, members, seen, report)
		}
		if report.EarlyEnd != "" {
			early++
		}
		var whole struct {
			Choices []struct {
				Message      map[string]any
				FinishReason any `json:"finish_reason"`
			}
			Usage any
		}
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		got, usage := addUp(t, streamed)
		if len(got) != len(turns) || len(whole.Choices) != len(turns) || !reflect.DeepEqual(usage, whole.Usage) {
			t.Fatalf("%v %s: %d and %d choices, usage %v and %v", turns, members, len(got), len(whole.Choices), usage,
				whole.Usage)
		}
		for i, c := range whole.Choices {
			c.Message["finish_reason"] = c.FinishReason
			delete(c.Message, "refusal")
			delete(c.Message, "annotations")
			if !reflect.DeepEqual(got[i], c.Message) {
				t.Fatalf("%v %s: choice %d adds up to\n%v\nwant\n%v\nof %s", turns, members, i, got[i], c.Message, stream)
			}
		}
	}
	if early == 0 {
		t.Error("no answer has ended early")
	}
}
