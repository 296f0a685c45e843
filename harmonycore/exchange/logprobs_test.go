package exchange

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// logprobsChunk is an event whose token at place i of the answer has the logprob -i.
func logprobsChunk(ids []uint32, from int, finish string) string {
	values, top := make([]int, len(ids)), make([]map[string]int, len(ids))
	for i, id := range ids {
		values[i] = -(from + i)
		top[i] = map[string]int{fmt.Sprintf("token_id:%d", id): values[i]}
	}
	list, _ := json.Marshal(ids)
	own, _ := json.Marshal(values)
	others, _ := json.Marshal(top)
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"text\":\"\",\"logprobs\":{\"token_logprobs\":%s,"+
		"\"top_logprobs\":%s},\"token_ids\":%s,\"finish_reason\":%s}]}\n\n",
		own, others, list, finish)
}

// TestLogprobsFollowContent: for any answer, the bytes of the logprobs are the content's bytes, each token has its own
// number, and none is a control token; whole or streamed, and however many tokens an event has.
func TestLogprobsFollowContent(t *testing.T) {
	long := strings.Repeat("word ", harmony.MaxHeaderTokens+20)
	for _, text := range []string{
		"<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>final<|message|>Hello 👩‍👧 ﷽.<|return|>",
		"no header at all<|return|>", "assistant final and so on<|return|>", "json", "final",
		"<|channel|>final<|message|>A<|channel|>B<|channel|>final<|message|>C<|return|>",
		"<|channel|>final<|message|>A<|end|>B<|end|><|start|>assistant<|channel|>final<|message|>C",
		"<|start|>assistant<|start|>assistant<|channel|>final words here that are none<|end|>",
		"<|channel|>" + long + "<|message|>x<|return|>", "<|channel|>final " + long, long,
		strings.Repeat("<|channel|>analysis user<|end|><|start|>assistant", 40) +
			"<|channel|>final<|message|>Hello<|return|>",
	} {
		ids := o200k.Tokenizer().AppendEncodeSpecial(nil, text)
		for _, size := range []int{1, 2, 7, len(ids)} {
			var stream strings.Builder
			for from := 0; from < len(ids); from += size {
				stream.WriteString(logprobsChunk(ids[from:min(from+size, len(ids))], from, "null"))
			}
			stream.WriteString(logprobsChunk([]uint32{}, 0, `"stop"`) + serverUsage + serverDone)
			for _, requested := range []string{"", `"stream":true,`} {
				body := `{"model":"` + testModel + `",` + requested +
					`"logprobs":true,"top_logprobs":1,"messages":[{"role":"user",` +
					`"content":"Hi"}]}`
				checkLogprobs(t, ids, answered(t, body, stream.String()))
			}
		}
	}
}

func checkLogprobs(t *testing.T, ids []uint32, answer string) {
	t.Helper()
	type part struct {
		Choices []struct {
			Message, Delta struct{ Content string }
			Logprobs       *struct {
				Content []struct {
					Logprob int
					Bytes   []int
					Top     []struct{ Logprob int } `json:"top_logprobs"`
				}
			}
		}
	}
	content, spelled, last := "", []byte{}, -1
	for event := range strings.SplitSeq(strings.TrimSpace(answer), "\n\n") {
		event = strings.TrimPrefix(event, "data: ")
		if event == "[DONE]" {
			continue
		}
		var p part
		if err := json.Unmarshal([]byte(event), &p); err != nil {
			t.Fatalf("%v in %s", err, event)
		}
		for _, c := range p.Choices {
			content += c.Message.Content + c.Delta.Content
			if c.Logprobs == nil {
				continue
			}
			for _, l := range c.Logprobs.Content {
				at := -l.Logprob
				if at <= last || at >= len(ids) || tokenizer.IsSpecial(ids[at]) || len(l.Top) != 1 ||
					l.Top[0].Logprob != l.Logprob {
					t.Fatalf("%+v after token %d in %s", l, last, event)
				}
				want, _ := o200k.Tokenizer().TokenBytes(ids[at])
				for _, b := range l.Bytes {
					spelled = append(spelled, byte(b))
				}
				if !strings.HasSuffix(string(spelled), string(want)) {
					t.Fatalf("%v for the token %q", l.Bytes, want)
				}
				last = at
			}
		}
	}
	// A token of a header may have the beginning of the content in it.
	if !strings.HasSuffix(string(spelled), content) || len(spelled) > len(content)+8 {
		t.Errorf("logprobs spell %q, the content is %q", spelled, content)
	}
}

// TestLogprobsMissing checks the error for a server that does not return the requested logprobs.
func TestLogprobsMissing(t *testing.T) {
	body := `{"model":"` + testModel + `","logprobs":true,"messages":[{"role":"user","content":"Hi"}]}`
	for _, logprobs := range []string{`null`, `{}`, `{"token_logprobs":[]}`, `{"token_logprobs":[null]}`,
		`{"token_logprobs":["x"]}`, `{"token_logprobs":[-1,-1]}`} {
		got := answered(t, body, `data: {"choices":[{"index":0,"logprobs":`+logprobs+`,"token_ids":[200005]}]}`+"\n\n")
		if !strings.Contains(got, "does not say how likely") {
			t.Errorf("%s: %s", logprobs, got)
		}
	}
}
