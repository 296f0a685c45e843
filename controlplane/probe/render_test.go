package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// template is a chat template of a family, cut down: what stands between the texts of a conversation.
type template struct {
	call string // with a call of add
	// thought stands before a call, with %s for the reasoning. "" if the template drops it.
	thought string
	end     string
}

// rendersBy serves a vLLM that renders by a template. Each byte is a token.
func rendersBy(t template, info string) map[string]http.HandlerFunc {
	render := func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []struct {
				Role, Content string
				Reasoning     string `json:"reasoning_content"`
				Calls         []any  `json:"tool_calls"`
			}
			Choice string `json:"tool_choice"`
			Tools  []any
		}
		if json.NewDecoder(r.Body).Decode(&q) != nil || len(q.Tools) > 0 && q.Choice != "none" {
			http.Error(w, `{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice","code":400}}`, 400)
			return
		}
		text := ""
		for _, m := range q.Messages {
			text += "<" + m.Role + ">"
			if m.Reasoning != "" && t.thought != "" {
				text += fmt.Sprintf(t.thought, m.Reasoning)
			}
			text += m.Content
			if len(m.Calls) > 0 {
				text += t.call
			}
		}
		var ids []int
		for _, b := range []byte(text + t.end) {
			ids = append(ids, int(b))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"token_ids": ids, "sampling_params": map[string]any{}})
	}
	return map[string]http.HandlerFunc{
		"/v1/models": says(200, `{"data":[{"id":"Qwen/Qwen3-30B-A3B","owned_by":"vllm","max_model_len":4096}]}`),
		"/tokenize":  says(404, ""), "/tokenizer_info": says(map[bool]int{true: 200, false: 404}[info != ""], info),
		contract.CompletionsPath: says(404, ""), contract.RenderPath: render,
		contract.InferenceGeneratePath: says(200, `data: {"choices":[{"index":0,"text":"Hi","token_ids":[72,105],`+
			`"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n"),
		contract.ChatPath: says(200, `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}`+
			"\n\ndata: [DONE]\n\n"),
		"/detokenize": func(w http.ResponseWriter, r *http.Request) {
			var q struct{ Tokens []int }
			body, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(body, &q)
			text := make([]byte, len(q.Tokens))
			for i, id := range q.Tokens {
				text[i] = byte(id)
			}
			_ = json.NewEncoder(w).Encode(map[string]string{"prompt": string(text)})
		},
	}
}

// TestRender: a vLLM that renders is used as one, and its template tells the form of calls, where reasoning stands, and
// how an answer begins.
func TestRender(t *testing.T) {
	const think = "<think>\n%s\n</think>\n\n"
	for _, tt := range []struct {
		template
		speaks, history string
		opened          bool
	}{
		{template{"<tool_call>\n" + `{"name": "add", "arguments": {"a": 2, "b": 3}}` + "\n</tool_call><|im_end|>\n", think,
			"<|im_start|>assistant\n"}, contract.SpeaksHermes, contract.ReasoningContentOnly, false},
		{template{"<tool_call>\n<function=add>\n<parameter=a>\n2\n</parameter>\n<parameter=b>\n3\n</parameter>\n</function>\n" +
			"</tool_call><|im_end|>\n", "", "<|im_start|>assistant\n"}, contract.SpeaksQwen3Coder, contract.ReasoningThinkTags,
			false},
		{template{"<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>2</arg_value>\n<arg_key>b</arg_key>\n" +
			"<arg_value>3</arg_value>\n</tool_call><|observation|>", think, "<|assistant|><think>\n"}, contract.SpeaksGLM45,
			contract.ReasoningContentOnly, true},
		{template{`<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"a": 2, "b": 3}` +
			"<|tool_call_end|><|tool_calls_section_end|><|im_end|>", think, "<|im_assistant|>assistant<|im_middle|>"},
			contract.SpeaksKimiK2, contract.ReasoningContentOnly, false},
		{template{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n" + `{"a": 2, "b": 3}` +
			"\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", think, "<｜Assistant｜><think>"},
			contract.SpeaksDeepSeekV3, contract.ReasoningContentOnly, true},
		{template{"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter name=\"a\" string=\"false\">2" +
			"</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n" +
			"</｜DSML｜function_calls><｜end▁of▁sentence｜>", think, "<｜Assistant｜><think>"}, contract.SpeaksDeepSeekV32,
			contract.ReasoningContentOnly, true},
		{template{`[TOOL_CALLS][{"name": "add", "arguments": {"a": 2, "b": 3}, "id": "call00001"}]</s>`, think, ""},
			contract.SpeaksMistral, contract.ReasoningContentOnly, false},
		{template{"<|start_header_id|>assistant<|end_header_id|>\n\n" + `{"name": "add", "parameters": {"a": 2, "b": 3}}` +
			"<|eot_id|>", think, "<|start_header_id|>assistant<|end_header_id|>\n\n"}, contract.SpeaksLlama3JSON,
			contract.ReasoningContentOnly, false},
		{template{"call add(a=2, b=3)", think, ""}, "", contract.ReasoningContentOnly, false},
		// A template without calls.
		{template{"", think, ""}, "", contract.ReasoningContentOnly, false},
	} {
		r, err := ask(t, sim.Options{}, rendersBy(tt.template, ""))
		if err != nil || r.Kind() == nil || r.Kind().Name != contract.VLLMRender || r.Chat != nil || r.Problem() != "" {
			t.Fatalf("%q: %v, %+v", tt.call, err, r)
		}
		if got := r.Render; got.Problem != "" || got.Speaks != tt.speaks || got.History != tt.history ||
			got.Opened != tt.opened || (got.Call != "") != (tt.speaks == "" && tt.call != "") && tt.call != "" {
			t.Errorf("%q: got %+v", tt.call, got)
		}
	}
}

// TestSpellings: the control tokens come from the server, whole or not at all.
func TestSpellings(t *testing.T) {
	many := ""
	for i := range maxSpellings + 1 {
		many += fmt.Sprintf(`,"%d":"<|r%d|>"`, i+9, i)
	}
	for info, want := range map[string][]string{
		"": nil, "{}": nil,
		`{"added_tokens_decoder":{"1":"<|im_end|>","2":"<think>","3":"<tool_call>","4":{"content":"[INST]"}}}`: {"<tool_call>",
			"<|im_end|>", "[INST]"},
		`{"added_tokens_decoder":{"1":"<|im_end|>","2":"  "}}`:         {"<|im_end|>"},
		`{"added_tokens_decoder":{"1":"<|im_end|>","2":"<| a|>"}}`:     nil,
		`{"added_tokens_decoder":{"1":"<|im_end|>"` + many + `}}`:      nil,
		`{"added_tokens_decoder":{"1":"<|im_end|>","2":"<|im_end|>"}}`: {"<|im_end|>"},
	} {
		r, err := ask(t, sim.Options{}, rendersBy(template{call: "x"}, info))
		if err != nil || !slices.Equal(r.Render.Spellings, want) {
			t.Errorf("%s: got %q, %v", info, r.Render.Spellings, err)
		}
	}
}

// TestRenderUnread: a server that renders and does not detokenize is used all the same, and the report says what is
// unknown.
func TestRenderUnread(t *testing.T) {
	pages := rendersBy(template{}, "")
	pages["/detokenize"] = says(404, "")
	r, err := ask(t, sim.Options{}, pages)
	if err != nil || r.Kind().Name != contract.VLLMRender || !strings.Contains(r.Render.Problem, "/detokenize") {
		t.Errorf("got %+v, %v", r.Render, err)
	}
}
