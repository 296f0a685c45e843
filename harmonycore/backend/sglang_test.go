package backend

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestSGLangRequest(t *testing.T) {
	budget := 100
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{
			Request{Model: "m", Prompt: []uint32{200006, 17360}, MaxTokens: 4096, StopTokens: []uint32{200002, 200012},
				Sampling: Sampling{Temperature: "0.70", TopP: "0"}},
			`{"input_ids":[200006,17360],"sampling_params":{"max_new_tokens":4096,"stop_token_ids":[200002,200012],` +
				`"temperature":0.70,"top_p":1e-6,"skip_special_tokens":false,"no_stop_trim":true},"stream":true}`,
		},
		{
			Request{Model: "m", Prompt: []uint32{1}, MaxTokens: 5, Choices: 2, Logprobs: true, TopLogprobs: 3,
				ThinkingBudget: &budget, StructuralTag: []byte(`{"a":1}`),
				Sampling: Sampling{PresencePenalty: "1", FrequencyPenalty: "-1", Seed: "7", LogitBias: []Bias{{5, "-1"}},
					Extras: []Member{{"top_k", "40"}, {"cache_salt", `"s"`}, {"priority", "1"}, {"min_tokens", "2"}}}},
			`{"input_ids":[1],"cache_salt":"s","priority":1,"sampling_params":{"max_new_tokens":5,"n":2,` +
				`"stop_token_ids":[],"presence_penalty":1,"frequency_penalty":-1,"sampling_seed":7,"logit_bias":{"5":-1},` +
				`"top_k":40,"min_new_tokens":2,"structural_tag":"{\"a\":1}","skip_special_tokens":false,` +
				`"no_stop_trim":true},"return_logprob":true,"top_logprobs_num":3,"max_thinking_tokens":100,"stream":true}`,
		},
	} {
		if got := string(sglang{}.AppendRequest(nil, &tt.r)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// sglangEventOf is an event with these ids. more is what its meta_info has after the counts.
func sglangEventOf(text string, ids string, completion int, more string) string {
	return `data: {"text":"` + text + `","output_ids":[` + ids + `],"meta_info":{"id":"a","finish_reason":null,` +
		`"prompt_tokens":7,"weight_version":"default","num_retractions":0` + more + `,"reasoning_tokens":0,` +
		fmt.Sprintf(`"completion_tokens":%d,"cached_tokens":4`, completion) + "}}\n\n"
}

const (
	sglangStop   = `,"finish_reason":{"type":"stop","matched":200012}`
	sglangLength = `,"finish_reason":{"type":"length","length":3}`
	sglangDone   = "data: [DONE]\n\n"
)

// choiceOf names the choice of an event.
func choiceOf(index int, event string) string {
	return strings.Replace(event, "}}\n\n", fmt.Sprintf(`},"index":%d}`, index)+"\n\n", 1)
}

var sglangStreams = []streamCase{
	{
		"cumulative", sglangEventOf("a", "5", 1, "") + sglangEventOf(`a\"b\\`, "5,6", 2, "") +
			sglangEventOf(`a\"b\\c`, "5,6, 6,7", 4, "") + sglangEventOf("x", "5,6,6,7,200012", 5, sglangStop) + sglangDone,
		"0:[5 6 6 7 200012]1  usage {Prompt:7 Cached:4 Completion:5 HasCached:true} done",
	},
	{
		"incremental", sglangEventOf("a", "5", 1, "") + sglangEventOf("b", "6", 2, "") + sglangEventOf("c", "6,7", 4, "") +
			sglangEventOf("", "200012", 5, sglangStop) + sglangDone,
		"0:[5 6 6 7 200012]1  usage {Prompt:7 Cached:4 Completion:5 HasCached:true} done",
	},
	{
		"cumulative, repeated token", sglangEventOf("a", "5", 1, "") + sglangEventOf("a", "5,5", 2, "") +
			sglangEventOf("a", "5,5,5", 3, sglangLength) + sglangDone,
		"0:[5 5 5]2  usage {Prompt:7 Cached:4 Completion:3 HasCached:true} done",
	},
	{
		"incremental, repeated token", sglangEventOf("a", "5", 1, "") + sglangEventOf("a", "5", 2, "") +
			sglangEventOf("a", "5", 3, sglangLength) + sglangDone,
		"0:[5 5 5]2  usage {Prompt:7 Cached:4 Completion:3 HasCached:true} done",
	},
	{
		"one event", sglangEventOf("a", "5,6,7", 3, sglangStop) + sglangDone,
		"0:[5 6 7]1  usage {Prompt:7 Cached:4 Completion:3 HasCached:true} done",
	},
	{
		"events without news, cumulative", sglangEventOf("", "", 0, "") + sglangEventOf("", "5", 1, "") +
			sglangEventOf("", "5", 1, "") + sglangEventOf("", "5,6", 2, "") + sglangEventOf("", "5,6", 2, sglangStop),
		"0:[5 6]1  usage {Prompt:7 Cached:4 Completion:2 HasCached:true}",
	},
	{
		"an end without tokens, incremental", sglangEventOf("", "5,6", 2, "") + sglangEventOf("", "", 2, sglangStop),
		"0:[5 6]1  usage {Prompt:7 Cached:4 Completion:2 HasCached:true}",
	},
	{
		"two choices, cumulative", choiceOf(0, sglangEventOf("a", "5", 1, "")) + choiceOf(1, sglangEventOf("a", "8", 1, "")) +
			choiceOf(0, sglangEventOf("a", "5,6", 2, "")) + choiceOf(0, sglangEventOf("a", "5,6,7", 3, sglangStop)) +
			choiceOf(1, sglangEventOf("a", "8,9", 2, "")) + choiceOf(1, sglangEventOf("a", "8,9", 2, sglangLength)) + sglangDone,
		"0:[5 6 7]1 1:[8 9]2  usage {Prompt:7 Cached:4 Completion:4 HasCached:true} usage {Prompt:7 Cached:4 Completion:5 " +
			"HasCached:true} done",
	},
	{
		"two choices, incremental", choiceOf(1, sglangEventOf("a", "8", 1, "")) + choiceOf(
			0, sglangEventOf("a", "5", 1, "")) +
			choiceOf(0, sglangEventOf("a", "6", 2, "")) + choiceOf(0, sglangEventOf("a", "7", 3, sglangStop)) +
			choiceOf(1, sglangEventOf("a", "9", 2, sglangLength)),
		"0:[5 6 7]1 1:[8 9]2  usage {Prompt:7 Cached:4 Completion:4 HasCached:true} usage {Prompt:7 Cached:4 Completion:5 " +
			"HasCached:true}",
	},
	{
		"logprobs, cumulative",
		sglangEventOf("a", "5", 1, `,"output_token_logprobs":[[-0.1,5,null]],"output_top_logprobs":[[[-0.1,5,null]]]`) +
			sglangEventOf("a", "5,6", 2, `,"output_token_logprobs":[[-0.1,5,null],[-2.5,6,"]"]],"output_top_logprobs":`+
				`[[[-0.1,5,"[\"],"]],[[-1,9,null],[-2.5,6,"x"]]]`) +
			sglangEventOf("a", "5,6,7", 3, `,"output_token_logprobs":[[-0.1,5,"a,]"],[-2.5,6,null],[-3,7,null]],`+
				`"output_top_logprobs":[[[-0.1,5,null]],[[-1,9,null],[-2.5,6,null]],null]`),
		"0:[5 6 7]0  -0.1/5:-0.1 -2.5/9:-1/6:-2.5 -3",
	},
	{
		"logprobs, incremental", sglangEventOf("a", "5,6", 2, `,"output_token_logprobs":[[-0.1,5,null],[-2,6,null]]`) +
			sglangEventOf("a", "7", 3, `,"output_token_logprobs":[[-3,7,null]],"output_top_logprobs":[[[-3,7,null]]]`),
		"0:[5 6 7]0  -0.1 -2 -3/7:-3",
	},
	{
		"odd logprobs", sglangEventOf("a", "5", 1, `,"output_token_logprobs":[[null,5,null]],"output_top_logprobs":[[[1]]]`) +
			sglangEventOf("a", "5,6", 2, `,"output_token_logprobs":7,"output_top_logprobs":"x"`),
		"0:[5 6]0 ",
	},
	{
		"abort", sglangEventOf("a", "5", 1, "") + sglangEventOf("a", "5", 1,
			`,"finish_reason":{"type":"abort","message":"Aborted","status_code":null,"err_type":null}`) + sglangDone,
		"0:[5]3  done",
	},
	{
		"abort with a status", sglangEventOf("a", "", 0, `,"finish_reason":{"type":"abort","message":"no memory",`+
			`"status_code":503,"err_type":"x"}`) + sglangDone,
		"0:[]3  error {Status:503 Message:no memory Type: Code: Param:} done",
	},
	{
		"error", `data: {"error":{"message":"The input (9 tokens) is longer than the model's context length (8 tokens).",` +
			`"type":"invalid_request_error","code":400,"retryable":false}}` + "\n\n" + sglangDone,
		" error {Status:400 Message:The input (9 tokens) is longer than the model's context length (8 tokens). " +
			"Type:invalid_request_error Code: Param:} done",
	},
	{
		"no ids", `data: {"text":"Hi","meta_info":{"completion_tokens":1}}` + "\n\n",
		" error {Status:502 Message:the inference server answers without output_ids; it is too old an SGLang Type: Code: " +
			"Param:}",
	},
	{"no count", `data: {"output_ids":[1],"meta_info":{}}` + "\n\n", " garbled"},
	{"no meta_info", `data: {"output_ids":[1],"text":"x"}` + "\n\n", " garbled"},
	{"a finish of another type", `data: {"output_ids":[1],"meta_info":{"finish_reason":{"type":7}}}` + "\n\n", "0:[]3 "},
	{
		"fewer than before", sglangEventOf("", "5", 1, "") + sglangEventOf("", "5,6", 2, "") + sglangEventOf("", "5", 3, ""),
		"0:[5 6]0  garbled",
	},
	{"an index that nobody has", choiceOf(7777777, sglangEventOf("", "5", 1, "")), "-1:[5]0 "},
	{
		"a second choice too late", sglangEventOf("", "5", 1, "") + sglangEventOf("", "5,6", 2, "") +
			choiceOf(1, sglangEventOf("", "5,6", 2, "")),
		"0:[5 6]0  garbled",
	},
}

func TestSGLangStreams(t *testing.T) { checkStreams(t, sglang{}, sglangStreams) }

func FuzzSGLang(f *testing.F) { fuzzStreams(f, sglang{}, sglangStreams) }

// TestSGLangLongAnswer: a cumulative answer that would fill more than the largest event takes the memory of one step.
// Its last events alone have 14 MB each.
func TestSGLangLongAnswer(t *testing.T) {
	const tokens, step = 100_000, 10_000
	r := sglang{}.NewReader()
	var e Event
	got := 0
	for n := step; n <= tokens; n += step {
		ids := strings.TrimSuffix(strings.Repeat("200005,", n), ",")
		logprobs := strings.TrimSuffix(strings.Repeat(`[-0.123456789,200005,"a, \"b]"],`, n), ",")
		event := []byte(sglangEventOf(strings.Repeat(`\u003c|"`[:7], n), ids, n, `,"output_token_logprobs":[`+logprobs+
			`],"output_top_logprobs":[`+strings.TrimSuffix(strings.Repeat(`[[-1.5,7,null],[-2.5,9,null]],`, n), ",")+"]"))
		for len(event) > 0 {
			size := min(16<<10, len(event))
			r.Write(event[:size])
			event = event[size:]
			switch reading := r.Next(&e); reading {
			case Drained:
			case Read:
				if got += len(e.Tokens); len(e.Logprobs) != len(e.Tokens) || len(e.Logprobs[0].Top) != 2 {
					t.Fatalf("%d tokens, %d logprobs", len(e.Tokens), len(e.Logprobs))
				}
			default:
				t.Fatalf("after %d tokens: %d", got, reading)
			}
		}
		if n > 2*step && cap(e.Tokens) > 4*step {
			t.Errorf("after %d tokens an event holds %d", n, cap(e.Tokens))
		}
	}
	if got != tokens {
		t.Errorf("%d tokens", got)
	}
}

func TestSGLangCause(t *testing.T) {
	for message, want := range map[string]Cause{
		"The input (9 tokens) is longer than the model's context length (8 tokens).":                      ContextExceeded,
		"Requested token count exceeds the model's maximum context length of 8 tokens. You requested a …": ContextExceeded,
		"Input length (9 tokens) exceeds the maximum allowed length (8 tokens). Use a shorter input or …": ContextExceeded,
		"top_p must be in (0, 1], got 2.": OtherCause,
	} {
		if got := (sglang{}).Cause(&Error{Status: 400, Message: message}); got != want {
			t.Errorf("%s: %d", message, got)
		}
		if got := (sglang{}).Cause(&Error{Status: 500, Message: message}); got != OtherCause {
			t.Errorf("500 %s: %d", message, got)
		}
	}
}

// FuzzSGLangTrimmer compares the trimmer with one that reads byte by byte, wherever the stream is cut.
func FuzzSGLangTrimmer(f *testing.F) {
	for _, s := range sglangStreams {
		f.Add([]byte(s.in), uint8(3), uint8(2))
	}
	f.Add([]byte("0917)b0c"), uint8(3), uint8(2)) // a bracket too many
	f.Add([]byte(`{"text":"a longer text \n","output_ids":[1,22,333,4444,200005,6,7,8,99,10]}`), uint8(200), uint8(7))
	f.Add([]byte(`{"output_ids":[1,22,333,4444,,200005,6,7,8,99,10]}`), uint8(200), uint8(9))
	f.Fuzz(func(t *testing.T, stream []byte, size, skip uint8) {
		// Parts of events make streams that come near them.
		parts := [...]string{`"text":`, `"output_ids":`, `"output_top_logprobs":`, `"`, `\`, `[`, `]`, `{`, `}`, `,`, `12`,
			" ", ":", "\n", "\r", `[1,2,3]`, `"output`, `_ids"`,
			"12,345,6", "/01234:9", ",1,22,33", "a text,\t"}
		var near []byte
		for _, c := range stream {
			near = append(near, parts[int(c)%len(parts)]...)
		}
		for _, in := range [][]byte{stream, near} {
			plain, fast := sglangTrimmer{skip: int(skip)}, sglangTrimmer{skip: int(skip)}
			var want, got []byte
			for _, c := range in {
				if plain.keeps(c) {
					want = append(want, c)
				}
			}
			for rest := bytes.Clone(in); len(rest) > 0; {
				n := min(int(size)+1, len(rest))
				got = append(got, fast.trim(rest[:n])...)
				rest = rest[n:]
			}
			if !bytes.Equal(got, want) || plain.dropped != fast.dropped {
				t.Fatalf("%q in pieces of %d: %q and %d, want %q and %d", in, int(size)+1, got, fast.dropped, want, plain.dropped)
			}
		}
	})
}
