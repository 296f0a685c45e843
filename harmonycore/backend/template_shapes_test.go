package backend

import (
	"fmt"
	"strings"
)

// templateShapes are pairs of events as servers of a kind send them one after the other. fits reports whether the
// second fits a template of the first.
var templateShapes = []struct {
	name          string
	kind          Kind
	first, second string
	fits          bool
}{
	{"ids", vllm{}, vllmChunk(0, "7", ""), vllmChunk(0, "200005", ""), true},
	{"ids and text", vllm{}, vllmChunk(0, "7", " a"), vllmChunk(0, "12,13", `\"ü\ud83d\ude00\n`), true},
	{"no ids", vllm{}, vllmChunk(0, "7", ""), vllmChunk(0, "", ""), true},
	{"choices", vllm{}, vllmChunk(0, "7", ""), vllmChunk(127, "8", "b"), true},
	{"a prompt's ids", vllm{}, strings.Replace(vllmChunk(0, "7", ""), `"prompt_token_ids":null`,
		`"prompt_token_ids":[1,2,3]`, 1), vllmChunk(0, "7", ""), true},
	{"a prompt's ids twice", vllm{}, strings.Replace(vllmChunk(0, "7", ""), `"prompt_token_ids":null`,
		`"prompt_token_ids":[1],"prompt_token_ids":[2]`, 1), vllmChunk(0, "7", ""), false},
	{"a prompt's ids in a text", vllm{}, vllmChunk(0, "7", `\"prompt_token_ids\":[]`), vllmChunk(0, "8", ""), true},
	{"a late number", vllm{}, `{"choices":[{"token_ids":[1],"index":0}]}`, `{"choices":[{"token_ids":[2],"index":1}]}`,
		true},
	{"no index", vllm{}, `{"choices":[{"token_ids":[1]}]}`, `{"choices":[{"token_ids":[2]}]}`, true},
	{"unknown ids", vllm{}, vllmChunk(0, "7", ""), vllmChunk(0, "4294967296,1e3,-1", ""), false},
	{"a large id", vllm{}, vllmChunk(0, "7", ""), vllmChunk(0, "4294967296", ""), false},
	{"no such index", vllm{}, `{"choices":[{"index":-1,"token_ids":[1]}]}`, `{"choices":[{"index":-1,"token_ids":[2]}]}`,
		true},
	{"usage", vllm{}, `{"choices":[{"token_ids":[1]}],"usage":{"prompt_tokens":3}}`,
		`{"choices":[{"token_ids":[2]}],"usage":{"prompt_tokens":3}}`, false},
	{"text without ids", vllm{}, `{"choices":[{"text":""}]}`, `{"choices":[{"text":"x"}]}`, false},
	{"text and null", vllm{}, `{"choices":[{"text":"","token_ids":null}]}`, `{"choices":[{"text":"x","token_ids":null}]}`,
		false},
	{"an end", vllm{}, vllmChunk(0, "7", ""), strings.Replace(vllmChunk(0, "8", ""), `on":null`, `on":"stop"`, 1), false},
	{"two ends", vllm{}, strings.Replace(vllmChunk(0, "8", ""), `on":null`, `on":"stop"`, 1),
		strings.Replace(vllmChunk(1, "8", ""), `on":null`, `on":"stop"`, 1), false},
	{"logprobs", vllm{}, strings.Replace(vllmChunk(0, "7", ""), `probs":null`, `probs":{"token_logprobs":[-0.5]}`, 1),
		strings.Replace(vllmChunk(0, "8", ""), `probs":null`, `probs":{"token_logprobs":[-0.25]}`, 1), true},
	{"logprobs after none", vllm{}, vllmChunk(0, "7", ""), strings.Replace(vllmChunk(0, "8", ""), `probs":null`,
		`probs":{"token_logprobs":[-0.25]}`, 1), false},
	{"logprobs of another form", vllmGenerate{}, `{"choices":[{"logprobs":{"content":[{"logprob":-1}]},"token_ids":[1]}]}`,
		`{"choices":[{"logprobs":{"content":[{"logprob":-2}]},"token_ids":[1]}]}`, false},
	{"logprobs that are not read", trtllm{}, `{"choices":[{"logprobs":{"token_logprobs":[-1]},"token_ids":[1]}]}`,
		`{"choices":[{"logprobs":{"token_logprobs":[-1]},"token_ids":[2]}]}`, true},
	{"a key twice", vllm{}, `{"choices":[{"token_ids":[1],"token_ids":[2],"index":0,"index":1}]}`,
		`{"choices":[{"token_ids":[3],"token_ids":[4],"index":2,"index":0}]}`, false},
	{"a key again with no such index", vllm{}, `{"choices":[{"index":0,"index":-1,"token_ids":[1]}]}`,
		`{"choices":[{"index":3,"index":-1,"token_ids":[2]}]}`, false},
	{"choices twice", vllm{}, `{"choices":[{"token_ids":[1]}],"choices":[{"token_ids":[2]}]}`,
		`{"choices":[{"token_ids":[3]}],"choices":[{"token_ids":[4]}]}`, false},
	{"choices again with text", vllm{}, `{"choices":[{"token_ids":[1]}],"choices":[{"text":""}]}`,
		`{"choices":[{"token_ids":[2]}],"choices":[{"text":"x"}]}`, false},
	{"choices that are an object", vllm{}, `{"choices":{"token_ids":[1]},"choices":[{"token_ids":[2]}]}`,
		`{"choices":{"token_ids":[3]},"choices":[{"token_ids":[4]}]}`, false},
	{"two lines of data", vllm{}, "{\"choices\":\ndata: [{\"token_ids\":[1]}]}", "{\"choices\":\n[{\"token_ids\":[2]}]}",
		false},
	{"an escaped key", vllm{}, `{"choices":[{"token\u005fids":[1],"token_ids":[2]}]}`,
		`{"choices":[{"token\u005fids":[1],"token_ids":[3]}]}`, false},
	{"keys elsewhere", vllm{}, `{"token_ids":[9],"x":{"token_ids":[8]},"choices":[{"y":[{"index":3}],"token_ids":[1]}]}`,
		`{"token_ids":[9],"x":{"token_ids":[8]},"choices":[{"y":[{"index":3}],"token_ids":[2]}]}`, true},
	{"white space", vllm{}, `{ "choices" : [ { "index" : 0 , "token_ids" : [1] } ] } `,
		`{ "choices" : [ { "index" : 1 , "token_ids" : [2] } ] } `, true},
	{"spaced ids", vllm{}, `{"choices":[{"token_ids":[1, 2]}]}`, `{"choices":[{"token_ids":[1, 3]}]}`, false},
	{"generate", vllmGenerate{}, `{"request_id":"x","choices":[{"index":0,"logprobs":null,"token_ids":[1]}]}`,
		`{"request_id":"x","choices":[{"index":1,"logprobs":null,"token_ids":[2,3]}]}`, true},
	{"trtllm", trtllm{}, vllmChunk(0, "7", ""), vllmChunk(0, "200002", ""), true},
	{"a stop that is not sent", trtllm{}, vllmChunk(0, "7", ""), strings.Replace(vllmChunk(0, "", ""), `on":null`,
		`on":"stop"`, 1), false},
	{"names", vllmLegacy{}, legacyChunk("7", "-0.5", `"token_id:7":-0.5`), legacyChunk("200005", "-1e-7",
		`"token_id:200005":-0,"token_id:9":-2.25`), true},
	{"two names", vllmLegacy{}, legacyChunk("7", "-0.5", `"token_id:7":-0.5`), legacyChunk(`7","token_id:8`, "-1,-2",
		`"token_id:7":-1},{"token_id:8":-2`), true},
	{"no names", vllmLegacy{}, legacyChunk("7", "-0.5", `"token_id:7":-0.5`), `{"choices":[{"index":0,"text":"a",` +
		`"logprobs":{"token_logprobs":[-0.5]},"finish_reason":null}],"usage":null}`, false},
	{"a name that is a text", vllmLegacy{}, legacyChunk("7", "-0.5", `"token_id:7":-0.5`),
		legacyChunk("x", "-0.5", `"token_id:7":-0.5`), false},
	{"an alternative that is a text", vllmLegacy{}, legacyChunk("7", "-0.5", `"token_id:7":-0.5`),
		legacyChunk("7", "-0.5", `"x":-0.5`), false},
	{"many alternatives", vllmLegacy{}, legacyChunk("7", "-0.5", `"token_id:7":-0.5`), legacyChunk("7", "-0.5",
		strings.Repeat(`"token_id:7":-0.5,`, 2*maxAlternatives)+`"token_id:7":-0.5`), true},
	{"alternatives before their tokens", vllmLegacy{}, legacyChunk("7", "-0.5", `"token_id:7":-0.5`),
		`{"choices":[{"index":0,"text":"a","logprobs":{"top_logprobs":[{"token_id:7":-0.5}],"tokens":["token_id:7"],` +
			`"token_logprobs":[-0.5]},"finish_reason":null}],"usage":null}`, false},
	{"alternatives of no token", vllmLegacy{}, legacyChunk("7", "-0.5", `"token_id:7":-0.5`),
		legacyChunk("7", "-0.5", `"token_id:7":-1},{"token_id:8":-2`), false},
	{"a token without a logprob", vllmLegacy{}, legacyChunk("7", "-0.5", `"token_id:7":-0.5`),
		legacyChunk(`7","token_id:8`, "null,-1", `"token_id:7":-0.5`), false},
	{"marked text", llamacpp{}, llamaChunk(0, "a", "64", 1), llamaChunk(0, `b\u00fc`, "65", 2), true},
	{"marked text and a mark", llamacpp{}, llamaChunk(0, "a", "64", 1), llamaChunk(0, "b<|return|>", "65,200002", 3),
		true},
	{"a mark without text", llamacpp{}, llamaChunk(0, "a", "64", 1), llamaChunk(0, "", "200012", 2), true},
	{"counts that fall", llamacpp{}, llamaChunk(0, "a", "64", 2), llamaChunk(0, "b", "65", 1), true},
	{"a count too many", llamacpp{}, llamaChunk(0, "a", "64", 2), llamaChunk(0, "b", "65", maxLlamaTokens+1), true},
	{"several choices", llamacpp{}, llamaChunk(0, "a", "64", 1), llamaChunk(1, "b", "65", 1), true},
	{"a choice that was not asked for", llamacpp{}, llamaChunk(0, "a", "64", 1), llamaChunk(999, "b", "65", 1), true},
	{"an end of marked text", llamacpp{}, llamaChunk(0, "a", "64", 1), strings.Replace(llamaChunk(0, "", "", 1),
		`"stop":false`, `"stop":true`, 1), false},
	{"text", text{}, textChunk("a"), textChunk(`b\u00fc \ud83d\ude00 \t ü`), true},
	{"half an escape", text{}, textChunk("a"), textChunk(`\ud83d`), false},
	{"invalid text", text{}, textChunk("a"), textChunk("\xff"), false},
	{"another member", text{}, textChunk("a"), `{"created":2,` + textChunk("b")[1:], false},
	{"a line", ollama{}, ollamaChunk("a", 1), ollamaChunk(`b\u00fc \ud83d\ude00 \t ü`, 2), true},
	{"reasoning", ollama{}, ollamaChunk("a", 1), strings.Replace(ollamaChunk("", 2), `,"done`, `,"thinking":"b","done`, 1),
		false},
	{"the last line", ollama{}, ollamaChunk("a", 1), strings.Replace(ollamaChunk("", 2), "false", "true", 1), false},
	{"a delta", chat{}, chatChunk(`{"content":"a"}`), chatChunk(`{"content":"b\u00fc \ud83d\ude00 \t ü"}`), true},
	{"a delta of another choice", chat{}, chatChunk(`{"content":"a"}`), strings.Replace(chatChunk(`{"content":"b"}`),
		`"index":0`, `"index":127`, 1), true},
	{"a delta of no choice", chat{}, chatChunk(`{"content":"a"}`), strings.Replace(chatChunk(`{"content":"b"}`),
		`"index":0`, `"index":128`, 1), true},
	{"another time and id", chat{}, chatChunk(`{"content":"a"}`), strings.Replace(strings.Replace(chatChunk(
		`{"content":"b"}`), `"created":1764131046`, `"created":1764131047`, 1), `"id":"c"`, `"id":"another"`, 1), true},
	{"reasoning in a delta", chat{}, chatChunk(`{"content":null,"reasoning_content":"a"}`),
		chatChunk(`{"content":null,"reasoning_content":"b\n"}`), true},
	{"reasoning twice", chat{}, chatChunk(`{"reasoning":"a","reasoning_content":"a"}`),
		chatChunk(`{"reasoning":"","reasoning_content":"b"}`), true},
	{"reasoning with details", chat{}, chatChunk(`{"content":"","reasoning":"a","reasoning_details":[{"text":"a"}]}`),
		chatChunk(`{"content":"","reasoning":"","reasoning_details":[{"text":"b"}]}`), true},
	{"two details", chat{}, chatChunk(`{"content":"","reasoning_details":[{"text":"a"},{"summary":"c"}]}`),
		chatChunk(`{"content":"","reasoning_details":[{"text":"b"},{"summary":"c"}]}`), false},
	{"a summary", chat{}, chatChunk(`{"content":"","reasoning_details":[{"summary":"a"}]}`),
		chatChunk(`{"content":"x","reasoning_details":[{"summary":"a"}]}`), false},
	{"a refusal", chat{}, chatChunk(`{"content":"","refusal":"a"}`), chatChunk(`{"content":"x","refusal":"a"}`), false},
	{"parts", chat{}, chatChunk(`{"reasoning":"","content":["a",{"text":"b"}]}`),
		chatChunk(`{"reasoning":"c","content":["a",{"text":"b"}]}`), false},
	{"arguments", chat{}, chatChunk(`{"tool_calls":[{"index":0,"function":{"name":"","arguments":"a"}}]}`),
		chatChunk(`{"tool_calls":[{"index":0,"function":{"name":"","arguments":"\"b\u00fc"}}]}`), true},
	{"arguments of a named call", chat{}, chatChunk(`{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"a"}}]}`),
		chatChunk(`{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"b"}}]}`), false},
	{"two pieces", chat{}, chatChunk(`{"tool_calls":[{"function":{"arguments":"a"}},{}]}`),
		chatChunk(`{"tool_calls":[{"function":{"arguments":"b"}},{}]}`), false},
	{"a function_call", chat{}, chatChunk(`{"content":"","function_call":{"name":"f","arguments":"a"}}`),
		chatChunk(`{"content":"","function_call":{"name":"f","arguments":"b"}}`), false},
	{"ids of a delta", chat{}, strings.Replace(chatChunk(`{"content":"a"}`), `"logprobs"`,
		`"token_ids":[7],"logprobs"`, 1),
		strings.Replace(chatChunk(`{"content":"b"}`), `"logprobs"`, `"token_ids":[8,9],"logprobs"`, 1), true},
	{"text logprobs", chat{}, textLogprobs(`{"token":"a","bytes":[97],"logprob":-1,"top_logprobs":[]}`),
		textLogprobs(`{"token":"\ufffd","bytes":[195],"logprob":-1e-7,"top_logprobs":[{"token":"b","logprob":-2}]}`), true},
	{"named text logprobs", chat{}, textLogprobs(`{"token":"token_id:7","bytes":[97],"logprob":-1}`),
		textLogprobs(`{"token":"token_id:8","logprob":-2},{"id":9,"token":"c","logprob":-3}`), true},
	{"text logprobs of other types", chat{}, textLogprobs(`{"token":"a","logprob":-1}`),
		textLogprobs(`{"token":7,"logprob":"-1"},{"bytes":[256],"logprob":-1}, 5 `), true},
	{"a choice of another type", chat{}, `{"choices":[{"delta":{"content":"a"}},5]}`,
		`{"choices":[{"delta":{"content":"b"}},5]}`, true},
	{"a message", chat{}, `{"choices":[{"message":{"content":"a"}}]}`, `{"choices":[{"message":{"content":"b"}}]}`, false},
	{"a delta and a message", chat{}, `{"choices":[{"delta":{"content":"a"},"message":{"content":"a"}}]}`,
		`{"choices":[{"delta":{"content":"b"},"message":{"content":"a"}}]}`, true},
	{"a prompt's ids in a delta", chat{}, `{"prompt_token_ids":[1],"choices":[{"delta":{"content":"a"}}]}`,
		`{"prompt_token_ids":[1],"choices":[{"delta":{"content":"b"}}]}`, false},
	{"usage in a delta", chat{}, `{"usage":{"prompt_tokens":3},"choices":[{"delta":{"content":"a"}}]}`,
		`{"usage":{"prompt_tokens":3},"choices":[{"delta":{"content":"b"}}]}`, false},
	{"names with dots", chat{}, `{"choices.delta":{"content":"x"},"choices":[{"delta":{"content":"a"},"delta.content":"y"}]}`,
		`{"choices.delta":{"content":"z"},"choices":[{"delta":{"content":"a"},"delta.content":"y"}]}`, false},
	{"two last lines", ollama{}, strings.Replace(ollamaChunk("", 1), "false", "true", 1),
		strings.Replace(ollamaChunk("", 2), "false", "true", 1), false},
}

