package backend

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// chatAnswer is one choice as a reader of Chat streams reads it.
type chatAnswer struct {
	reasoning, text string
	calls           []string
	ids             []uint32
	logprobs        string
	finish          Finish
}

// chatOf reads the pieces of a stream and spells what they say, choice by choice. How the stream was cut into events is
// not in it.
func chatOf(r Reader, pieces ...string) string {
	answers := map[int]*chatAnswer{}
	var e Event
	end := ""
	for _, p := range pieces {
		chunk := []byte(p)
		r.Write(chunk)
		for reading := r.Next(&e); reading != Drained; reading = r.Next(&e) {
			if reading == Broken {
				return spellChat(answers) + end + " broken"
			}
			if reading == Garbled {
				end += " garbled"
				continue
			}
			a := answers[e.Index]
			if a == nil {
				a = &chatAnswer{}
				answers[e.Index] = a
			}
			a.reasoning += string(e.Reasoning)
			a.text += string(e.Text)
			a.ids = append(a.ids, e.SampledIDs...)
			for _, c := range e.Calls {
				if c.Index == len(a.calls) {
					a.calls = append(a.calls, fmt.Sprintf("%s=%s ", c.ID, c.Name))
				} else if len(c.ID)+len(c.Name) > 0 {
					end += " a call is named again"
				}
				a.calls[c.Index] += string(c.Arguments)
			}
			for _, l := range e.TextLogprobs {
				a.logprobs += fmt.Sprintf(" %q%s", l.Token, l.Logprob)
				for _, o := range l.Top {
					a.logprobs += fmt.Sprintf("/%q%s", o.Token, o.Logprob)
				}
			}
			if e.Finish != Running {
				a.finish = e.Finish
			}
			if len(e.PromptIDs) > 0 {
				end += fmt.Sprintf(" prompt %v", e.PromptIDs)
			}
			if e.HasUsage {
				end += spellUsage(&e.Usage)
			}
			if e.Error != nil {
				end += fmt.Sprintf(" error %+v", *e.Error)
			}
			if e.Done {
				end += " done"
			}
		}
		for i := range chunk {
			chunk[i] = '\n'
		}
	}
	return spellChat(answers) + end
}

func spellChat(answers map[int]*chatAnswer) string {
	out := ""
	for i := -1; i < 4; i++ {
		a := answers[i]
		if a == nil || reflect.DeepEqual(*a, chatAnswer{}) {
			continue
		}
		out += fmt.Sprintf("%d:", i)
		if a.reasoning != "" {
			out += fmt.Sprintf(" (%s)", a.reasoning)
		}
		if a.text != "" {
			out += fmt.Sprintf(" %q", a.text)
		}
		for _, c := range a.calls {
			out += " " + c
		}
		if a.ids != nil {
			out += fmt.Sprintf(" %v", a.ids)
		}
		out += fmt.Sprintf("%s %d ", a.logprobs, a.finish)
	}
	return strings.TrimSuffix(out, " ")
}

func TestChatRequest(t *testing.T) {
	r := &Request{
		Model: `q"wen`, Conversation: members(`,"messages":[{"role":"user","content":"é"}],"tools":[]`), Choices: 2,
		Logprobs: true, TopLogprobs: 3, StopTokens: []uint32{7},
		Sampling: Sampling{
			Temperature: "0.70", TopP: "0", Seed: "7", LogitBias: []Bias{{Token: 5, Value: "-1"}},
			Extras: []Member{{Name: "top_k", JSON: "3"}},
		},
	}
	const want = `{"model":"q\"wen","messages":[{"role":"user","content":"é"}],"tools":[],"n":2,"logprobs":true,` +
		`"top_logprobs":3,"stop_token_ids":[7],"temperature":0.70,"top_p":1e-6,"seed":7,"logit_bias":{"5":-1},"top_k":3,` +
		`"stream":true,"stream_options":{"include_usage":true}}`
	if got := string(chat{}.AppendRequest([]byte("x"), r)); got != "x"+want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	const ids = `{"model":"m","messages":[],"max_tokens":9,"logprobs":true,"return_token_ids":true,` +
		`"stream":true,"stream_options":{"include_usage":true}}`
	r = &Request{Model: "m", Conversation: members(`,"messages":[]`), MaxTokens: 9, TokenIDs: true}
	if got := string(chat{}.AppendRequest(nil, r)); got != ids || !json.Valid([]byte(got)) {
		t.Errorf("got %s\nwant %s", got, ids)
	}
	if k, ok := Named("chat"); !ok || !k.Facts().Conversations {
		t.Error("there is no kind chat that takes conversations")
	}
}

