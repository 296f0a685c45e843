package backend

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// A vLLM 0.32 has sent these streams: with half a character in an id, with an end that has no text, with logprobs, and
// an error for an id that its model does not have.
const (
	renderedText = `data: {"request_id":"generate-tokens-ab72142c153279e0","usage":null,"output_mode":"text","choices":[` +
		`{"index":0,"finish_reason":null,"stop_reason":null,"token_ids":[91,4,98,70,225],"routed_experts":null,` +
		`"sampling_mask":null,"weight_versions":null,"text":"[\u0004bF","logprobs":null}]}` + "\n\n" +
		`data: {"request_id":"generate-tokens-ab72142c153279e0","usage":null,"output_mode":"text","choices":[` +
		`{"index":0,"finish_reason":null,"stop_reason":null,"token_ids":[228],"routed_experts":null,` +
		`"sampling_mask":null,"weight_versions":null,"text":"","logprobs":null}]}` + "\n\n" +
		`data: {"request_id":"generate-tokens-ab72142c153279e0","usage":null,"output_mode":"text","choices":[` +
		`{"index":0,"finish_reason":"length","stop_reason":null,"token_ids":[49],"routed_experts":null,` +
		`"sampling_mask":null,"weight_versions":[{"version":"default","start":0,"end":6}],"text":"` + "\uFFFD" +
		`1","logprobs":null}]}` + "\n\n" +
		`data: {"request_id":"generate-tokens-ab72142c153279e0","usage":{"prompt_tokens":11,"total_tokens":18,` +
		`"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4}},"output_mode":"text","choices":[]}` + "\n\n" +
		"data: [DONE]\n\n"
	renderedLogprobs = `data: {"request_id":"generate-tokens-1","usage":null,"output_mode":"text","choices":[{"index":0,` +
		`"finish_reason":null,"stop_reason":null,"token_ids":[262],"routed_experts":null,"sampling_mask":null,` +
		`"weight_versions":null,"text":"</think>","logprobs":{"content":[{"token":"</think>","logprob":-4.508761405944824,` +
		`"bytes":[60,47,116,104,105,110,107,62],"top_logprobs":[{"token":"a","logprob":-1.5,"bytes":[97]}]}]}}]}` + "\n\n"
	renderedError = `data: {"error": {"message": "Token id 99999 is out of vocabulary", "type": "BadRequestError", ` +
		`"param": null, "code": 400}}` + "\n\ndata: [DONE]\n\n"
)

func readAll(stream string, n int) (text string, ids []uint32, tokens int, last Event, logprobs []string) {
	r := vllmRender{}.NewReader()
	for len(stream) > 0 {
		piece := stream[:min(n, len(stream))]
		stream = stream[len(piece):]
		r.Write([]byte(piece))
		for {
			var e Event
			reading := r.Next(&e)
			if reading == Drained {
				break
			}
			if reading != Read {
				last.Error = &Error{Message: "unreadable"}
				return
			}
			text, ids, tokens = text+string(e.Text), append(ids, e.SampledIDs...), tokens+e.TextTokens
			for _, l := range e.TextLogprobs {
				logprobs = append(logprobs, string(l.Token)+string(l.Logprob))
			}
			if e.HasUsage {
				last.Usage, last.HasUsage = e.Usage, true
			}
			if e.Finish != Running {
				last.Finish = e.Finish
			}
			last.Done = last.Done || e.Done
			if e.Error != nil {
				last.Error = e.Error
			}
		}
	}
	return
}

func TestVLLMRenderReader(t *testing.T) {
	for n := 1; n < len(renderedText); n += 1 + n/16 {
		text, ids, tokens, last, _ := readAll(renderedText, n)
		if text != "[\x04bF\uFFFD1" || !slices.Equal(ids, []uint32{91, 4, 98, 70, 225, 228, 49}) || tokens != 7 ||
			last.Finish != Length || !last.Done || last.Usage.Prompt != 11 || last.Usage.Cached != 4 {
			t.Fatalf("in pieces of %d: %q, %v, %d tokens, %+v", n, text, ids, tokens, last)
		}
	}
	text, _, _, _, logprobs := readAll(renderedLogprobs, 7)
	if text != "</think>" || !slices.Equal(logprobs, []string{"</think>-4.508761405944824"}) {
		t.Errorf("%q, %q", text, logprobs)
	}
	if _, _, _, last, _ := readAll(renderedError, 100); last.Error == nil || last.Error.Status != 400 {
		t.Errorf("%+v", last.Error)
	}
	for _, missing := range []string{`"text":"[\u0004bF",`, `"token_ids":[91,4,98,70,225],`} {
		if _, _, _, last, _ := readAll(strings.Replace(renderedText, missing, "", 1), 100); last.Error == nil ||
			last.Error.Status != 502 {
			t.Errorf("without %s: %+v", missing, last.Error)
		}
	}
}

