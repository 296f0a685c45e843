package backend

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// chatAnswer is one choice as a reader of Chat streams reads it.
type chatAnswer struct {
	reasoning, text string
	calls           []string
	ids             []uint32
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
		out += fmt.Sprintf(" %d", a.finish)
	}
	return out
}

func TestChatRequest(t *testing.T) {
	r := &Request{
		Model: `q"wen`, Conversation: []byte(`,"messages":[{"role":"user","content":"é"}],"tools":[]`), Choices: 2,
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
	r = &Request{Model: "m", Conversation: []byte(`,"messages":[]`), MaxTokens: 9, TokenIDs: true}
	if got := string(chat{}.AppendRequest(nil, r)); got != ids || !json.Valid([]byte(got)) {
		t.Errorf("got %s\nwant %s", got, ids)
	}
}

// chatCases are streams, or parts of streams, in the forms of known servers.
var chatCases = []streamCase{
	{"text", chatStream(`{"role":"assistant","content":""}`, `{"content":"Hel"}`, `{"content":"lo\n\ud83d\ude00"}`) +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":4,"total_tokens":12}}` + "\n\ndata: [DONE]\n\n",
		`0: "Hello\n😀" 1 usage {Prompt:8 Cached:0 Completion:4 HasCached:false} done`},
	{"reasoning", chatStream(`{"reasoning_content":"a","content":null}`, `{"reasoning":"b","content":""}`,
		`{"reasoning":"c","reasoning_content":"c"}`, `{"content":"d"}`), `0: (abc) "d" 0`},
	{"calls", chatStream(`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":""}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`,
		`{"tool_calls":[{"index":1,"id":"y","type":"function","function":{"name":"f","arguments":"{}"}}]}`),
		`0: x=f {"a":1} y=f {} 0`},
	{"the same index", chatStream(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}`,
		`{"tool_calls":[{"index":0,"id":"y","function":{"name":"f","arguments":"{}"}}]}`), `0: x=f {} y=f {} 0`},
}

// chatStream is a stream of deltas.
func chatStream(deltas ...string) string {
	var out strings.Builder
	for _, d := range deltas {
		fmt.Fprintf(&out, `data: {"id":"c","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`+"\n\n", d)
	}
	return out.String()
}

// TestChatStreams reads the streams in one piece, cut in two at each place, and in single bytes.
func TestChatStreams(t *testing.T) {
	for _, tc := range chatCases {
		if got := chatOf(chat{}.NewReader(), tc.in); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
			continue
		}
		for at := range len(tc.in) {
			if got := chatOf(chat{}.NewReader(), tc.in[:at], tc.in[at:]); got != tc.want {
				t.Fatalf("%s, cut at %d:\ngot  %s\nwant %s", tc.name, at, got, tc.want)
			}
		}
		if got := chatOf(chat{}.NewReader(), strings.Split(tc.in, "")...); got != tc.want {
			t.Errorf("%s, in single bytes:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}
