package backend

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func server(t testing.TB) Kind {
	k, ok := Named("vllm")
	if !ok {
		t.Fatal("no kind vllm")
	}
	return k
}

func TestVLLMRequest(t *testing.T) {
	r := &Request{
		Model: `open"ai/x`, Prompt: []uint32{200006, 17360, 200008}, MaxTokens: 4096, StopTokens: []uint32{200002, 200012},
		Sampling: Sampling{Temperature: "0.70", Seed: "7"}, StructuralTag: []byte(`{"a":"\"é"}`),
	}
	var got map[string]any
	if err := json.Unmarshal(server(t).AppendRequest(nil, r), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"model": `open"ai/x`, "prompt": []any{200006.0, 17360.0, 200008.0}, "max_tokens": 4096.0,
		"stop_token_ids": []any{200002.0, 200012.0}, "temperature": 0.7, "seed": 7.0,
		"stream": true, "stream_options": map[string]any{"include_usage": true}, "return_token_ids": true,
		"structured_outputs": map[string]any{"structural_tag": `{"a":"\"é"}`},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v\nwant %v", got, want)
	}
}

func TestVLLMEvent(t *testing.T) {
	tests := []struct {
		name, in string
		want     Event
		refused  bool
	}{
		{
			name: "tokens", in: `{"choices":[{"index":0,"text":"a","prompt_token_ids":[1,2],"token_ids":[200005, 35644],` +
				`"finish_reason":null}]}`, want: Event{Tokens: []uint32{200005, 35644}},
		},
		{
			name: "stop", in: `{"choices":[{"token_ids":[200012],"finish_reason":"stop","stop_reason":200012}]}`,
			want: Event{Tokens: []uint32{200012}, Finish: Stopped},
		},
		{name: "length", in: `{"choices":[{"token_ids":[],"finish_reason":"length"}]}`, want: Event{Finish: Length}},
		{name: "abort", in: `{"choices":[{"finish_reason":"abort"}]}`, want: Event{Finish: Aborted}},
		{
			name: "usage", in: `{"choices":[],"usage":{"prompt_tokens":81,"completion_tokens":44,` +
				`"prompt_tokens_details":{"cached_tokens":64}}}`,
			want: Event{HasUsage: true, Usage: Usage{Prompt: 81, Cached: 64, Completion: 44, HasCached: true}},
		},
		{name: "null usage", in: `{"choices":[],"usage":null}`},
		{name: "done", in: `[DONE]`, want: Event{Done: true}},
		{
			name: "error", in: `{"error":{"message":"x","type":"InternalServerError","param":null,"code":500}}`,
			want: Event{Error: &Error{Status: 500, Message: "x", Type: "InternalServerError"}},
		},
		{
			name: "text without ids", in: `{"choices":[{"text":"a","finish_reason":null}]}`,
			want: Event{Error: &Error{Status: 502, Message: "the inference server answers with text instead of token ids; it " +
				"does not know return_token_ids"}},
		},
		{name: "text of a held token", in: `{"choices":[{"text":"a","token_ids":[],"finish_reason":null}]}`},
		{name: "numeric code", in: `{"error":{"message":"x","code":"301"}}`, want: Event{Error: &Error{Message: "x"}}},
		{name: "null error", in: `{"error":null,"choices":[]}`},
		{
			name: "bad ids", in: `{"choices":[{"token_ids":[-1,1.5,99999999999999999999,"7",7]}]}`,
			want: Event{Tokens: []uint32{4294967295, 4294967295, 4294967295, 4294967295, 7}},
		},
		{name: "garbage", in: `{"choices":`, refused: true},
		{name: "other", in: `{"hello":1}`, refused: true},
		{name: "array", in: `[1]`, refused: true},
	}
	var e Event
	for _, tt := range tests {
		ok := readVLLM([]byte(tt.in), &e)
		if ok == tt.refused {
			t.Errorf("%s: understood = %v", tt.name, ok)
			continue
		}
		if ok && (len(e.Tokens) != len(tt.want.Tokens) || len(e.Tokens) > 0 && !reflect.DeepEqual(e.Tokens, tt.want.Tokens)) {
			t.Errorf("%s: tokens %v, want %v", tt.name, e.Tokens, tt.want.Tokens)
		}
		got := e
		got.Tokens, tt.want.Tokens = nil, nil
		if ok && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestReadError(t *testing.T) {
	tests := []struct {
		in   string
		want Error
	}{
		{
			`{"error":{"message":"too long","type":"BadRequestError","param":"prompt","code":400}}`,
			Error{Status: 503, Message: "too long", Type: "BadRequestError", Param: "prompt"},
		},
		{
			`{"object":"error","message":"flat","type":"X","param":null,"code":400}`,
			Error{Status: 503, Message: "flat", Type: "X"},
		},
		{`{"detail":"Not Found"}`, Error{Status: 503, Message: "Not Found"}},
		{`{"error":"loading"}`, Error{Status: 503, Message: "loading"}},
		{`[{"error":{"code":400,"message":"token count","status":"INVALID_ARGUMENT"}}]`,
			Error{Status: 503, Message: "token count"}},
		{`{"detail":[{"type":"missing","loc":["body","messages",0,"role"],"msg":"Field required","input":{}}]}`,
			Error{Status: 503, Message: "messages.0.role: Field required"}},
		{`{"object":"error","message":{"detail":[{"loc":["body","stream_options","include_usage"],"msg":"Extra inputs are ` +
			`not permitted","input":true}]},"type":"invalid_request_error","param":null,"code":null}`,
			Error{Status: 503, Message: "stream_options.include_usage: Extra inputs are not permitted",
				Type: "invalid_request_error"}},
		{`{"detail":[{"msg":"plain"}]}`, Error{Status: 503, Message: "plain"}},
		{`{"detail":[]}`, Error{Status: 503, Message: "the inference server answered with status 503"}},
		{`{"detail":[{"loc":["body"]}]}`, Error{Status: 503, Message: "the inference server answered with status 503"}},
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"too ` +
			`long\"}}","provider_name":"x"}}}`, Error{Status: 503, Message: "Provider returned error: too long"}},
		{`{"error":{"message":"m","metadata":{"raw":"{\"message\":\"flat\"}"}}}`, Error{Status: 503, Message: "m: flat"}},
		{`{"error":{"message":"m","metadata":{"raw":"upstream"}}}`, Error{Status: 503, Message: "m: upstream"}},
		{`{"error":{"message":"m","metadata":{"raw":"m"}}}`, Error{Status: 503, Message: "m"}},
		{`{"error":{"message":"m","metadata":{"raw":"{}"}}}`, Error{Status: 503, Message: "m"}},
		{`{"error":{"message":"m","metadata":{"raw":"` + strings.Repeat("x", maxOrigin+1) + `"}}}`,
			Error{Status: 503, Message: "m"}},
		{`<html>`, Error{Status: 503, Message: "the inference server answered with status 503"}},
		{``, Error{Status: 503, Message: "the inference server answered with status 503"}},
	}
	for _, tt := range tests {
		if got := ReadError(503, []byte(tt.in)); *got != tt.want {
			t.Errorf("%s: got %+v", tt.in, *got)
		}
	}
	if BodyError([]byte(`{"choices":[]}`)) != nil || BodyError([]byte(`x`)) != nil {
		t.Error("an error where there is none")
	}
	for _, body := range []string{
		`{"error":{"message":"m","code":"c"}}`, `{"object":"error","message":"m","code":"c"}`,
		`{"object":"error","error":null,"message":"m","code":"c"}`,
	} {
		if e := BodyError([]byte(body)); e == nil || e.Message != "m" || e.Code != "c" {
			t.Errorf("%s: got %+v", body, e)
		}
	}
}

// FuzzReadEvent checks that no input makes the reader panic, and that what it reads is no larger than the input.
func FuzzReadEvent(f *testing.F) {
	f.Add([]byte(`{"choices":[{"token_ids":[1,2]}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"choices":[{"index":1,"token_ids":[7],"logprobs":{"token_logprobs":[-0.1],` +
		`"top_logprobs":[{"token_id:7":-0.1}]}}]}`))
	f.Add([]byte(`{"error":{"message":"\ud83d\ude00"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Event
		readVLLM(data, &e)
		if len(e.Tokens) > len(data) {
			t.Fatal("more tokens than bytes")
		}
		if len(e.Logprobs) > len(data) {
			t.Fatal("more logprobs than bytes")
		}
		ReadError(500, data)
		BodyError(data)
	})
}

func TestAppendRenamed(t *testing.T) {
	for in, want := range map[string]string{
		`{"model":"a","prompt":"b"}`:          `{"model":"x/\"y","prompt":"b"}`,
		`{"p":{"model":1}, "model" : "a" }`:   `{"p":{"model":1}, "model" : "x/\"y" }`,
		`{"prompt":"\"model\":1","model":""}`: `{"prompt":"\"model\":1","model":"x/\"y"}`,
	} {
		if got := string(AppendRenamed([]byte("."), []byte(in), `x/"y`)); got != "."+want {
			t.Errorf("%s: got %s", in, got)
		}
	}
	// An escaped key is the same key.
	var got map[string]string
	if err := json.Unmarshal(AppendRenamed(nil, []byte(`{"mod\u0065l":"a"}`), "x"),
		&got); err != nil || got["model"] != "x" ||
		len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestPromptTrimmer(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"a":1,"prompt_token_ids":[1,2,3],"token_ids":[4,5]}`, `{"a":1,"prompt_token_ids":[],"token_ids":[4,5]}`},
		{
			`{"prompt_token_ids": [1, 2],"prompt_token_ids":null,"x":[1]}`,
			`{"prompt_token_ids": [],"prompt_token_ids":null,"x":[1]}`,
		},
		{`{"text":"\"prompt_token_ids\":[1,2]"}`, `{"text":"\"prompt_token_ids\":[1,2]"}`},
		{`{"prompt_token_ids":[]}`, `{"prompt_token_ids":[]}`},
		{`{""prompt_token_ids":[9]}`, `{""prompt_token_ids":[]}`},
	}
	for _, tt := range tests {
		for size := 1; size <= len(tt.in); size++ {
			var trimmer promptTrimmer
			got := ""
			for rest := tt.in; rest != ""; {
				n := min(size, len(rest))
				got += string(trimmer.trim([]byte(rest[:n])))
				rest = rest[n:]
			}
			if got != tt.want {
				t.Fatalf("%s in pieces of %d: got %s", tt.in, size, got)
			}
		}
	}
}

// guidanceRefusal is what vLLM 0.32.0 with the backend guidance says to every tag.
const guidanceRefusal = "Invalid grammar specification: 'triggers'"

func TestVLLMCause(t *testing.T) {
	for _, tt := range []struct {
		e    Error
		want Cause
	}{
		{Error{Status: 400, Param: "input_tokens"}, ContextExceeded},
		{Error{Status: 400, Param: "n"}, ChoicesRefused},
		{Error{Status: 400, Param: "max_tokens"}, OtherCause},
		{Error{Status: 500, Param: "input_tokens"}, OtherCause},
		{Error{Param: "n"}, OtherCause},
		{Error{Status: 400, Message: guidanceRefusal}, TagsRefused}, {Error{Status: 500, Message: guidanceRefusal},
			OtherCause},
		{Error{Status: 400, Message: "Invalid structured_outputs structural_tag specification."}, OtherCause},
	} {
		if got := server(t).Cause(&tt.e); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.e, got, tt.want)
		}
	}
}

// TestEventReset: no member of an event is left.
func TestEventReset(t *testing.T) {
	e := Event{
		Index: 1, Tokens: []uint32{1}, Text: []byte("a"), TextTokens: 1, Reasoning: []byte("a"),
		Calls:        []CallPiece{{Index: 1}},
		TextLogprobs: []TextLogprob{{}}, SampledIDs: []uint32{1}, PromptIDs: []uint32{1}, Logprobs: []TokenLogprob{{}},
		Finish: Stopped, Failed: true, Usage: Usage{Prompt: 1}, HasUsage: true, Done: true, Last: true, Error: &Error{},
		counted: 1,
		unique:  true, conversing: true, listsIDs: true, namedIDs: []uint32{1}, pieceIndex: 1, memory: []byte("a"),
	}
	members := reflect.TypeOf(e)
	for i := range members.NumField() - 1 { // readers empty the last, walks
		if reflect.ValueOf(e).Field(i).IsZero() {
			t.Errorf("%s is not tested", members.Field(i).Name)
		}
	}
	e.reset()
	for i := range members.NumField() {
		v := reflect.ValueOf(e).Field(i)
		emptied := v.Kind() == reflect.Slice && v.Len() == 0 || members.Field(i).Name == "conversing"
		if !emptied && !v.IsZero() {
			t.Errorf("%s is left", members.Field(i).Name)
		}
	}
}
