package backend

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// eventWriter writes random events with the members that readers know: twice, missing, in another order, with values of
// other types, with white space.
type eventWriter struct {
	*rand.Rand
	// deltas reports whether choices have the form of Chat servers.
	deltas bool
}

func (w eventWriter) pick(texts ...string) string { return texts[w.IntN(len(texts))] }

// space returns white space, most often none.
func (w eventWriter) space() string {
	if w.IntN(40) > 0 {
		return ""
	}
	return w.pick(" ", "\t", "\n", "\ndata: ")
}

func (w eventWriter) value(name string) string {
	if w.IntN(40) == 0 {
		return w.pick("null", "true", "-1", "1e2", "0.5", `"x"`, "[]", "{}", "[[1]]", `[{"index":3}]`, `{"token_ids":[1]}`,
			"01", "2147483648", "9999999999", "", `"stop"`, `[1,"2"]`)
	}
	switch name {
	case "index":
		return w.pick("0", "1", "2", "127", "999999999", "1000000000")
	case "text":
		return w.pick(`""`, `"a"`, `"\n"`, `"\ud83d\ude00"`, `"ü"`, `"}]}\n"`, `"\"token_ids\":[1]"`, `"\u0000"`)
	case "token_ids", "prompt_token_ids":
		return w.pick("[1]", "[]", "[200002]", "[1,2,3]", "[ 1]", "[4294967295]", "[999999999]", "[-1]", "[1e1]", "[200012]")
	case "finish_reason":
		return w.pick("null", "null", "null", "null", "null", "null", `"stop"`, `"length"`, `""`)
	case "logprobs":
		if w.IntN(3) == 0 {
			return w.object([]string{"text_offset", "token_logprobs", "tokens", "top_logprobs"})
		}
		return w.pick("null", "null", "null", "null", `{"token_logprobs":[-0.5]}`, `{"content":[]}`,
			`{"content":[{"token":"a","logprob":-1}]}`, `{"content":[{"token":"token_id:7","bytes":[1],"logprob":-1}]}`)
	case "tokens":
		return w.pick(`["token_id:7"]`, `["token_id:7","token_id:200005"]`, "[64]", "[200002]", "[]", `["x"]`)
	case "token_logprobs":
		return w.pick("[-0.5]", "[-1e-7,0]", "[-0.25,-1.5E+2]", "[null]", "[]")
	case "top_logprobs":
		return w.pick(`[{"token_id:7":-0.5}]`, `[{"token_id:7":-1,"token_id:9":-2.5},{"token_id:8":-2}]`, "[null]", "null",
			`[{"x":-1}]`)
	case "text_offset":
		return w.pick("[0]", "[1,22]", "[]")
	case "content":
		return w.pick(`"a"`, `"<|return|>"`, `"\u00fc"`, `""`, "null", `["a",{"text":"b"}]`)
	case "delta", "message":
		return w.object([]string{"content", "reasoning_content", "reasoning", "tool_calls", "refusal", "reasoning_details"})
	case "reasoning_content", "reasoning":
		return w.pick(`"a"`, `""`, "null", `"b\n"`)
	case "tool_calls":
		return w.pick("null", "null", "[]", "["+w.object([]string{"index", "id", "function"})+"]",
			"["+w.object([]string{"index", "function"})+","+w.object([]string{"index", "function"})+"]")
	case "function", "function_call":
		return w.object([]string{"name", "arguments"})
	case "name", "id":
		return w.pick(`""`, `""`, `"f"`, `"g"`, "null")
	case "arguments":
		return w.pick(`"a"`, `"{}"`, `""`, "null", "{}", `"b"`)
	case "refusal":
		return w.pick("null", "null", "null", `"r"`)
	case "reasoning_details":
		return w.pick("null", "null", `[{"text":"a"}]`, `[{"summary":"a"}]`, `[{"text":"a"},{"text":"b"}]`)
	case "stop":
		return w.pick("false", "false", "false", "true")
	case "tokens_predicted":
		return w.pick("1", "2", "3", "16777217")
	case "usage":
		return w.pick("null", "null", "null", "null", `{"prompt_tokens":1}`)
	case "error":
		return w.pick("null", "null", "null", "null", "null", `{"message":"x"}`)
	case "choices":
		return w.choices()
	default:
		return w.pick("1", "null", `"x"`)
	}
}

