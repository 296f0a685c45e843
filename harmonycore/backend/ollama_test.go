package backend

import (
	"strings"
	"testing"
)

// ollamaLine is a line with text, as Ollama writes it.
func ollamaLine(text string) string {
	return `{"model":"gpt-oss:20b","created_at":"2026-08-21T18:48:22.123456789Z","response":"` + text + `","done":false}` +
		"\n"
}

// ollamaEnd is the last line.
func ollamaEnd(reason string) string {
	return `{"model":"gpt-oss:20b","created_at":"2026-08-21T18:48:22.5Z","response":"","done":true,` + reason +
		`"total_duration":2,"load_duration":1,"prompt_eval_count":7,"prompt_eval_duration":1,"eval_count":3,` +
		`"eval_duration":1}` + "\n"
}

const (
	ollamaStop   = `"done_reason":"stop",`
	ollamaLength = `"done_reason":"length",`
	ollamaUsage  = "usage {Prompt:7 Cached:0 Completion:3 HasCached:false}"
)

var ollamaStreams = []streamCase{
	{"stop", ollamaLine("<|channel|>final<|message|>Hi 😀") + ollamaLine(" \\ud83d\\ude00\\n") + ollamaEnd(ollamaStop),
		`0:[]1  "<|channel|>final<|message|>Hi 😀"0 " 😀\n"0 ` + ollamaUsage},
	{"length", ollamaLine("H\\u00e9") + ollamaEnd(ollamaLength), `0:[]2  "Hé"0 ` + ollamaUsage},
	{"an end without a reason", ollamaEnd(""), "0:[]3  " + ollamaUsage},
	{"a model that was only loaded", `{"model":"m","created_at":"x","response":"","done":true,"done_reason":"load"}` +
		"\n",
		"0:[]3  usage {Prompt:0 Cached:0 Completion:0 HasCached:false}"},
	{"CR LF and empty lines", "\r\n\n" + strings.ReplaceAll(ollamaLine("a")+ollamaEnd(ollamaStop), "\n", "\r\n"),
		`0:[]1  "a"0 ` + ollamaUsage},
	{"an error", ollamaLine("a") + `{"error":"an error was encountered while running the model: CUDA error"}` + "\n",
		` "a"0 error {Status:500 Message:an error was encountered while running the model: CUDA error Type: Code: Param:}`},
	{"reasoning apart", `{"model":"m","response":"","thinking":"Hm","done":false}` + "\n",
		" error {Status:502 Message:the inference server takes the reasoning out of the answer; it does not know think: " +
			"false Type: Code: Param:}"},
	{"thinking of no length", `{"model":"m","response":"a","thinking":"","done":false}` + "\n", ` "a"0`},
	{"no end of the last line", strings.TrimSuffix(ollamaEnd(ollamaStop), "\n"), ""},
	{"response of another type", `{"response":7,"done":false}` + "\n", " garbled"},
	{"done of another type", `{"response":"","done":"true"}` + "\n", " garbled"},
	{"an event of another kind", "data: " + ollamaLine("a") + "\n", " garbled"},
	{"a line that is cut", `{"response":"a` + "\n" + ollamaLine("b"), ` "b"0 garbled`},
	{"no UTF-8", "{\"response\":\"\xf0\x9f\",\"done\":false}\n", " garbled"},
}

func TestOllamaStreams(t *testing.T) { checkStreams(t, ollama{}, ollamaStreams) }

func FuzzOllama(f *testing.F) { fuzzStreams(f, ollama{}, ollamaStreams) }

// TestOllamaRequest shows what is sent, with and without parameters of the client's.
func TestOllamaRequest(t *testing.T) {
	r := &Request{Model: "gpt-oss:20b", PromptText: []byte("<|start|>user<|message|>\"Hé\"\n<|end|>"), MaxTokens: 9,
		Sampling: Sampling{Temperature: "1", TopP: "1"}}
	const begin = `{"model":"gpt-oss:20b","prompt":"<|start|>user<|message|>\"Hé\"\n<|end|>","raw":true,"think":false,` +
		`"truncate":false,"shift":false,"stream":true,"options":{"num_predict":9,"stop":["<|return|>","<|call|>"],`
	if got, want := string(ollama{}.AppendRequest(nil, r)),
		begin+`"temperature":1,"top_p":1,"top_k":0,"min_p":0,"repeat_penalty":1}}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	r.Sampling = Sampling{Temperature: "0.2", TopP: "0", PresencePenalty: "1", FrequencyPenalty: "-1", Seed: "7",
		Extras: []Member{{"top_k", "5"}, {"min_p", "0.1"}, {"repetition_penalty", "1.2"}, {"min_tokens", "3"},
			{"cache_salt", `"s"`}}}
	if got, want := string(ollama{}.AppendRequest(nil, r)), begin+`"temperature":0.2,"top_p":1e-6,"presence_penalty":1,`+
		`"frequency_penalty":-1,"seed":7,"top_k":5,"min_p":0.1,"repeat_penalty":1.2}}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestOllamaCause(t *testing.T) {
	for message, want := range map[string]Cause{
		"the prompt is longer than the context length currently available to the model; shorten the prompt, …": ContextExceeded,
		`{"error":{"code":400,"message":"request (9 tokens) exceeds the available context size (8 tokens), try increasing ` +
			`it","type":"exceed_context_size_error"}}`: ContextExceeded,
		"the input length exceeds the context length":            ContextExceeded,
		"raw mode does not support template, system, or context": OtherCause,
	} {
		if got := (ollama{}).Cause(&Error{Status: 400, Message: message}); got != want {
			t.Errorf("%s: %d", message, got)
		}
		if got := (ollama{}).Cause(&Error{Status: 500, Message: message}); got != OtherCause {
			t.Errorf("500 %s: %d", message, got)
		}
	}
}