// framed returns an event of a kind as it comes over the network.
func framed(kind Kind, data string) string {
	if kind.Facts().MediaType != "" {
		return data + "\n"
	}
	return "data: " + data + "\n\n"
}

func ollamaChunk(text string, second int) string {
	return fmt.Sprintf(`{"model":"m","created_at":"2026-08-21T18:48:%02d.5Z","response":"%s","done":false}`, second, text)
}

func vllmChunk(index int, ids, text string) string {
	return fmt.Sprintf(`{"id":"cmpl-1","object":"text_completion","created":1764131046,"model":"m","choices":[{"index":%d,`+
		`"text":"%s","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":[%s]}]}`,
		index, text, ids)
}

// legacyChunk is an event whose tokens have these ids, logprobs and alternatives, as vLLM lists them.
func legacyChunk(ids, logprobs, top string) string {
	return `{"id":"cmpl-1","choices":[{"index":0,"text":"a","logprobs":{"text_offset":[12],"token_logprobs":[` + logprobs +
		`],"tokens":["token_id:` + ids + `"],"top_logprobs":[{` + top + `}]},"finish_reason":null}],"usage":null}`
}

func llamaChunk(index int, content, ids string, predicted int) string {
	return fmt.Sprintf(`{"index":%d,"content":"%s","tokens":[%s],"stop":false,"id_slot":-1,"tokens_predicted":%d,`+
		`"tokens_evaluated":512}`, index, content, ids, predicted)
}

func textChunk(text string) string {
	return `{"id":"x","choices":[{"index":0,"text":"` + text + `","finish_reason":null}],"usage":null}`
}

// chatChunk is an event with this delta.
func chatChunk(delta string) string {
	return `{"id":"c","object":"chat.completion.chunk","created":1764131046,"model":"m","choices":[{"index":0,"delta":` + delta +
		`,"logprobs":null,"finish_reason":null}]}`
}

// textLogprobs is an event with these tokens.
func textLogprobs(tokens string) string {
	return strings.Replace(chatChunk(`{"content":"a"}`), `"logprobs":null`, `"logprobs":{"content":[`+tokens+`]}`, 1)
}