func (w eventWriter) choices() string {
	names := []string{"index", "text", "token_ids", "logprobs", "finish_reason", "prompt_token_ids", "stop_reason"}
	if w.deltas {
		names = []string{"index", "token_ids", "delta", "logprobs", "finish_reason"}
	}
	if w.IntN(2) == 0 {
		w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	one := w.object(names)
	switch w.IntN(20) {
	case 0:
		return one
	case 1:
		return "[" + one + "," + w.object(names) + "]"
	case 2:
		return "[5," + one + "]"
	default:
		return "[" + w.space() + one + w.space() + "]"
	}
}

func (w eventWriter) object(names []string) string {
	var members []string
	for _, name := range names {
		times := 1
		if w.IntN(20) == 0 {
			times = w.IntN(3)
		}
		for range times {
			key := name
			if w.IntN(100) == 0 {
				key = strings.Replace(name, "i", `\u0069`, 1)
			}
			members = append(members, w.space()+`"`+key+`"`+w.space()+":"+w.space()+w.value(name)+w.space())
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// changed returns an event in which up to three places are others.
func (w eventWriter) changed(event string) string {
	for range 1 + w.IntN(3) {
		at := w.IntN(len(event))
		switch w.IntN(6) {
		case 0:
			event = event[:at] + w.pick("1", "0", "-", ",", " ", "x", "[", "]", `\`, `"`) + event[at+1:]
		case 1:
			event = event[:at] + w.pick("1", "0", ",5", "e1", `\n`, `\ud83d`) + event[at:]
		case 2:
			event = strings.Replace(event, `:""`, w.pick(`:"x"`, `:"\\"`), 1)
		case 3:
			event = strings.Replace(event, "\ndata: ", "\n", 1)
		case 4:
			event = strings.Replace(event, "[1]", w.pick("[2]", "[]", "[3,4]", "[200002]"), 1)
		default:
			event = strings.Replace(event, `:"a"`, w.pick(`:"b"`, `:""`, `:"\\\""`), 1)
		}
	}
	return event
}

// TestTemplateRandom: neither do members that come twice or are missing, and values of other types.
func TestTemplateRandom(t *testing.T) {
	rounds, fitted := 5_000, 0
	if testing.Short() {
		rounds = 500
	}
	for seed := range rounds {
		w := eventWriter{rand.New(rand.NewPCG(uint64(seed), 1)), seed%2 == 0}
		members := []string{"id", "choices", "usage", "error"}
		if w.IntN(3) == 0 {
			members = []string{"index", "content", "tokens", "stop", "tokens_predicted"}
		}
		event := w.object(members)
		first, second := "data: "+event+"\n\n", "data: "+w.changed(event)+"\n\n"
		cut := w.IntN(len(second))
		for _, kind := range [...]Kind{vllm{}, vllmGenerate{}, vllmLegacy{}, trtllm{}, llamacpp{}, text{}, chat{}} {
			checkTemplate(t, kind, first, second, first)
			checkTemplate(t, kind, first+second[:cut], second[cut:]+first, second, first)
			r := kind.NewReader()
			events(r, first)
			var e Event
			if templated(t, r).template.read([]byte(second), &e) > 0 {
				fitted++
			}
		}
	}
	if fitted < rounds/50 {
		t.Errorf("only %d of %d events fitted a template", fitted, rounds)
	}
}

// TestTemplateLargestEvent: the largest event is the same in both ways.
func TestTemplateLargestEvent(t *testing.T) {
	first := "data: " + textChunk("a") + "\n\n"
	for size := sse.MaxEvent - len("data: ") - 3; size <= sse.MaxEvent+3; size++ {
		large := "data: " + textChunk(strings.Repeat("x", size-len(textChunk("")))) + "\n\n"
		checkTemplate(t, text{}, first, large, first)
	}
}