// chatSeeds returns the streams of testdata/chat.
func chatSeeds(t testing.TB) []string {
	t.Helper()
	var seeds []string
	for _, f := range chatFiles(t) {
		seeds = append(seeds, f.stream)
	}
	return seeds
}

// chatFile is a file of testdata/chat: a stream, and what it says. Those whose comment says so are recorded, and the
// others have the documented forms of the servers.
type chatFile struct{ name, stream, says string }

// chatFiles reads the files, which are txtar archives with two members. The library for these would be one more module
// for whoever imports this package: go mod tidy wants what tests import, too.
func chatFiles(t testing.TB) []chatFile {
	t.Helper()
	names, err := filepath.Glob("testdata/chat/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("there are no streams", err)
	}
	var all []chatFile
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, members, ok := strings.Cut(string(text), "-- stream --\n")
		stream, says, more := strings.Cut(members, "-- want --\n")
		if !ok || !more {
			t.Fatalf("%s does not have two members", name)
		}
		all = append(all, chatFile{name, stream, strings.TrimSpace(says)})
	}
	return all
}

// TestChatServers reads the streams in one piece, with a cut at each place (with -short at each seventh), and in single
// bytes, with either end of lines. A stream is cut in every second event at once: the events beside a cut are whole.
func TestChatServers(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, f := range chatFiles(t) {
		for _, end := range []string{"\n", "\r\n"} {
			stream := strings.ReplaceAll(f.stream, "\n", end)
			if got := chatOf(chat{}.NewReader(), stream); got != f.says {
				t.Errorf("%s:\ngot  %s\nwant %s", f.name, got, f.says)
				break
			}
			if got := chatOf(chat{}.NewReader(), strings.Split(stream, "")...); got != f.says {
				t.Errorf("%s, in single bytes:\ngot  %s\nwant %s", f.name, got, f.says)
			}
			events := strings.SplitAfter(stream, end+end)
			longest := 0
			for _, e := range events {
				longest = max(longest, len(e))
			}
			for at := 0; at < longest; at += step {
				for odd := range 2 {
					if got := chatOf(chat{}.NewReader(), cutEvents(events, odd, at)...); got != f.says {
						t.Fatalf("%s, cut at %d of events %d, %d, …:\ngot  %s\nwant %s", f.name, at, odd, odd+2, got, f.says)
					}
				}
			}
			checkTemplate(t, chat{}, stream)
		}
	}
}

// cutEvents returns a stream in pieces, with a cut at a place of every second event that is long enough.
func cutEvents(events []string, odd, at int) []string {
	var pieces []string
	begin := ""
	for i, e := range events {
		if i%2 != odd || at >= len(e) {
			begin += e
			continue
		}
		pieces = append(pieces, begin+e[:at])
		begin = e[at:]
	}
	return append(pieces, begin)
}