// TestVLLMRenderTemplate: an event that is like the last one is read where it lies, with its count.
func TestVLLMRenderTemplate(t *testing.T) {
	event := renderedText[:strings.Index(renderedText, "\n\n")+2]
	r := vllmRender{}.NewReader()
	var e Event
	r.Write([]byte(event))
	if r.Next(&e) != Read || r.Next(&e) != Drained {
		t.Fatal("the first event is not read")
	}
	next := strings.Replace(strings.Replace(event, `[91,4,98,70,225]`, `[7,8]`, 1), `[\u0004bF`, `é`, 1)
	size, reading := r.(LikeReader).Like([]byte(next), &e)
	if size != len(next) || reading != Read || string(e.Text) != "é" || e.TextTokens != 2 {
		t.Errorf("read %d of %d bytes, %v: %q, %d", size, len(next), reading, e.Text, e.TextTokens)
	}
}

// manyIDs is more ids than any context has. More would make TinyGo's heap large for the tests that follow.
const manyIDs = 1_000_000

// TestReadRendered: the largest answers and rude ones stay within the limit, and what goes to the engine is JSON.
func TestReadRendered(t *testing.T) {
	const few = `{"request_id":"chatcmpl-1","token_ids":[257,117,100000],"sampling_params":{"n":2,"a\"b":"c\u0022",` +
		`"max_tokens":5,"skip_special_tokens":true,"detokenize":false},"cache_salt":"no","priority":7,` +
		`"reasoning_ended":false,"kv_transfer_params":{"a":1}}`
	ids, r, ok := ReadRendered(nil, []byte(few), 3)
	if !ok || r.More || r.Media || !slices.Equal(ids, []uint32{257, 117, 100000}) {
		t.Fatalf("%v, %+v, %v", ids, r, ok)
	}
	got := string(AppendRendered(nil, "m", ids, 9, &r, []Member{{"top_k", "3"}, {"cache_salt", `"s"`}}))
	want := `{"model":"m","token_ids":[257,117,100000],"sampling_params":{"n":2,"a\"b":"c\u0022",` +
		`"skip_special_tokens":false,"max_tokens":9},"reasoning_ended":false,"cache_salt":"s","output_mode":"text",` +
		`"stream":true,"stream_options":{"include_usage":true}}`
	if got != want || !json.Valid([]byte(got)) {
		t.Errorf("got\n%s, not\n%s", got, want)
	}
	if ids, r, ok := ReadRendered(nil, []byte(few), 2); !ok || !r.More || len(ids) != 2 {
		t.Errorf("%v, %+v, %v", ids, r, ok)
	}
	text := `{"sampling_params":{},"token_ids":[` + strings.Repeat("1,", manyIDs) + `1]}`
	if ids, r, ok := ReadRendered(nil, []byte(text), 1000); !ok || !r.More || len(ids) != 1000 || cap(ids) > 2000 {
		t.Errorf("%d ids in memory for %d, %+v, %v", len(ids), cap(ids), r, ok)
	}
	for _, odd := range []string{"", "{}", "[]", "null", `{"token_ids":[1.5],"sampling_params":{}}`,
		`{"token_ids":[4294967295],"sampling_params":{}}`, `{"token_ids":["1"],"sampling_params":{}}`,
		`{"token_ids":{"a":1},"sampling_params":{}}`, `{"token_ids":[01],"sampling_params":{}}`,
		`{"token_ids":[1],"sampling_params":[]}`, strings.Repeat("[", 100_000)} {
		if ids, _, ok := ReadRendered(nil, []byte(odd), 10); ok {
			t.Errorf("%.60s is %v", odd, ids)
		}
	}
}

// TestVLLMRenderCause: the render's words and the engine's are known.
func TestVLLMRenderCause(t *testing.T) {
	for message, want := range map[string]Cause{
		"This model's maximum context length is 16384 tokens. However, your prompt contains at least 16385": ContextExceeded,
		"The decoder prompt (length 20000) is longer than the maximum model length of 16384.":               ContextExceeded,
		"qwen is not a multimodal model": ImageRefused,
		"Cannot apply chat template":     OtherCause,
	} {
		if got := (vllmRender{}).Cause(&Error{Status: 400, Message: message}); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
	if k, ok := Named(contract.VLLMRender); !ok || !k.Facts().Renders || k.Facts().EstimatesTokens() {
		t.Error("the kind is not known, or estimates tokens")
	}
}
