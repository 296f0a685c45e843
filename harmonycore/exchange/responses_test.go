package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestCompletedAt: a response is completed when the server has ended it, and not when it was asked for.
func TestCompletedAt(t *testing.T) {
	for _, stream := range []string{"", `,"stream":true`} {
		x := forwarded(t, testGateway(nil), "/v1/responses", `{"model":"`+testModel+`","input":"Hi"`+stream+`}`)
		now := int64(testNow + 2_000)
		x.clock = func() int64 { return now }
		x.ResponseHeaders(eventStream)
		events := strings.SplitAfter(answerOf("<|channel|>final<|message|>Hi<|return|>"), "\n\n")
		var body []byte
		for i, event := range events[:len(events)-1] {
			now = testNow + 3_000 + int64(i)*1_000
			body = append(body, x.ResponseBody([]byte(event), false).Body...)
		}
		_, last, _ := strings.Cut(string(body), "event: response.completed\ndata: ")
		if stream == "" {
			last = `{"response":` + string(body) + "}"
		}
		var got struct {
			Response struct {
				Created   int64 `json:"created_at"`
				Completed int64 `json:"completed_at"`
			}
		}
		if err := json.Unmarshal([]byte(last), &got); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		ended := int64(testNow/1_000 + 3 + len(events) - 2)
		if got.Response.Created != testNow/1_000 || got.Response.Completed != ended {
			t.Errorf("got %+v, want %d and %d", got.Response, testNow/1_000, ended)
		}
	}
}

// requestWithLogprobs is a request for logprobs.
func requestWithLogprobs(more string) string {
	return `{"model":"` + testModel + `","include":["message.output_text.logprobs"],"top_logprobs":1,"input":"Hi"` + more +
		`}`
}

// respond is what an exchange gives the client of Responses for the server's stream.
func respond(t *testing.T, body, stream string) string {
	t.Helper()
	x := forwarded(t, testGateway(nil), "/v1/responses", body)
	x.ResponseHeaders(eventStream)
	a := x.ResponseBody([]byte(stream), true)
	if a.Reply != nil {
		return string(a.Reply.Body)
	}
	return string(a.Body)
}

// responsePart is a message's text as the client has it.
type responsePart struct {
	Type, Text string
	Logprobs   []struct {
		Logprob int
		Bytes   []int
		Top     []struct{ Logprob int } `json:"top_logprobs"`
	}
}

// TestLogprobsFollowText: for any answer, the bytes of a message's logprobs are its text's bytes, each token has its
// own number, and none is a control token's; the final object of a stream is the whole answer.
func TestLogprobsFollowText(t *testing.T) {
	for _, text := range []string{
		"<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>final<|message|>Hello 👩‍👧 ﷽.<|return|>",
		"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>There.<|return|>",
		"no header at all<|return|>", "assistant final and so on<|return|>", "json", "final",
		"<|channel|>final<|message|>A<|channel|>B<|channel|>final<|message|>C<|return|>",
		"<|channel|>final<|message|>A<|end|>B<|end|><|start|>assistant<|channel|>final<|message|>C",
		strings.Repeat("<|channel|>analysis user<|end|><|start|>assistant", 40) +
			"<|channel|>final<|message|>Hello<|return|>",
	} {
		ids := o200k.Tokenizer().AppendEncodeSpecial(nil, text)
		for _, size := range []int{1, 3, len(ids)} {
			var stream strings.Builder
			for from := 0; from < len(ids); from += size {
				stream.WriteString(logprobsChunk(ids[from:min(from+size, len(ids))], from, "null"))
			}
			stream.WriteString(logprobsChunk([]uint32{}, 0, `"stop"`) + serverUsage + serverDone)
			whole := respond(t, requestWithLogprobs(""), stream.String())
			checkMessages(t, ids, whole)
			answer := respond(t, requestWithLogprobs(`,"stream":true`), stream.String())
			_, last, _ := strings.Cut(answer, `"type":"response.completed"`)
			if _, response, _ := strings.Cut(last, `"response":`); strings.TrimSuffix(response, "}\n\n") != whole {
				t.Errorf("%q: the stream ends with\n%s\nthe whole answer is\n%s", text, response, whole)
			}
		}
	}
}

func checkMessages(t *testing.T, ids []uint32, answer string) {
	t.Helper()
	var got struct {
		Output []struct{ Content []responsePart }
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	last, messages := -1, 0
	for _, item := range got.Output {
		for _, part := range item.Content {
			if part.Type != "output_text" {
				continue
			}
			messages++
			var spelled []byte
			for _, l := range part.Logprobs {
				at := -l.Logprob
				if at <= last || at >= len(ids) || tokenizer.IsSpecial(ids[at]) || len(l.Top) != 1 ||
					l.Top[0].Logprob != l.Logprob {
					t.Fatalf("%+v after token %d in %s", l, last, answer)
				}
				last = at
				for _, b := range l.Bytes {
					spelled = append(spelled, byte(b))
				}
			}
			// A token of a header may have the beginning of the text in it.
			if before := len(spelled) - len(part.Text); before < 0 || before > 8 || string(spelled[before:]) != part.Text {
				t.Errorf("logprobs spell %q, the text is %q", spelled, part.Text)
			}
		}
	}
	if messages == 0 {
		t.Errorf("no message in %s", answer)
	}
}

// TestResponsesLogprobsRefused: a server that does not say how likely its tokens were, and an answer that has grown too
// large by them, are errors that say what to ask for instead.
func TestResponsesLogprobsRefused(t *testing.T) {
	silent := serverChunk(0, "<|channel|>final<|message|>Hi", "")
	got := respond(t, requestWithLogprobs(""), silent)
	if !strings.Contains(got, "Ask without 'message.output_text.logprobs'") {
		t.Error(got)
	}
	x := forwarded(t, testGateway(func(o *Options) { o.Models[0].ContextLength = 1 << 20 }), "/v1/responses",
		requestWithLogprobs(""))
	x.ResponseHeaders(eventStream)
	x.ResponseBody([]byte(chunkWithLogprobs("<|channel|>final<|message|>")), false)
	words := chunkWithLogprobs(strings.Repeat(" word", 1_000))
	for sent := 0; sent < 200; sent++ {
		if a := x.ResponseBody([]byte(words), false); a.Reply != nil {
			if got := string(a.Reply.Body); !strings.Contains(got, "ask for fewer 'top_logprobs', or without") {
				t.Error(got)
			}
			return
		}
	}
	t.Error("an answer of 200,000 tokens is held")
}

// chunkWithLogprobs is an event of the server's with these tokens.
func chunkWithLogprobs(text string) string {
	return logprobsChunk(o200k.Tokenizer().AppendEncodeSpecial(nil, text), 0, "null")
}
