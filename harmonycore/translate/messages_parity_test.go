package translate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// responsesBlocks are the items of a response in the words of [blocksOf]: without empty texts, and without what comes
// behind a call. hidden leaves out reasoning.
func responsesBlocks(t *testing.T, response map[string]any, hidden bool) string {
	t.Helper()
	var blocks []string
	called := false
	for _, v := range response["output"].([]any) {
		item := v.(map[string]any)
		text := ""
		if content, _ := item["content"].([]any); len(content) > 0 {
			text = content[0].(map[string]any)["text"].(string)
		}
		switch item["type"] {
		case "message":
			if text != "" && !called {
				blocks = append(blocks, fmt.Sprintf("text %q", text))
			}
		case "reasoning":
			if !hidden && !called {
				blocks = append(blocks, fmt.Sprintf("thinking %q -", text))
			}
		default:
			called = true
			arguments, ok := item["arguments"].(string)
			if !ok {
				arguments = item["input"].(string)
			}
			input := decode(t, string(anthropic.AppendOutput(nil, &anthropic.OutputBlock{
				Kind: anthropic.OutputToolUse, Arguments: []byte(arguments)})))["input"]
			blocks = append(blocks, fmt.Sprintf("%s %s", item["name"], encode(t, input)))
		}
	}
	return strings.Join(blocks, " · ")
}

// checkParity checks that an answer of Messages has what the response has that the same model's text makes.
func checkParity(t *testing.T, c answerCase) {
	t.Helper()
	response := decode(t, play(answerTo(t, ResponsesAPI, ""), c, never))
	for _, thinking := range []anthropic.Thinking{anthropic.ThinkingShown, anthropic.ThinkingOff} {
		hidden := thinking == anthropic.ThinkingOff
		m := checkMessages(t, c, thinking, Sealing{})
		if got, want := blocksOf(t, m, Sealing{}), responsesBlocks(t, response, hidden); got != want {
			t.Fatalf("%s: a message of\n%s\na response of\n%s", c.name, got, want)
		}
		usage, counted := m["usage"].(map[string]any), response["usage"].(map[string]any)
		if usage["output_tokens"] != counted["output_tokens"] ||
			encode(t, usage["output_tokens_details"].(map[string]any)["thinking_tokens"]) !=
				encode(t, counted["output_tokens_details"].(map[string]any)["reasoning_tokens"]) {
			t.Fatalf("%s: %v, want %v", c.name, usage, counted)
		}
	}
}

// recorded is a [harmony.Sink] that writes down a turn.
type recorded struct{ turn []msg }

func (r *recorded) Open(h harmony.Header) {
	r.turn = append(r.turn, msg{recipient: h.Recipient, channel: h.Channel})
}

func (r *recorded) Content(text []byte, _ int) {
	last := &r.turn[len(r.turn)-1]
	last.pieces = append(last.pieces, string(text))
}

func (r *recorded) Close(end harmony.End) { r.turn[len(r.turn)-1].end = end }

// parityStride is one of how many streams TestMessagesParity reads. All of them take 13 seconds.
const parityStride = 12

// TestMessagesParity checks answers to what the vectors' models have written, whole and cut off behind each token.
func TestMessagesParity(t *testing.T) {
	streams, cuts := 0, 0
	seen := map[string]bool{}
	err := vectors.Each("../harmony/testdata", "parse_*.jsonl", 1000, func(_ vectors.Place, v *vectors.Stream) error {
		ids, ok := v.IDs()
		if !ok {
			return nil
		}
		if streams++; streams%parityStride != 0 {
			return nil
		}
		for n := range len(ids) + 1 {
			var sink recorded
			parser := harmony.NewStreamParser(o200k.Tokenizer(), &sink)
			for _, id := range ids[:n] {
				parser.Process(id)
			}
			parser.Finish()
			c := answerCase{fmt.Sprint(ids[:n]), sink.turn, Length}
			if n == len(ids) {
				c.finish = Stop
			}
			if key := fmt.Sprintf("%q %d", c.turn, c.finish); !seen[key] {
				seen[key] = true
				checkParity(t, c)
				cuts++
			}
		}
		return nil
	})
	if err != nil || streams < 100 || cuts < 1000 {
		t.Fatalf("%d streams, %d turns, %v", streams, cuts, err)
	}
	t.Logf("%d turns of %d streams", cuts, streams)
}