// TestChatEvents is about members that no server of testdata/chat sends, or not in this form.
func TestChatEvents(t *testing.T) {
	lost := " error {Status:502 Message:the inference server sent content that is neither text nor a list of parts Type: " +
		"Code: Param:}"
	for _, tc := range []streamCase{
		{"text alone", `{"choices":[{"index":0,"text":"a"}]}`,
			" error {Status:502 Message:the inference server sent text without a message Type: Code: Param:}"},
		{"content of another type", chatChunk(`{"content":7}`), lost},
		{"content that is an object", chatChunk(`{"content":{"text":"a"}}`), lost},
		{"parts of other types", chatChunk(`{"content":[7,null,{"type":"image_url"},{"text":null},{"thinking":7}]}`), ""},
		{"reasoning of another type", chatChunk(`{"reasoning":{"effort":"low"},"reasoning_content":"a"}`), "0: (a) 0"},
		{"two reasonings", chatChunk(`{"reasoning":"a","reasoning_content":"b"}`), "0: (a) 0"},
		{"details alone", chatChunk(`{"reasoning_details":[{"text":"a"},{"summary":"b"},5,{"text":"c"}]}`), "0: (ac) 0"},
		{"GitHub's reasoning", chatChunk(`{"reasoning_text":"a"}`), "0: (a) 0"},
		{"no finish yet", `{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}`, `0: "a" 0`},
		{"an unknown finish", `{"choices":[{"delta":{},"finish_reason":"abort"}]}`, `0: 3`},
		{"a filter with a name", `{"choices":[{"delta":{},"finish_reason":"content_filter: SAFETY"}]}`, `0: 4`},
		{"Mistral's length", `{"choices":[{"delta":{},"finish_reason":"model_length"}]}`, `0: 2`},
		{"an error in a choice", `{"choices":[{"delta":{},"error":{"message":"m","code":503},"finish_reason":"error"}]}`,
			"0: 3 error {Status:503 Message:m Type: Code: Param:}"},
		{"a flat error", `{"object":"error","message":"m","type":"T","code":400}`,
			" error {Status:400 Message:m Type:T Code: Param:}"},
		{"Gemini's finish", `{"choices":[{"delta":{"content":"a"},"finish_reason":null,"finishReason":"stop"}]}`, `0: "a" 1`},
		{"MiniMax's error", `{"choices":null,"base_resp":{"status_code":2013,"status_msg":"invalid params, context window ` +
			`exceeds limit"}}`, " error {Status:0 Message:invalid params, context window exceeds limit Type: Code: Param:}"},
		{"MiniMax's success", `{"choices":[],"base_resp":{"status_code":0,"status_msg":""}}`, ""},
		{"a ping", `{"type":"ping"}`, ""},
		{"a chunk without choices", `{"object":"chat.completion.chunk","choices":null}`, ""},
		{"xAI's usage", `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":17,` +
			`"completion_tokens_details":{"reasoning_tokens":10}}}`,
			" usage {Prompt:5 Cached:0 Completion:12 HasCached:false} reasoning 10"},
		{"usage of other types", `{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":"2","total_tokens":1e9,` +
			`"prompt_tokens_details":7,"cached_tokens":null}}`, " usage {Prompt:0 Cached:0 Completion:0 HasCached:false}"},
		{"usage of no type", `{"choices":[],"usage":7}`, ""},
		{"choices of other types", `{"choices":[5,null,{"index":0,"delta":{"content":"a"}},"x"]}`, `0: "a" 0`},
		{"ids of some tokens", textLogprobs(`{"token":"token_id:7","logprob":-1},{"token":"b","logprob":-2}`),
			`0: "a" "token_id:7"-1 "b"-2 0`},
		{"bytes that are none", textLogprobs(`{"token":"a","bytes":[97,256],"logprob":-1},{"token":"b","bytes":["x"],` +
			`"logprob":-2},{"token":"c","bytes":null,"logprob":-3},{"token":"d","bytes":[],"logprob":-4}`),
			`0: "a" "a"-1 "b"-2 "c"-3 ""-4 0`},
		{"a token without a logprob", textLogprobs(`{"token":"a","logprob":-1},{"token":"b","logprob":null},{"token":"c",` +
			`"logprob":-3}`), `0: "a" "a"-1 0`},
		{"a refusal's logprobs", strings.Replace(chatChunk(`{"refusal":"a"}`), `"logprobs":null`,
			`"logprobs":{"content":null,"refusal":[{"token":"a","logprob":-1}]}`, 1), `0: "a" "a"-1 0`},
	} {
		stream := "data: " + tc.in + "\n\n"
		if got := chatOf(chat{}.NewReader(), stream); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
		checkTemplate(t, chat{}, stream+stream)
	}
}

func TestChatCause(t *testing.T) {
	for _, tc := range []struct {
		e    Error
		want Cause
	}{
		{Error{Status: 400, Code: "context_length_exceeded"}, ContextExceeded},
		{Error{Status: 400, Param: "input_tokens"}, ContextExceeded},
		{Error{Status: 400, Type: "exceed_context_size_error"}, ContextExceeded},
		{Error{Status: 400, Param: "n"}, ChoicesRefused},
		{Error{Status: 400, Message: "Only n=1 is supported."}, ChoicesRefused},
		{Error{Status: 400, Message: "Field 'n': must be at most 1"}, ChoicesRefused},
		{Error{Status: 400, Message: "'n' : number must be at most 1"}, ChoicesRefused},
		{Error{Status: 400, Message: "Only one completion choice is allowed"}, ChoicesRefused},
		{Error{Status: 400, Param: "image"}, ImageRefused},
		{Error{Status: 400, Message: "Qwen3-8B is not a multimodal model"}, ImageRefused},
		{Error{Status: 400, Message: "At most 0 image(s) may be provided in one prompt."}, ImageRefused},
		{Error{Status: 404, Message: "No endpoints found that support image input"}, ImageRefused},
		{Error{Status: 400, Message: "Invalid content type. image_url is only supported by certain models."}, ImageRefused},
		{Error{Status: 500, Message: "image input is not supported - hint: … you may need to provide the mmproj"},
			ImageRefused},
		{Error{Status: 503, Message: "image input is not supported"}, OtherCause},
		{Error{Status: 404, Message: "The model 'image-model' does not exist."}, OtherCause},
		{Error{Status: 400, Param: "reasoning_effort"}, EffortRefused},
		{Error{Status: 422, Message: "reasoning_effort: Input should be 'low'"}, EffortRefused},
		{Error{Status: 500, Message: "reasoning_effort"}, OtherCause},
		{Error{Status: 400, Param: "response_format"}, FormatRefused},
		{Error{Status: 400, Param: "response_format.json_schema"}, FormatRefused},
		{Error{Status: 400, Message: "This response_format type is unavailable now"}, FormatRefused},
		{Error{Status: 400, Message: "This model does not support response format `json_schema`."}, FormatRefused},
		{Error{Status: 500, Message: "response_format"}, OtherCause},
		{Error{Status: 400, Message: "System message must be at the beginning."}, LateSystemRefused},
		{Error{Status: 500, Message: "system message must be at the beginning"}, LateSystemRefused},
		{Error{Status: 400, Message: "Unexpected role 'system' after role 'assistant'"}, LateSystemRefused},
		{Error{Status: 400, Message: "System role not supported"}, OtherCause},
		{Error{Status: 400, Message: "max_tokens must be at least 1, got 0. "}, ContextExceeded},
		{Error{Status: 400, Message: "This model's maximum context length is 4096 tokens. However, …"}, ContextExceeded},
		{Error{Status: 400, Message: "The input (9000 tokens) is longer than the model's context length (4096 tokens)."},
			ContextExceeded},
		{Error{Status: 400, Message: "The decoder prompt (length 9) is longer than the maximum model length of 8."},
			ContextExceeded},
		{Error{Status: 400, Message: "request (9000 tokens) exceeds the available context size (4096 tokens)"},
			ContextExceeded},
		{Error{Status: 422, Message: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: …"},
			ContextExceeded},
		{Error{Status: 422, Message: "Input validation error: `inputs` must have less than 4095 tokens. Given: 9000"},
			ContextExceeded},
		{Error{Status: 400, Message: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."},
			ContextExceeded},
		{Error{Status: 400, Message: "Prompt contains 40000 tokens …, too large for model with 32768 maximum context length"},
			ContextExceeded},
		{Error{Status: 400, Message: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."},
			ContextExceeded},
		{Error{Status: 413, Message: "prompt is too long: 213462 tokens > 200000 maximum"}, ContextExceeded},
		{Error{Status: 400, Message: "Please reduce the length of the messages or completion."}, ContextExceeded},
		{Error{Status: 400, Message: "number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit."},
			ContextExceeded},
		{Error{Message: "the request exceeds the available context size"}, ContextExceeded}, // within a stream
		{Error{Status: 500, Code: "context_length_exceeded"}, OtherCause},
		{Error{Status: 429, Message: "Rate limit reached … Please reduce the length of the messages"}, OtherCause},
		{Error{Status: 400, Message: "max_tokens must be a number"}, OtherCause},
		{Error{Status: 400}, OtherCause},
	} {
		if got := (chat{}).Cause(&tc.e); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.e, got, tc.want)
		}
	}
}

// members returns a [Request.Conversation].
func members(text string) func([]byte) []byte {
	return func(dst []byte) []byte { return append(dst, text...) }
}
